import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  also,
  html,
  internal,
  open_members as openMembers,
  raw_json as rawJson,
  reference,
  sent_id as sentIdOption,
} from "@tidings/proto/tidings/api/v1/options";
import { ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { isOutputOnly } from "@tidings/resource/stamps";
import { invalid, NOT_VALID, notFound, type Violation } from "@tidings/rpc/fault";
import { optionOf } from "@tidings/rpc/option";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";
import { textOf, withoutTags, yesOrNoOf } from "@tidings/runtime/plain-text";

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
  read: Reader;
  /** The empty text that a form sends for a date that is cleared. */
  isEmptyDate(value: unknown): boolean;
  /** The same for a number. */
  isEmptyNumber(value: unknown): boolean;
}

/** The value of a field, or undefined with what is wrong with it among the violations. `path` is what the field is called. */
type Reader = (value: unknown, path: string, violations: Violation[]) => unknown;

const SENT_ID_LENGTH_MAX = 191;
const NOT_A_DATE = `This value is ${DATE_FORMS}.`;

/**
 * A lenient decoder compiled from a message's descriptor. Numbers and switches may come as text; unknown members are
 * ignored, unless the message has a field for open members; output-only members are ignored. Throws INVALID_ARGUMENT
 * that names every bad member.
 */
export function bodyDecoder(schema: DescMessage): BodyDecoder {
  const readMembers = membersReader(schema);
  const openField = schema.fields.find((field) => optionOf(field, openMembers));

  return (body) => {
    const violations: Violation[] = [];
    const { init, paths, others } = readMembers(body, "", violations);
    if (violations.length > 0) throw invalid(violations);
    const message = create(schema, init);
    if (!openField) return { message, paths, ignored: Object.keys(others) };
    const open = { [openField.localName]: Buffer.from(JSON.stringify(others)) };
    return { message: create(schema, { ...init, ...open }), paths: [...paths, openField.name], ignored: [] };
  };
}

interface Members {
  init: Record<string, unknown>;
  /** Proto names of the fields that were named. */
  paths: string[];
  /** Members that no field is named for. */
  others: Body;
}

/** Reads what a message knows out of an object; `prefix` is the way to it: `fields[0].`. */
function membersReader(
  schema: DescMessage,
): (body: Body, prefix: string, violations: Violation[]) => Members {
  const members = new Map<string, Member>();
  const known = new Set<string>();
  for (const field of schema.fields) {
    if (optionOf(field, openMembers) || optionOf(field, sentIdOption)) continue;
    const names = [field.jsonName, optionOf(field, also)].filter((name) => name !== "");
    for (const name of names) known.add(name);
    if (isOutputOnly(field) || optionOf(field, internal)) continue;
    const member = memberOf(field);
    for (const name of names) members.set(name, member);
  }
  const isOpen = schema.fields.some((field) => optionOf(field, openMembers));

  return (body, prefix, violations) => {
    const init: Record<string, unknown> = {};
    const paths: string[] = [];
    const others: [string, unknown][] = [];
    for (const [name, value] of Object.entries(body)) {
      const member = members.get(name);
      if (!member) {
        if (!known.has(name)) others.push([name, value]);
        continue;
      }
      const { field, read, isEmptyDate, isEmptyNumber } = member;
      // Blank values of contacts are skipped; so is a blank number of something within a body. Elsewhere it is no number.
      if (isOpen && isEmptyDate(value)) continue;
      if ((isOpen || prefix !== "") && isEmptyNumber(value)) continue;
      // A message with open members has no mask: its service has to be sent the null itself.
      const isNothing = isEmptyDate(value) || (value === null && !(isOpen && read === readRawJson));
      const decoded = isNothing ? undefined : read(value, prefix + name, violations);
      if (decoded !== undefined) init[field.localName] = decoded;
      paths.push(field.name);
    }
    return { init, paths, others: Object.fromEntries(others) };
  };
}

function memberOf(field: DescField): Member {
  const read = valueReader(field);
  const isEmptyDate = (value: unknown) => value === "" && read === timestampReader;
  const isEmptyNumber = (value: unknown) => value === "" && NUMBERS.has(read);
  return { field, read, isEmptyDate, isEmptyNumber };
}

function valueReader(field: DescField): Reader {
  if (field.fieldKind === "message") {
    if (field.message === TimestampSchema) return timestampReader;
    return optionOf(field, reference) === "" ? objectReader(field.message) : referenceReader;
  }
  if (field.fieldKind === "list") {
    if (field.message === ReferenceSchema) return referencesReader;
    return field.message
      ? listReader(objectReader(field.message))
      : checked(textsOrNumbers(scalarReader(field)));
  }
  return scalarReader(field);
}

