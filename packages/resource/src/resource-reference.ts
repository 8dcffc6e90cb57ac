import type { DescMessage } from "@bufbuild/protobuf";
import { resource } from "@tidings/proto/tidings/api/v1/options";
import { optionOf } from "@tidings/rpc/option";
import type { ReferenceKind } from "./reference.ts";
import { placeOf } from "./resource.ts";
import { rowReference } from "./row-reference.ts";

/**
 * A resource of the same service that others refer to: those which the caller may see. `shown` is what they show of one, as
 * SQL for JSON.
 */
export function resourceReference(schema: DescMessage, shown: string): ReferenceKind {
  const { table } = placeOf(schema);
  const { permission } = optionOf(schema, resource);
  const isCreators = schema.fields.some(({ name }) => name === "created_by");
  const own = `${isCreators ? "created_by" : "null"} = $3::integer`;
  return rowReference({ table, permission, own, shown });
}
