import {
  create,
  type DescField,
  type DescMessage,
  isFieldSet,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import {
  choices,
  derived,
  immutable,
  input_only as inputOnly,
  raw_json as rawJson,
  reference,
  required,
  secret,
  sent_id as sentId,
} from "@tidings/proto/tidings/api/v1/options";
import { type Reference, ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { optionOf } from "@tidings/rpc/option";
import { parseJson } from "./json-member.ts";
import { initialOf, isOutputOnly } from "./stamps.ts";

/** How a value is compared and ordered. */
export type ColumnType = "integer" | "double" | "boolean" | "text" | "timestamp" | "json";

/** One field of a message and the column that stores it: they share their name, but for `<field>_id` of a reference. */
export interface Column extends Kind {
  name: string;
  field: DescField;
  nullable: boolean;
  /** Never taken from a caller. */
  outputOnly: boolean;
  /** Taken from who makes the row, and never changed. */
  immutable: boolean;
  /** No filter or order may use it: a caller could guess it letter by letter. */
  secret: boolean;
  /** The value of a new row when the caller sends none. */
  initial: unknown;
  /** A column with a few possible texts; the empty text means no value. */
  isChoice: boolean;
}

interface Kind {
  type: ColumnType;
  sqlType: string;
  /** The value of a cleared column that may not be null. */
  zero: unknown;
  /** From the text form of Postgres. */
  fromText(text: string): unknown;
  /** From and to a member of a JSON object: nested messages are kept in such, rows are written as such. */
  fromJson(value: never): unknown;
  toJson(value: never): unknown;
  /** The schema of the items, for a list of messages with ids. */
  items?: Items;
}

/** A list of messages that are known by their ids. */
export interface Items {
  schema: DescMessage;
  columns: Column[];
  /** The field with the id that the caller sent for an item, where new items may have any. */
  sentId: Pick<Column, "field"> | undefined;
}

const same = (value: unknown) => value;
const number = { zero: 0, fromText: Number, fromJson: same, toJson: same };
const INTEGER: Kind = { type: "integer", sqlType: "integer", ...number };
const DOUBLE: Kind = { type: "double", sqlType: "double precision", ...number };
const TEXT: Kind = { type: "text", sqlType: "text", zero: "", fromText: same, fromJson: same, toJson: same };
const BOOLEAN: Kind = {
  type: "boolean",
  sqlType: "boolean",
  zero: false,
  fromText: (text) => text === "t",
  fromJson: same,
  toJson: same,
};
const TIMESTAMP: Kind = {
  type: "timestamp",
  sqlType: "timestamptz",
  zero: undefined,
  fromText: timestampFromText,
  fromJson: (text: string) => timestampFromDate(new Date(text)),
  toJson: (value: Timestamp) => timestampDate(value).toISOString(),
};
const LIST: Kind = jsonKind([], same, same);
const RAW_JSON: Kind = {
  ...jsonKind(
    undefined,
    (value) => Buffer.from(JSON.stringify(value)),
    (value: Uint8Array) => parseJson(value),
  ),
  // As Postgres writes it.
  fromText: (text) => Buffer.from(text),
};
const REFERENCE: Kind = {
  type: "integer",
  sqlType: "integer",
  zero: undefined,
  fromText: (text) => create(ReferenceSchema, { id: Number(text) }),
  fromJson: (id: number) => create(ReferenceSchema, { id }),
  toJson: ({ id }: Reference) => id,
};

/** Entities that are referred to, by their ids. */
const REFERENCES: Kind = jsonKind(
  [],
  (ids: number[]) => ids.map((id) => create(ReferenceSchema, { id })),
  (references: Reference[]) => references.map(({ id }) => id),
);

function jsonKind(
  zero: unknown,
  fromJson: (value: never) => unknown,
  toJson: (value: never) => unknown,
): Kind {
  const fromText = (text: string) => fromJson(JSON.parse(text) as never);
  return { type: "json", sqlType: "jsonb", zero, fromText, fromJson, toJson };
}

/** A message within another is kept as a JSON object, a list of them as an array. */
function nestedKind(schema: DescMessage, isList: boolean): Kind {
  const columns = columnsOf(schema);
  const read = (value: Record<string, never>) => fillFromJson(create(schema), columns, value);
  const write = (message: Message) => toRecord(message, columns);
  if (!isList) return jsonKind(undefined, read, write);
  const list = jsonKind(
    [],
    (values: Record<string, never>[]) => values.map(read),
    (messages: Message[]) => messages.map(write),
  );
  if (!schema.field.id) return list;
  const field = schema.fields.find((candidate) => optionOf(candidate, sentId));
  return { ...list, items: { schema, columns, sentId: field && { field } } };
}

const NOT_KEPT = [derived, inputOnly, sentId];

/** The columns of a message: every field that is stored in the resource's own table. */
export function columnsOf(schema: DescMessage): Column[] {
  return schema.fields.filter((field) => !NOT_KEPT.some((option) => optionOf(field, option))).map(columnOf);
}

/** The columns of its scalars and times alone. */
export function plainColumnsOf(schema: DescMessage): Column[] {
  return schema.fields.filter(isPlain).map(columnOf);
}

/** Is this a scalar or a time: no message of its own, no list and no map? */
export function isPlain(field: DescField): boolean {
  return field.fieldKind === "scalar" || (field.message === TimestampSchema && field.fieldKind === "message");
}

function columnOf(field: DescField): Column {
  const kind = kindOf(field);
  const initialJson = initialOf(field);
  const initially = initialJson === "" ? undefined : kind.fromJson(JSON.parse(initialJson) as never);
  const isChoice = optionOf(field, choices).length > 0;
  return {
    ...kind,
    // A choice that is taken back is the one of the beginning, and so is JSON.
    zero: isChoice || kind.zero === undefined ? (initially ?? kind.zero) : kind.zero,
    name: kind === REFERENCE ? `${field.name}_id` : field.name,
    field,
    nullable: isNullable(field, kind) && initialJson === "",
    outputOnly: isOutputOnly(field),
    immutable: optionOf(field, immutable),
    secret: optionOf(field, secret),
    initial: initially,
    isChoice,
  };
}

/** A message within may be absent unless it is required; anything else only where it is declared `optional`. */
function isNullable(field: DescField, kind: Kind): boolean {
  const isWithin = field.fieldKind === "message" && kind !== TIMESTAMP;
  return isWithin ? !optionOf(field, required) : field.proto.proto3Optional;
}

function kindOf(field: DescField): Kind {
  if (field.fieldKind === "list") {
    if (!field.message) return LIST;
    return field.message === ReferenceSchema ? REFERENCES : nestedKind(field.message, true);
  }
  if (field.fieldKind === "message") {
    if (field.message === TimestampSchema) return TIMESTAMP;
    return optionOf(field, reference) === "" ? nestedKind(field.message, false) : REFERENCE;
  }
  if (field.fieldKind === "scalar") {
    if (field.scalar === ScalarType.INT32) return INTEGER;
    if (field.scalar === ScalarType.DOUBLE) return DOUBLE;
    if (field.scalar === ScalarType.BOOL) return BOOLEAN;
    if (field.scalar === ScalarType.STRING) return TEXT;
    if (field.scalar === ScalarType.BYTES && optionOf(field, rawJson)) return RAW_JSON;
  }
  throw new Error(`${field.parent.typeName}.${field.name} has no column type`);
}

// Fields are chosen at run time from the descriptor, which the compiler cannot follow: this file alone looks at a
// message as a record of its fields.
type Fields = Record<string, unknown>;

export function readField(message: Message, { field }: Pick<Column, "field">): unknown {
  return (message as unknown as Fields)[field.localName];
}

export function writeField(message: Message, { field }: Pick<Column, "field">, value: unknown): void {
  (message as unknown as Fields)[field.localName] = value;
}

/** Fills a message from a row; NULL leaves a field unset. */
export function fillFromRow<T extends Message>(message: T, columns: Column[], row: Row): T {
  for (const column of columns) {
    const text = row[column.name];
    if (text !== null && text !== undefined) writeField(message, column, column.fromText(text));
  }
  return message;
}

function fillFromJson<T extends Message>(message: T, columns: Column[], values: Record<string, never>): T {
  for (const column of columns) {
    const value = values[column.name];
    if (value !== null && value !== undefined) writeField(message, column, column.fromJson(value));
  }
  return message;
}

/** The row a message becomes, as JSON for json_to_recordset. */
export function toRecord(message: Message, columns: Column[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const column of columns) {
    const value = readField(message, column);
    record[column.name] =
      value === undefined ? (column.nullable ? null : column.zero) : column.toJson(value as never);
  }
  return record;
}

/** Was this field of a message said at all? */
export function isSaid(message: Message, { field }: Pick<Column, "field">): boolean {
  return isFieldSet(message, field);
}
