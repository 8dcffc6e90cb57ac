import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { TimestampSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  html,
  internal,
  open_members as openMembers,
  output_only as outputOnly,
  raw_json as rawJson,
} from "@tidings/proto/tidings/api/v1/options";
import { invalid, type Violation } from "@tidings/rpc/fault";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";
import { textOf, withoutTags } from "@tidings/runtime/plain-text";

/** A request body as the clients of the API send it: members of any type under any name. */
export type Body = Record<string, unknown>;

export interface DecodedBody {
  message: Message;
  /** Proto names of the fields the body named: the update mask of a PATCH. */
  paths: string[];
  /** Members that mean nothing here. Where members are open, their service knows. */
  ignored: string[];
}

export type BodyDecoder = (body: Body) => DecodedBody;

interface Member {
  field: DescField;
  /** undefined: the value cannot be read as this field's type. */
  read(value: unknown): unknown;
  /** A form's empty input: for a number or a date it says nothing. */
  isBlank(value: unknown): boolean;
}

const NOT_VALID = "This value is not valid.";
const NOT_A_DATE = `This value is ${DATE_FORMS}.`;

/**
 * A lenient decoder compiled from a message's descriptor. Numbers and switches may come as text; unknown members are
 * ignored, unless the message has a field for open members; output-only members are ignored. Throws INVALID_ARGUMENT
 * that names every bad member.
 */
export function bodyDecoder(schema: DescMessage): BodyDecoder {
  const members = new Map<string, Member>();
  const known = new Set<string>();
  for (const field of schema.fields) {
    if (getOption(field, openMembers)) continue;
    known.add(field.jsonName);
    if (!getOption(field, outputOnly) && !getOption(field, internal))
      members.set(field.jsonName, memberOf(field));
  }
  const openField = schema.fields.find((field) => getOption(field, openMembers));

  return (body) => {
    const init: Record<string, unknown> = {};
    const open: Body = {};
    const paths: string[] = [];
    const ignored: string[] = [];
    const violations: Violation[] = [];
    for (const [name, value] of Object.entries(body)) {
      const member = members.get(name);
      if (!member) {
        if (known.has(name)) continue;
        if (openField) open[name] = value;
        else ignored.push(name);
        continue;
      }
      const { field, read, isBlank } = member;
      if (isBlank(value)) continue;
      // Who has open members is told of no paths: there, nothing has to be said as such.
      const isNothing = value === null && !(openField && read === readRawJson);
      const decoded = isNothing ? undefined : read(value);
      if (decoded === undefined && !isNothing)
        violations.push({ field: name, message: read === readTimestamp ? NOT_A_DATE : NOT_VALID });
      if (decoded !== undefined) init[field.localName] = decoded;
      paths.push(field.name);
    }
    if (violations.length > 0) throw invalid(violations);
    if (openField) {
      init[openField.localName] = Buffer.from(JSON.stringify(open));
      paths.push(openField.name);
    }
    return { message: create(schema, init), paths, ignored };
  };
}

function memberOf(field: DescField): Member {
  const read = valueReader(field);
  const isBlank = (value: unknown) => value === "" && (read === readInteger || read === readTimestamp);
  return { field, read, isBlank };
}

function valueReader(field: DescField): (value: unknown) => unknown {
  if (field.fieldKind === "message" && field.message === TimestampSchema) return readTimestamp;
  if (field.fieldKind === "list" && field.listKind === "scalar" && field.scalar === ScalarType.STRING)
    return readTexts;
  if (field.fieldKind === "scalar") {
    if (field.scalar === ScalarType.BYTES && getOption(field, rawJson)) return readRawJson;
    if (field.scalar === ScalarType.STRING) return getOption(field, html) ? textOf : readText;
    if (field.scalar === ScalarType.BOOL) return readBoolean;
    if (field.scalar === ScalarType.INT32) return readInteger;
  }
  throw new Error(`${field.parent.typeName}.${field.name} cannot be read from a body`);
}

/** Tags are kept where HTML is what the field is for. */
function readText(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : withoutTags(text);
}

/** A list, or an object whose values are the list (`triggers[0]=a` and `triggers[x]=a` alike). */
function readTexts(value: unknown): string[] | undefined {
  if (value === "") return [];
  const items = typeof value === "object" && value !== null ? Object.values(value) : [value];
  const texts = items.map(readText);
  return texts.includes(undefined) ? undefined : (texts as string[]);
}

// A map and not an object: `constructor` is a name every object knows.
const SWITCHES = new Map([
  ...["true", "1", "on", "yes"].map((word) => [word, true] as const),
  ...["false", "0", "off", "no", ""].map((word) => [word, false] as const),
]);

function readBoolean(value: unknown): boolean | undefined {
  return SWITCHES.get(textOf(value)?.toLowerCase() ?? "no switch");
}

function readInteger(value: unknown): number | undefined {
  const text = textOf(value)?.trim() ?? "";
  const number = text === "" ? Number.NaN : Number(text);
  return Number.isInteger(number) && number >= -(2 ** 31) && number < 2 ** 31 ? number : undefined;
}

function readTimestamp(value: unknown) {
  const milliseconds = typeof value === "string" ? parseDateText(value) : undefined;
  return milliseconds === undefined ? undefined : timestampFromMs(milliseconds);
}

function readRawJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
