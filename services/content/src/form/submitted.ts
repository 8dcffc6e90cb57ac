import type { Form, FormField } from "@tidings/proto/tidings/content/v1/form";
import { isObject, type JsonObject, jsonOf } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { isEmailAddress } from "@tidings/runtime/email-address";
import { textOf, withoutTags } from "@tidings/runtime/plain-text";
import { isWebAddress } from "../family/web-address.ts";
import { extensionOf, UPLOAD_EXTENSIONS } from "../file/kind.ts";
import { conditionsOf } from "./field.ts";
import { isKept, isTrap, isViewOnly } from "./field-types.ts";

/** A submission, read as its form requires. */
export interface Submitted {
  /** Violations by the aliases of the fields. */
  errors: Violation[];
  /** Something is written where people see nothing. */
  isTrapped: boolean;
  /** The kept values. */
  results: Map<FormField, string>;
  /** Values for the contact and its company, by the names of their fields. */
  contact: Map<string, string>;
  company: Map<string, string>;
}

const TEXT_LENGTH_MAX = 65_535;
const TEXTS_MAX = 500;
const FILE_NAME_LENGTH_MAX = 255;
const COMPANY_ID = /^[1-9]\d{0,8}$/;
const MEGABYTE = 1_000_000;
/** ITU-T E.164: a plus and fifteen digits at most. */
const INTERNATIONAL = /^\+[1-9]\d{6,14}$/;

/** A value as it was sent: texts, of which a file has one, its name. */
interface Sent {
  texts: string[];
  /** Bytes of a file, as far as they were sent. */
  size: number;
  /** The fault in these bytes. */
  fault?: string | undefined;
}

export const NOTHING_KNOWN: Known = { hidden: new Set(), companies: new Map(), blockedEmails: [] };
const NOTHING: Sent = { texts: [], size: 0 };

/** Known values besides the sent ones. */
export interface Known {
  /** Ids of fields that this visitor was not shown. */
  hidden: ReadonlySet<number>;
  /** Names of companies that were chosen by their ids. */
  companies: ReadonlyMap<string, string>;
  /** Addresses that forms which ask for it do not take: whole, or `*` and how they end. */
  blockedEmails: string[];
}

/**
 * Reads the values that were sent by alias. Fields that were not to be asked for are as if nothing had been sent for them; what is
 * wrong with one that was not shown is nobody's fault.
 */
export function readSubmitted(
  { fields }: Form,
  values: JsonObject,
  { hidden, companies, blockedEmails }: Known = NOTHING_KNOWN,
): Submitted {
  const submitted: Submitted = {
    ...{ errors: [], isTrapped: false },
    ...{ results: new Map(), contact: new Map(), company: new Map() },
  };
  const sent = new Map(fields.map((field) => [field.id, sentOf(field, values)]));
  const asked = askedFields(fields, sent);
  for (const field of fields.filter(({ id }) => asked.has(id))) {
    const value = sent.get(field.id);
    const chosen = field.type === "companyLookup" && value ? named(value, companies) : value;
    const error =
      chosen === undefined
        ? NOT_VALID
        : (blockedError(field, chosen, blockedEmails) ?? readField(field, chosen, submitted));
    if (error !== undefined && !hidden.has(field.id))
      submitted.errors.push({ field: field.alias, message: error });
  }
  return submitted;
}

/** A company that is typed by name. */
function named({ texts, size }: Sent, companies: Known["companies"]): Sent {
  return { texts: texts.map((text) => companies.get(text) ?? text), size };
}

/** Undefined for what no input of a form sends. */
function sentOf({ alias, type }: FormField, values: JsonObject): Sent | undefined {
  const value = Object.hasOwn(values, alias) ? values[alias] : null;
  if (value === null || value === "") return NOTHING;
  if (type === "file") return isObject(value) ? fileOf(value) : undefined;
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  if (
    texts.length > TEXTS_MAX ||
    !texts.every((text) => text !== undefined && text.length <= TEXT_LENGTH_MAX)
  )
    return undefined;
  return { texts: (texts as string[]).filter((text) => text !== ""), size: 0 };
}

/** A file as it was received, with the fault in its bytes. */
function fileOf({ name, size = 0, fault }: JsonObject): Sent | undefined {
  const text = textOf(name);
  return text === undefined ? undefined : { texts: [text], size: Number(size), fault: textOf(fault) };
}

/** Ids of the fields that were to be asked for: each depends on what was said to the one above it, which was asked itself. */
function askedFields(fields: FormField[], sent: Map<number, Sent | undefined>): Set<number> {
  const byId = new Map(fields.map((field) => [field.id, field]));
  const known = new Map<number, boolean>();
  const isAsked = (field: FormField): boolean => {
    const before = known.get(field.id);
    if (before !== undefined) return before;
    const parent = byId.get(field.parent ?? 0);
    const isSo = !parent || (isAsked(parent) && isSatisfied(field, sent.get(parent.id)?.texts ?? []));
    known.set(field.id, isSo);
    return isSo;
  };
  return new Set(fields.filter(isAsked).map(({ id }) => id));
}

