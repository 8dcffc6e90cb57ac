import type { IncomingMessage } from "node:http";
import { badRequest, Code, Fault } from "@tidings/rpc/fault";
import { parseQuery } from "./query.ts";

const KILOBYTE = 1024;
const JSON_MAX = 1024 * KILOBYTE;
const BATCH_MAX = 5 * 1024 * KILOBYTE;
const FORM_MAX = 256 * KILOBYTE;
const DEPTH_MAX = 32;
const MEMBERS_MAX = 2_000;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Reads a request body: JSON, or a form with bracket names. No body, `[]` and an empty form are an empty object. */
export async function readBody(request: IncomingMessage, isBatch: boolean): Promise<unknown> {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw badRequest("The content encoding is not supported.");
  const isForm = type === "application/x-www-form-urlencoded";
  const bytes = await readBytes(request, isForm ? FORM_MAX : isBatch ? BATCH_MAX : JSON_MAX);
  if (bytes.length === 0) return {};
  if (!isForm && type !== "application/json") {
    throw badRequest("The body must be application/json or application/x-www-form-urlencoded.");
  }
  const text = decodeText(bytes);
  const body = isForm ? parseQuery(text) : parseJson(text);
  checkShape(body, 1);
  return body;
}

export class BodyTooLarge extends Fault {
  constructor(bytesMax: number) {
    const message = `The body may have at most ${bytesMax} bytes.`;
    super({ code: Code.INVALID_ARGUMENT, reason: "BODY_TOO_LARGE", message });
  }
}

function readBytes(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax)
    return Promise.reject(new BodyTooLarge(bytesMax));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > bytesMax) {
        request.pause();
        reject(new BodyTooLarge(bytesMax));
      } else chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on("error", () => reject(badRequest("The body ended early.")));
    request.on("aborted", () => reject(badRequest("The body ended early.")));
  });
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
