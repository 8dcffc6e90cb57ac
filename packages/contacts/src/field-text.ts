import type { Message } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { dateTimeText } from "@tidings/database/timestamp";
import { CompanySnapshotSchema, ContactSnapshotSchema } from "@tidings/proto/tidings/contact/v1/snapshot";
import { type Column, plainColumnsOf, readField } from "@tidings/resource/columns";
import type { ShownField } from "./shown-field.ts";

/** A contact or a company as events carry it. */
export type RecordSnapshot = Message & { addedFields: Record<string, string> };

const COLUMNS = new Map(
  [ContactSnapshotSchema, CompanySnapshotSchema].map((schema) => [
    schema.typeName as string,
    new Map(plainColumnsOf(schema).map((column) => [column.name, column])),
  ]),
);

/** The value of a field in the text form of its column; null where there is none. */
export function fieldText(snapshot: RecordSnapshot, { alias, isColumn }: ShownField): string | null {
  const { addedFields } = snapshot;
  if (!isColumn) return Object.hasOwn(addedFields, alias) ? (addedFields[alias] ?? null) : null;
  const column = COLUMNS.get(snapshot.$typeName)?.get(alias);
  const value = column && readField(snapshot, column);
  return column === undefined || value === undefined ? null : textOf(column, value);
}

function textOf({ type }: Column, value: unknown): string {
  return type === "timestamp" ? dateTimeText(timestampDate(value as Timestamp).getTime()) : String(value);
}
