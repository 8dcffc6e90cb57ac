import type { FieldCatalogue } from "./field.ts";

/** `GET contacts/list/fields`: what a client needs to offer the fields for writing, by field id in their order. */
export function fieldListJson(catalogue: FieldCatalogue): Buffer {
  const entries = catalogue.fields.map(({ id, label, alias, type, group, order }) => {
    return `"${id}":${JSON.stringify({ id, label, alias, type, group, order, object: "lead" })}`;
  });
  return Buffer.from(`{${entries.join(",")}}`);
}
