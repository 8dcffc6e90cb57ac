import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  input_only as inputOnly,
  internal,
  keyed,
  raw_json as rawJson,
  reference,
  sent_id as sentId,
} from "@tidings/proto/tidings/api/v1/options";
import { FormedJsonSchema } from "@tidings/proto/tidings/type/v1/formed_json";
import { type Reference, ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { textOf } from "@tidings/rpc/formed-json";
import { optionOf } from "@tidings/rpc/option";

/** Writes a message as REST JSON. With `select` only those members are written, and of them none that are null. */
export type MessageWriter = (message: Message, select?: ReadonlySet<string>) => string;

interface Member {
  name: string;
  localName: string;
  /** `"name":` */
  opening: string;
  write(value: never): string;
}

/** How collections within an entity are answered: as objects by id, or as arrays in their order. */
export type NestedForm = "byId" | "array";

/** A writer compiled once from a message's descriptor: an unset field is null, times are ISO 8601 in UTC. */
export function messageWriter(schema: DescMessage, form: NestedForm = "byId"): MessageWriter {
  const members = membersOf(schema, (nested) => messageWriter(nested, form), form);
  const writeAll = (fields: Fields) => {
    let text = "{";
    for (const { localName, opening, write } of members) {
      const value = fields[localName];
      text += text === "{" ? opening : `,${opening}`;
      text += value === undefined ? "null" : write(value);
    }
    return `${text}}`;
  };
  // The members come from the descriptor of this very message; the compiler cannot follow that.
  return (message, select) => {
    const fields = message as unknown as Fields;
    return select
      ? writePresent(
          members.filter(({ name }) => select.has(name)),
          fields,
        )
      : writeAll(fields);
  };
}

/** The same without any member that is null, in nested messages neither. */
export function presentWriter(schema: DescMessage, form: NestedForm = "byId"): (message: Message) => string {
  const members = membersOf(schema, (nested) => presentWriter(nested, form), form);
  return (message) => writePresent(members, message as unknown as Fields);
}

function writePresent(members: Member[], fields: Fields): string {
  const parts: string[] = [];
  for (const { localName, opening, write } of members) {
    const value = fields[localName];
    const json = value === undefined ? "null" : write(value);
    if (json !== "null") parts.push(opening + json);
  }
  return `{${parts.join(",")}}`;
}

/** Makes the writer of a message that is within another. */
type Nested = (schema: DescMessage) => (message: Message) => string;

function membersOf(schema: DescMessage, nested: Nested, form: NestedForm): Member[] {
  return schema.fields
    .filter((field) => ![inputOnly, internal, sentId].some((option) => optionOf(field, option)))
    .map((field) => memberOf(field, nested, form));
}

type Fields = Record<string, never>;

function memberOf(field: DescField, nested: Nested, form: NestedForm): Member {
  return {
    name: field.jsonName,
    localName: field.localName,
    opening: `${JSON.stringify(field.jsonName)}:`,
    write: valueWriter(field, nested, form),
  };
}

const PRINTED = new Set([ScalarType.INT32, ScalarType.DOUBLE, ScalarType.BOOL]);

function valueWriter(field: DescField, nested: Nested, form: NestedForm): (value: never) => string {
  if (field.fieldKind === "message") {
    if (field.message === TimestampSchema) return writeTimestamp;
    if (field.message === FormedJsonSchema) return textOf;
    return optionOf(field, reference) === "" ? nested(field.message) : writeReference;
  }
  if (field.fieldKind === "list" && field.message) {
    if (field.message === ReferenceSchema)
      return (references: Reference[]) => `[${references.map(writeReference).join(",")}]`;
    if (form === "byId" && optionOf(field, keyed)) return keyedWriter(nested(field.message));
    const write = nested(field.message);
    return (items: Message[]) => `[${items.map((item) => write(item)).join(",")}]`;
  }
  if (field.fieldKind === "scalar") {
    if (field.scalar === ScalarType.BYTES && optionOf(field, rawJson)) return writeRawJson;
    if (field.scalar === ScalarType.STRING) return JSON.stringify;
    if (PRINTED.has(field.scalar)) return String;
  }
  if (field.fieldKind === "list" && field.listKind === "scalar") return JSON.stringify;
  throw new Error(`${field.parent.typeName}.${field.name} has no REST form`);
}

/** In their order, which readers of JSON objects mostly keep; none of them is an empty list. */
function keyedWriter(write: (message: Message) => string): (items: Keyed[]) => string {
  return (items) =>
    items.length === 0 ? "[]" : `{${items.map((item) => `"${item.id}":${write(item)}`).join(",")}}`;
}

type Keyed = Message & { id: number };

/** `2024-05-01T10:00:00+00:00` */
function writeTimestamp(value: Timestamp): string {
  return `"${new Date(Number(value.seconds) * 1000).toISOString().slice(0, 19)}+00:00"`;
}

function writeReference({ shown }: Reference): string {
  return writeRawJson(shown);
}

function writeRawJson(value: Uint8Array): string {
  if (value.length === 0) return "null";
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
}
