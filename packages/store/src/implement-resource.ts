import type { DescService } from "@bufbuild/protobuf";
import type { Handlers } from "@tidings/rpc/definition";
import { type Implementation, implement } from "@tidings/rpc/server";
import { standardOf } from "@tidings/rpc/standard";
import { type ResourceContext, repository } from "./repository.ts";
import type { Resource } from "./resource.ts";
import { type ResourceOf, standardHandlers } from "./standard-handlers.ts";

/** The service of a resource that has no rules beyond those its message declares. */
export function implementResource<S extends DescService>(
  service: S,
  context: ResourceContext,
): Implementation {
  const { resource } = standardOf(service);
  const rows = repository<Resource & ResourceOf<S>>(context, resource, {});
  // A service without another method is complete.
  return implement(service, standardHandlers(service, rows) as Handlers<S>);
}
