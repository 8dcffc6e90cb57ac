import type { DescService } from "@bufbuild/protobuf";
import type { Handlers } from "@tidings/rpc/definition";
import { type Implementation, implement } from "@tidings/rpc/server";
import { standardOf } from "@tidings/rpc/standard";
import { repository } from "./repository.ts";
import type { Repository, ResourceContext } from "./repository-options.ts";
import type { Resource } from "./resource.ts";
import { type ResourceOf, standardHandlers } from "./standard-handlers.ts";

/** The service of a resource that has no rules beyond those its message declares. */
export function implementResource<S extends DescService>(
  service: S,
  context: ResourceContext,
): Implementation {
  const { resource } = standardOf(service);
  return implementStandard(service, repository<Resource & ResourceOf<S>>(context, resource, {}));
}

/** A service that has the standard methods and no other, answered by what keeps its resources. */
export function implementStandard<S extends DescService, T extends Resource & ResourceOf<S>>(
  service: S,
  rows: Repository<T>,
): Implementation {
  // A service without another method is complete.
  return implement(service, standardHandlers(service, rows) as Handlers<S>);
}