/** The companies that were chosen by their ids. */
export function companiesIn({ fields }: Form, values: JsonObject): number[] {
  const lookups = fields.filter(({ type }) => type === "companyLookup");
  const texts = lookups.flatMap((field) => sentOf(field, values)?.texts ?? []);
  return [...new Set(texts.filter((text) => COMPANY_ID.test(text)).map(Number))];
}

function isSatisfied(field: FormField, said: string[]): boolean {
  const conditions = conditionsOf(field);
  if (!conditions) return true;
  const { any, expr, values } = conditions;
  if (any) return said.length > 0;
  const isAmong = said.some((text) => values.includes(text));
  return expr === "in" ? isAmong : !isAmong;
}

/** Takes one value into what was submitted; what is wrong with it otherwise. */
function readField(field: FormField, sent: Sent, submitted: Submitted): string | undefined {
  if (isTrap(field)) submitted.isTrapped ||= sent.texts.length > 0;
  else if (field.type === "captcha") return captchaError(field, sent);
  if (isViewOnly(field)) return undefined;
  const texts = sent.texts.map((text) => cleaned(field, text)).filter((text) => text !== "");
  if (texts.length === 0 && field.isRequired)
    return field.validationMessage || `'${field.label}' is required.`;
  const error = texts.length === 0 ? undefined : constraintError(field, texts, sent);
  if (error !== undefined) return error;
  const value = texts.join(", ");
  if (isKept(field)) submitted.results.set(field, value);
  const { mappedField, mappedObject } = field;
  if (mappedField && value !== "")
    submitted[mappedObject === "company" ? "company" : "contact"].set(mappedField, value);
  return undefined;
}

function captchaError(field: FormField, { texts }: Sent): string | undefined {
  const { captcha, errorMessage } = propertiesOf(field);
  const isRight = texts.join("") === (textOf(captcha) ?? "");
  return isRight ? undefined : textOf(errorMessage) || field.validationMessage || "This answer is not right.";
}

function cleaned({ type }: FormField, text: string): string {
  if (type === "file") return fileName(text);
  const plain = withoutTags(text).trim();
  return type === "tel" || type === "number" ? plain.replaceAll(/\s+/g, type === "tel" ? " " : "") : plain;
}

/** The last part of a path, since some browsers send all of it, without control, format and bidi characters. */
function fileName(text: string): string {
  const name = text.slice(Math.max(text.lastIndexOf("/"), text.lastIndexOf("\\")) + 1);
  return withoutTags(name).replaceAll(/\p{C}/gu, "").trim().slice(-FILE_NAME_LENGTH_MAX);
}

function constraintError(field: FormField, texts: string[], sent: Sent): string | undefined {
  switch (field.type) {
    case "email":
      return texts.every(isEmailAddress) ? undefined : "The email is invalid.";
    case "url":
      return texts.every(isWebAddress) ? undefined : "The URL is invalid.";
    case "number":
      return texts.every((text) => Number.isFinite(Number(text))) ? undefined : "The number is invalid.";
    case "tel":
      return telephoneError(field, texts);
    case "file":
      return fileError(field, texts, sent);
    default:
      return undefined;
  }
}

function blockedError(
  { type, validation }: FormField,
  { texts }: Sent,
  blocked: string[],
): string | undefined {
  const rules = jsonOf(validation);
  if (type !== "email" || !isObject(rules) || Number(textOf(rules.donotsubmit) ?? 0) !== 1) return undefined;
  const isBlocked = (address: string) =>
    blocked.some((pattern) =>
      pattern.startsWith("*") ? address.endsWith(pattern.slice(1)) : address === pattern,
    );
  if (!texts.some((text) => isBlocked(text.trim().toLowerCase()))) return undefined;
  return textOf(rules.donotsubmit_validationmsg) || "This email address is not accepted.";
}

function telephoneError({ validation }: FormField, texts: string[]): string | undefined {
  const rules = jsonOf(validation);
  if (!isObject(rules) || Number(textOf(rules.international) ?? 0) !== 1) return undefined;
  if (texts.every((text) => INTERNATIONAL.test(text.replaceAll(/[\s().-]/g, "")))) return undefined;
  return textOf(rules.international_validationmsg) || "The phone number is invalid.";
}

function fileError(field: FormField, names: string[], { size, fault }: Sent): string | undefined {
  const { allowed_file_extensions: extensions, allowed_file_size: megabytes } = propertiesOf(field);
  const allowed = Array.isArray(extensions) && extensions.length > 0 ? extensions : UPLOAD_EXTENSIONS;
  if (!names.every((name) => allowed.includes(extensionOf(name))))
    return `Files of these kinds are accepted: ${allowed.join(", ")}.`;
  const max = Number(textOf(megabytes) ?? 0);
  return max > 0 && !(size <= max * MEGABYTE) ? `A file may have ${max} MB.` : fault;
}