function scalarReader(field: DescField): Reader {
  if ("scalar" in field) {
    if (field.scalar === ScalarType.BYTES && optionOf(field, rawJson)) return readRawJson;
    if (field.scalar === ScalarType.STRING) return optionOf(field, html) ? htmlReader : textReader;
    if (field.scalar === ScalarType.BOOL) return booleanReader;
    if (field.scalar === ScalarType.INT32) return integerReader;
    if (field.scalar === ScalarType.DOUBLE) return doubleReader;
  }
  throw new Error(`${field.parent.typeName}.${field.name} cannot be read from a body`);
}

/** A reader that reports values it cannot read. */
function checked(read: (value: unknown) => unknown, message = NOT_VALID): Reader {
  return (value, path, violations) => {
    const decoded = read(value);
    if (decoded === undefined) violations.push({ field: path, message });
    return decoded;
  };
}

const htmlReader = checked(textOf);
const textReader = checked(readText);
const booleanReader = checked(readBoolean);
const integerReader = checked(readInteger);
const doubleReader = checked(readDouble);
/** An id that a caller makes up for a new item is a short word. */
const sentIdReader = checked((value) => {
  const text = textOf(value)?.trim();
  return text !== undefined && text.length <= SENT_ID_LENGTH_MAX ? text : undefined;
});
const timestampReader = checked(readTimestamp, NOT_A_DATE);
const NUMBERS = new Set([integerReader, doubleReader]);

/** A list, an object whose values are the list (`triggers[0]=a` and `triggers[x]=a` alike), or the one entry of it. */
function listReader(readItem: Reader): Reader {
  return (value, path, violations) => {
    if (value === "") return [];
    const items = typeof value === "object" && value !== null ? Object.values(value) : [value];
    return items.map((item, index) => readItem(item, `${path}[${index}]`, violations));
  };
}

/** The same of texts or numbers, which are one violation. */
function textsOrNumbers(readItem: Reader): (value: unknown) => unknown {
  const read = listReader(readItem);
  return (value) => {
    const violations: Violation[] = [];
    const items = read(value, "", violations);
    return violations.length > 0 ? undefined : items;
  };
}

function objectReader(schema: DescMessage): Reader {
  const readMembers = membersReader(schema);
  const sentId = schema.fields.find((field) => optionOf(field, sentIdOption));
  const isNumbered = schema.field.id?.fieldKind === "scalar" && schema.field.id.scalar === ScalarType.INT32;
  // A link holds nothing but the name of another item, so clients may send the name alone: `"parent": "new_43"`.
  const isLink = schema.fields.every((field) => field === sentId || isOutputOnly(field));
  return (sent, path, violations) => {
    const isName = isLink && (typeof sent === "string" || typeof sent === "number");
    if (isName && sent === "") return undefined;
    const value = isName ? { id: sent } : sent;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      violations.push({ field: path, message: NOT_VALID });
      return undefined;
    }
    const { init } = readMembers(value as Body, `${path}.`, violations);
    const { id = null } = value as Body;
    // An item that is sent with a known id is the item that has it.
    if (sentId && id !== null) {
      init[sentId.localName] = sentIdReader(id, `${path}.id`, violations);
      init.id = readInteger(id) ?? 0;
    } else if (isNumbered && id !== null) {
      init.id = readInteger(id);
      // An item is new without an id; with one it has to be there (clients name new ones `new1`).
      if (init.id === undefined)
        throw notFound(`${path}: there is no item ${textOf(id)?.slice(0, 50) ?? "of this id"}.`);
    }
    return create(schema, init);
  };
}

/** Values that clients send for "nothing". */
const NOTHING = new Set<unknown>([null, "", 0, "0"]);

/** An id, or an object that has one. */
const referenceReader: Reader = (value, path, violations) => {
  if (NOTHING.has(value)) return undefined;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const id = readInteger(isObject ? (value as Body).id : value);
  if (id !== undefined && id > 0) return create(ReferenceSchema, { id });
  violations.push({ field: path, message: NOT_VALID });
  return undefined;
};

/** A list of such; what names nothing says nothing. */
const referencesReader: Reader = (value, path, violations) =>
  (listReader(referenceReader)(value, path, violations) as unknown[]).filter((one) => one !== undefined);

/** Tags are kept where HTML is what the field is for. */
function readText(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : withoutTags(text);
}

function readBoolean(value: unknown): boolean | undefined {
  return value === "" ? false : yesOrNoOf(value);
}

function readInteger(value: unknown): number | undefined {
  const text = textOf(value)?.trim() ?? "";
  const number = text === "" ? Number.NaN : Number(text);
  return Number.isInteger(number) && number >= -(2 ** 31) && number < 2 ** 31 ? number : undefined;
}

function readDouble(value: unknown): number | undefined {
  const text = textOf(value)?.trim() ?? "";
  const number = text === "" ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function readTimestamp(value: unknown) {
  const milliseconds = typeof value === "string" ? parseDateText(value) : undefined;
  return milliseconds === undefined ? undefined : timestampFromMs(milliseconds);
}

function readRawJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
