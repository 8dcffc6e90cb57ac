import type { FieldSet } from "./catalogue.ts";

/** `GET contacts/list/fields`: what a client needs to offer the fields for writing, by field id in their order. */
export function fieldListJson({ fields }: FieldSet): Buffer {
  const entries = fields.map(({ id, label, alias, type, group, order, object }) => {
    return `"${id}":${JSON.stringify({ id, label, alias, type, group, order, object })}`;
  });
  return Buffer.from(`{${entries.join(",")}}`);
}
