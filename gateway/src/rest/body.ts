import type { Hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { badRequest, Code, Fault } from "@tidings/rpc/fault";
import { jsonShape } from "./json-shape.ts";
import { multipartFields } from "./multipart.ts";
import { parseQuery } from "./query.ts";
import { receive } from "./receive.ts";

const KILOBYTE = 1024;
const FORM_MAX = 256 * KILOBYTE;

/** Bytes that a body may have. */
export interface BodyLimits {
  json: number;
  form: number;
}

export const SINGLE: BodyLimits = { json: 1024 * KILOBYTE, form: FORM_MAX };
export const BATCH: BodyLimits = { json: 5 * 1024 * KILOBYTE, form: FORM_MAX };
/** The limits of OAuth's endpoints and of our own pages. */
export const SMALL: BodyLimits = { json: 16 * KILOBYTE, form: 16 * KILOBYTE };

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const JSON_TYPE = "application/json";
/** No field of a form has such a name. */
const LIKE_JSON = /^\s{0,32}[{[]/;

/** Is the body a form that may hold an access token (RFC 6750, 2.2)? */
export function isForm({ headers }: IncomingMessage): boolean {
  return contentTypeOf(headers) === FORM;
}

function contentTypeOf({ "content-type": contentType = "" }: IncomingMessage["headers"]): string {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/**
 * Reads a request body: JSON, or a form with bracket names. No body, `[]` and an empty form are an empty object. `digest` gets the
 * bytes, or the fields of a multipart form, whose boundary is another each time.
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  digest?: Hash,
): Promise<unknown> {
  const contentType = request.headers["content-type"] ?? "";
  const type = contentTypeOf(request.headers);
  checkEncoding(request);
  const isForm = type === FORM || type === MULTIPART;
  const isJson = type === JSON_TYPE;
  const bytesMax = isForm ? limits.form : limits.json;
  const bytes = await receive(request, bytesMax, isJson ? jsonShape() : undefined);
  if (bytes.length === 0) return {};
  if (!isForm && !isJson) throw unreadable(type, bytes.toString("latin1", 0, 64));
  const form = type === MULTIPART ? await multipartFields(contentType, bytes) : undefined;
  digest?.update(form ?? bytes);
  const body = isJson ? parseJson(decodeText(bytes)) : parseForm(form ?? decodeText(bytes));
  await pauseAfter(bytes.length);
  checkTexts(body);
  return body;
}

function checkEncoding({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw badRequest("The content encoding is not supported.");
}

const ACCESS = Buffer.from("access");

/**
 * The same of a form from somebody who has not said who it is: only one that may hold an access token is parsed. Undefined
 * when it holds none.
 */
export async function readTokenForm(request: IncomingMessage): Promise<unknown> {
  checkEncoding(request);
  const bytes = await receive(request, SINGLE.form);
  return bytes.includes(ACCESS) ? checkTexts(parseForm(decodeText(bytes))) : undefined;
}

const LONG = 256 * KILOBYTE;

/** Lets others have the event loop after a long body was parsed. */
async function pauseAfter(bytes: number): Promise<void> {
  if (bytes > LONG) await nextTurn();
}

function parseForm(text: string): unknown {
  if (LIKE_JSON.test(text)) throw unreadable(FORM, text);
  return parseQuery(text);
}

/** JSON that says it is something else is the mistake newcomers make first: `curl -d` calls it a form. */
function unreadable(type: string, text: string): Fault {
  const was = type === "" ? "no content type" : `the content type "${type.slice(0, 100)}"`;
  const message = LIKE_JSON.test(text)
    ? `The body is JSON and came with ${was}. Send it with "Content-Type: ${JSON_TYPE}".`
    : `The body came with ${was}; it must be ${JSON_TYPE}, ${FORM} or ${MULTIPART}.`;
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "BODY_UNREADABLE", message });
}

function decodeText(bytes: Buffer): string {
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw badRequest("The body is not valid UTF-8.");
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
}

/** Refuses texts and numbers that no client sends and Postgres would not take. */
function checkTexts<T>(value: T): T {
  if (typeof value === "string") {
    if (value.includes("\0") || !value.isWellFormed())
      throw badRequest("The body holds characters that are not text.");
  } else if (typeof value === "number") {
    if (!Number.isFinite(value)) throw badRequest("The body holds a number that is too large.");
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      checkTexts(name);
      checkTexts(member);
    }
  }
  return value;
}
