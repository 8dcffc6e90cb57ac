import type { DescMessage, Message } from "@bufbuild/protobuf";
import { skippedFilters } from "@tidings/filters/skipped";
import { contact_filters } from "@tidings/proto/tidings/api/v1/options";
import { readField } from "@tidings/resource/columns";
import { jsonOf } from "@tidings/resource/json-member";
import { optionOf } from "@tidings/rpc/option";

/** Names the filters of a saved message that are kept and never asked: `filters[1]`. */
export function skippedFilterNamer(schema: DescMessage): (message: Message) => string[] {
  const fields = schema.fields.filter((field) => optionOf(field, contact_filters));
  return (message) =>
    fields.flatMap((field) => {
      const filters = jsonOf(readField(message, { field }) as Uint8Array | undefined);
      return skippedFilters(filters).map((index) => `${field.jsonName}[${index}]`);
    });
}
