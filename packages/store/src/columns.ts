import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  derived,
  initial,
  input_only as inputOnly,
  output_only as outputOnly,
  raw_json as rawJson,
  secret,
} from "@tidings/proto/tidings/api/v1/options";
import type { Row } from "./database.ts";
import { timestampFromText } from "./timestamp.ts";

/** How a value is compared and ordered. */
export type ColumnType = "integer" | "double" | "boolean" | "text" | "timestamp" | "json";

/** One field of a message and the column that stores it: they share their name. */
export interface Column {
  name: string;
  localName: string;
  jsonName: string;
  type: ColumnType;
  sqlType: string;
  nullable: boolean;
  /** Never taken from a caller. */
  outputOnly: boolean;
  /** Nobody may compare or order by it: who could, could guess it letter by letter. */
  secret: boolean;
  /** What a new row gets when the caller says nothing. */
  initial: unknown;
  /** What a cleared column holds when it may not be null. */
  zero: unknown;
  fromText(text: string): unknown;
  toJson(value: unknown): unknown;
}

interface Kind {
  type: ColumnType;
  sqlType: string;
  zero: unknown;
  fromText(text: string): unknown;
  toJson(value: unknown): unknown;
}

const same = (value: unknown) => value;
const INTEGER: Kind = { type: "integer", sqlType: "integer", zero: 0, fromText: Number, toJson: same };
const DOUBLE: Kind = { type: "double", sqlType: "double precision", zero: 0, fromText: Number, toJson: same };
const TEXT: Kind = { type: "text", sqlType: "text", zero: "", fromText: same, toJson: same };
const BOOLEAN: Kind = {
  type: "boolean",
  sqlType: "boolean",
  zero: false,
  fromText: (text) => text === "t",
  toJson: same,
};
const TIMESTAMP: Kind = {
  type: "timestamp",
  sqlType: "timestamptz",
  zero: undefined,
  fromText: timestampFromText,
  toJson: (value) => timestampDate(value as Timestamp).toISOString(),
};
const LIST: Kind = { type: "json", sqlType: "jsonb", zero: [], fromText: JSON.parse, toJson: same };
const RAW_JSON: Kind = {
  type: "json",
  sqlType: "jsonb",
  zero: undefined,
  fromText: (text) => Buffer.from(text),
  toJson: (value) => JSON.parse(Buffer.from(value as Uint8Array).toString()),
};

/** The columns of a message: every field that is stored in the resource's own table. */
export function columnsOf(schema: DescMessage): Column[] {
  return schema.fields
    .filter((field) => !getOption(field, derived) && !getOption(field, inputOnly))
    .map(columnOf);
}

function columnOf(field: DescField): Column {
  const kind = kindOf(field);
  const initialJson = getOption(field, initial);
  return {
    ...kind,
    name: field.name,
    localName: field.localName,
    jsonName: field.jsonName,
    nullable: field.proto.proto3Optional && initialJson === "",
    outputOnly: getOption(field, outputOnly),
    secret: getOption(field, secret),
    initial: initialJson === "" ? undefined : JSON.parse(initialJson),
  };
}

function kindOf(field: DescField): Kind {
  if (field.fieldKind === "list") return LIST;
  if (field.fieldKind === "message" && field.message === TimestampSchema) return TIMESTAMP;
  if (field.fieldKind === "scalar") {
    if (field.scalar === ScalarType.INT32) return INTEGER;
    if (field.scalar === ScalarType.DOUBLE) return DOUBLE;
    if (field.scalar === ScalarType.BOOL) return BOOLEAN;
    if (field.scalar === ScalarType.STRING) return TEXT;
    if (field.scalar === ScalarType.BYTES && getOption(field, rawJson)) return RAW_JSON;
  }
  throw new Error(`${field.parent.typeName}.${field.name} has no column type`);
}

// Fields are chosen at run time from the descriptor, which the compiler cannot follow: this file alone looks at a
// message as a record of its fields.
type Fields = Record<string, unknown>;

export function readField(message: Message, column: Column): unknown {
  return (message as unknown as Fields)[column.localName];
}

export function writeField(message: Message, column: Column, value: unknown): void {
  (message as unknown as Fields)[column.localName] = value;
}

/** Fills a message from a row; NULL leaves a field unset. */
export function fillFromRow<T extends Message>(message: T, columns: Column[], row: Row): T {
  for (const column of columns) {
    const text = row[column.name];
    if (text !== null && text !== undefined) writeField(message, column, column.fromText(text));
  }
  return message;
}

/** The row a message becomes, as JSON for json_to_recordset. */
export function toRecord(message: Message, columns: Column[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const column of columns) {
    const value = readField(message, column);
    record[column.name] = value === undefined ? (column.nullable ? null : column.zero) : column.toJson(value);
  }
  return record;
}
