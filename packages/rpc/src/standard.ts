import { type DescMessage, type DescMethod, type DescService, hasOption } from "@bufbuild/protobuf";
import { resource as resourceOption } from "@tidings/proto/tidings/api/v1/options";
import { optionOf } from "./option.ts";

/** The standard methods of a service (AIP-131 to AIP-135, 231 to 235), by their exact names, and what they carry. */
export interface Standard {
  resource: DescMessage;
  get: DescMethod;
  list: DescMethod;
  create: DescMethod;
  update: DescMethod;
  delete: DescMethod;
  batchCreate: DescMethod;
  batchUpdate: DescMethod;
  batchDelete: DescMethod;
  /** The member that holds one resource in requests and answers, and the one that holds several. */
  one: string;
  many: string;
}

/** Throws when the service lacks one of them. */
export function standardOf(service: DescService): Standard {
  const resource = resourceOf(service);
  const { plural } = optionOf(resource, resourceOption);
  const named = (name: string): DescMethod => {
    const method = service.methods.find((candidate) => candidate.name === name);
    if (!method) throw new Error(`${service.typeName} has no method ${name}`);
    return method;
  };
  return {
    resource,
    get: named(`Get${resource.name}`),
    list: named(`List${plural}`),
    create: named(`Create${resource.name}`),
    update: named(`Update${resource.name}`),
    delete: named(`Delete${resource.name}`),
    batchCreate: named(`BatchCreate${plural}`),
    batchUpdate: named(`BatchUpdate${plural}`),
    batchDelete: named(`BatchDelete${plural}`),
    one: lowerFirst(resource.name),
    many: lowerFirst(plural),
  };
}

/** A service has the standard methods of one resource at most: the one that its `Get<Resource>` answers. */
function resourceOf(service: DescService): DescMessage {
  const get = service.methods.find(
    ({ name, output }) => name === `Get${output.name}` && hasOption(output, resourceOption),
  );
  if (!get) throw new Error(`${service.typeName} answers no resource`);
  return get.output;
}

function lowerFirst(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}
