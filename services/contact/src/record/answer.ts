import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Company } from "@tidings/proto/tidings/contact/v1/company";
import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import type { Fault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import type { FieldCatalogue } from "../field/catalogue.ts";

/** The outcome of one item of a batch. */
export type KnownOutcome =
  | {
      row: Row;
      created?: boolean;
      /** Members of the body that name no field. */
      ignored?: string[];
    }
  | { fault: Fault };

/** The record, or its fault thrown: for a batch of one. */
export function rowOf(outcome: KnownOutcome | undefined): Row {
  if (!outcome) throw new Error("a batch of one has one outcome");
  if ("fault" in outcome) throw outcome.fault;
  return outcome.row;
}

/** The answer to a single write besides the record. */
export function savedAs(outcome: KnownOutcome | undefined): { created: boolean; ignored: string[] } {
  return {
    created: outcome !== undefined && isCreated(outcome),
    ignored: outcome && "row" in outcome ? (outcome.ignored ?? []) : [],
  };
}

/** The answer to a batch: an empty record for a failed item, beside its status. */
export function batchOf<T>(
  outcomes: KnownOutcome[],
  write: (row: Row) => T,
  none: () => T,
): { items: T[]; statuses: ItemStatus[] } {
  return {
    items: outcomes.map((outcome) => ("row" in outcome ? write(outcome.row) : none())),
    statuses: outcomes.map((outcome) =>
      itemStatus("fault" in outcome ? outcome : { created: isCreated(outcome) }),
    ),
  };
}

/** One item of a write: a PUT replaces all there is. */
export function saveOf<T>(
  { id, updateMask, allowMissing }: { id: number; updateMask?: FieldMask | undefined; allowMissing: boolean },
  message: T,
) {
  return { id, message, isReplaced: updateMask?.paths.includes("*") ?? false, allowMissing };
}

function isCreated(outcome: KnownOutcome): boolean {
  return "row" in outcome && outcome.created === true;
}

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
