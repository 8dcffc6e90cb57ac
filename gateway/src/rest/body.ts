import type { IncomingMessage } from "node:http";
import { badRequest, Code, Fault } from "@tidings/rpc/fault";
import { multipartFields } from "./multipart.ts";
import { parseQuery } from "./query.ts";
import { receive } from "./receive.ts";

const KILOBYTE = 1024;
const JSON_MAX = 1024 * KILOBYTE;
const BATCH_MAX = 5 * 1024 * KILOBYTE;
const FORM_MAX = 256 * KILOBYTE;
const DEPTH_MAX = 32;
const MEMBERS_MAX = 2_000;

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

/** Reads a request body: JSON, or a form with bracket names. No body, `[]` and an empty form are an empty object. */
export async function readBody(request: IncomingMessage, isBatch: boolean): Promise<unknown> {
  const contentType = request.headers["content-type"] ?? "";
  const type = contentTypeOf(request.headers);
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw badRequest("The content encoding is not supported.");
  const isForm = type === FORM || type === MULTIPART;
  const bytes = await receive(request, isForm ? FORM_MAX : isBatch ? BATCH_MAX : JSON_MAX);
  if (bytes.length === 0) return {};
  if (!isForm && type !== JSON_TYPE) throw unreadable(type, bytes.toString("latin1", 0, 64));
  const text = decodeText(bytes);
  if (type === FORM && LIKE_JSON.test(text)) throw unreadable(type, text);
  const body =
    type === FORM
      ? parseQuery(text)
      : type === MULTIPART
        ? parseQuery(await multipartFields(contentType, bytes))
        : parseJson(text);
  checkShape(body, 1);
  return body;
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

/** Refuses what no client sends and some later step would choke on. */
function checkShape(value: unknown, depth: number): void {
  if (typeof value === "string") {
    if (value.includes("\0") || !value.isWellFormed())
      throw badRequest("The body holds characters that are not text.");
    return;
  }
  if (typeof value === "number" && !Number.isFinite(value))
    throw badRequest("The body holds a number that is too large.");
  if (typeof value !== "object" || value === null) return;
  if (depth > DEPTH_MAX) throw badRequest(`The body may be nested ${DEPTH_MAX} levels deep.`);
  const entries = Object.entries(value);
  if (entries.length > MEMBERS_MAX) throw badRequest(`An object or list may have ${MEMBERS_MAX} members.`);
  for (const [name, member] of entries) {
    checkShape(name, depth);
    checkShape(member, depth + 1);
  }
}
