import type { DescField } from "@bufbuild/protobuf";
import { initial, output_only, resource } from "@tidings/proto/tidings/api/v1/options";
import { optionOf } from "@tidings/rpc/option";

const SET_BY_SERVICE = new Set([
  "id",
  "date_added",
  "created_by",
  "created_by_user",
  "date_modified",
  "modified_by",
  "modified_by_user",
]);

/** Is a field set by the service alone? The stamps of a stamped resource are, without an option of their own. */
export function isOutputOnly(field: DescField): boolean {
  return optionOf(field, output_only) || (isStamped(field) && SET_BY_SERVICE.has(field.name));
}

/** JSON of the value that a new row gets when none is sent; empty where there is none. A stamped resource is published. */
export function initialOf(field: DescField): string {
  const own = optionOf(field, initial);
  const isPublished = isStamped(field) && field.name === "is_published" && field.proto.proto3Optional;
  return own === "" && isPublished ? "true" : own;
}

function isStamped({ parent }: DescField): boolean {
  return optionOf(parent, resource).stamped;
}
