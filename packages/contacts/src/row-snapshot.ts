import { create, type DescField, type Message, mergeFromJsonString } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Row } from "@tidings/database/statement";
import {
  type CompanySnapshot,
  CompanySnapshotSchema,
  type ContactSnapshot,
  ContactSnapshotSchema,
} from "@tidings/proto/tidings/contact/v1/snapshot";
import { fillFromRow, isPlain, plainColumnsOf } from "@tidings/resource/columns";

const ADDED = "added_fields";
/** Columns that snapshots leave out: they say in another way what is there, or belong to how rows are kept. */
const LEFT_OUT = [
  "version",
  "tag_ids",
  "ip_address_ids",
  "has_utm_tags",
  "custom",
  "name_key",
  "field_revision",
  "seen_version",
];

/**
 * The snapshot of a row of `contacts`: columns in Postgres' text form, parts that come from other tables as the JSON texts that the API shows,
 * and the values of added fields by their aliases.
 */
export const contactSnapshot: (row: Row) => ContactSnapshot = snapshotMaker(ContactSnapshotSchema);

/** The same of a row of `companies`. */
export const companySnapshot: (row: Row) => CompanySnapshot = snapshotMaker(CompanySnapshotSchema);

function snapshotMaker<T extends Message & { addedFields: Record<string, string> }>(
  schema: GenMessage<T>,
): (row: Row) => T {
  const columns = plainColumnsOf(schema);
  const parts = schema.fields.filter((field) => !isPlain(field) && field.name !== ADDED);
  const known = new Set([...schema.fields.map(({ name }) => name), ...LEFT_OUT]);
  return (row) => {
    const snapshot = fillFromRow(create(schema) as T, columns, row);
    const json = partsJson(parts, row);
    if (json !== "{}") mergeFromJsonString(schema, snapshot, json, { ignoreUnknownFields: true });
    const added = Object.entries(row).filter(([name, value]) => value != null && !known.has(name));
    if (added.length > 0) snapshot.addedFields = Object.fromEntries(added) as Record<string, string>;
    return snapshot;
  };
}

/** Parts are JSON texts whose members have the names of the API, which are those of the messages. */
function partsJson(parts: DescField[], row: Row): string {
  const members = parts.flatMap(({ name, jsonName }) => {
    const text = row[name];
    return text && text !== "{}" ? [`"${jsonName}":${text}`] : [];
  });
  return `{${members.join(",")}}`;
}
