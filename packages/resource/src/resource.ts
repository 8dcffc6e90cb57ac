import { type DescMessage, hasOption, type Message } from "@bufbuild/protobuf";
import { resource as resourceOption } from "@tidings/proto/tidings/api/v1/options";
import { optionOf } from "@tidings/rpc/option";
import { snakeCase } from "@tidings/runtime/snake-case";

/** A resource as the store knows it: a message with an id. */
export type Resource = Message & { id: number };

/** Where the rows of a resource are kept, and what the subjects of its events begin with: both follow from its message. */
export function placeOf(schema: DescMessage): { table: string; events: string } {
  if (!hasOption(schema, resourceOption)) throw new Error(`${schema.typeName} is no resource`);
  const [product, service] = schema.typeName.split(".");
  const { plural } = optionOf(schema, resourceOption);
  return { table: snakeCase(plural), events: `${product}.${service}.${snakeCase(schema.name)}` };
}
