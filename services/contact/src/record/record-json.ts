import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Company } from "@tidings/proto/tidings/contact/v1/company";
import type { FieldCatalogue } from "../field/catalogue.ts";

/** Makes something once for each catalogue of fields. */
export function perCatalogue<W extends object>(
  make: (catalogue: FieldCatalogue) => W,
): (catalogue: FieldCatalogue) => W {
  const made = new WeakMap<FieldCatalogue, W>();
  return (catalogue) => {
    const writer = made.get(catalogue) ?? make(catalogue);
    made.set(catalogue, writer);
    return writer;
  };
}

/** Members that messages of contacts and of companies share. */
type Stamped = Pick<
  Company,
  | "id"
  | "isPublished"
  | "dateAdded"
  | "createdBy"
  | "createdByUser"
  | "dateModified"
  | "modifiedBy"
  | "modifiedByUser"
>;

/** Fills in whose record it is and who changed it. */
export function fillStamps(message: Stamped, row: Row): void {
  message.id = Number(row.id);
  message.isPublished = row.is_published === "t";
  if (row.date_added) message.dateAdded = timestampFromText(row.date_added);
  if (row.created_by) message.createdBy = Number(row.created_by);
  if (row.created_by_user) message.createdByUser = row.created_by_user;
  if (row.date_modified) message.dateModified = timestampFromText(row.date_modified);
  if (row.modified_by) message.modifiedBy = Number(row.modified_by);
  if (row.modified_by_user) message.modifiedByUser = row.modified_by_user;
}
