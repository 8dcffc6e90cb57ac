import type { IncomingMessage } from "node:http";
import { jsonIn } from "@tidings/resource/json-member";
import { readBody } from "../web/read-body.ts";
import { serialisedMap } from "./serialised.ts";

/** The parameters of a request by a page, a link or an image: texts by name, none of them longer than is kept. */
export type Parameters = ReadonlyMap<string, string>;

const PARAMETERS_MAX = 200;
const NAME_LENGTH_MAX = 191;
const TEXT_LENGTH_MAX = 2_048;
const QUERY_LENGTH_MAX = 16_384;
const BODY_BYTES_MAX = 64 * 1024;
const PACKED = "d";

/**
 * Reads the parameters of a request from its query and its body. What cannot be read is left out and a text that is too long is cut: a hit
 * counts all the same. The names of these parameters are added to `leftOut`, among them `body` for a body that cannot be read.
 */
export async function readParameters(
  request: IncomingMessage,
  leftOut: Set<string> = new Set(),
): Promise<Parameters> {
  const { url = "", headers } = request;
  const at = url.indexOf("?");
  const query = at < 0 ? "" : url.slice(at + 1, at + 1 + QUERY_LENGTH_MAX);
  if (at >= 0 && url.length > at + 1 + QUERY_LENGTH_MAX) leftOut.add("query");
  const parameters = new Map<string, string>();
  take(parameters, new URLSearchParams(query), leftOut);
  if (request.method === "POST") {
    const { text, isCut } = await readBody(request, BODY_BYTES_MAX);
    if (isCut) leftOut.add("body");
    const entries = isJson(headers["content-type"])
      ? jsonEntries(text, "body", leftOut)
      : new URLSearchParams(text);
    take(parameters, entries, leftOut);
  }
  const packed = parameters.get(PACKED);
  if (packed) take(parameters, unpacked(packed, leftOut), leftOut);
  parameters.delete(PACKED);
  return parameters;
}

function take(
  parameters: Map<string, string>,
  entries: Iterable<[string, string]>,
  leftOut: Set<string>,
): void {
  for (const [name, text] of entries) {
    const hasRoom = parameters.size < PARAMETERS_MAX || parameters.has(name);
    if (!hasRoom || name.length > NAME_LENGTH_MAX || text.length > TEXT_LENGTH_MAX) leftOut.add(name);
    if (hasRoom && name !== "" && name.length <= NAME_LENGTH_MAX) parameters.set(name, cleanText(text));
  }
}

/** As the database takes it: well-formed, without NUL, and no longer than is kept. */
export function cleanText(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  return text.slice(0, lengthMax).toWellFormed().replaceAll("\0", "");
}

/** The packed form: base64 of JSON, or of the older serialised map of texts. */
function unpacked(text: string, leftOut: Set<string>): [string, string][] {
  const plain = Buffer.from(text, "base64").toString();
  if (!plain.startsWith("a:")) return jsonEntries(plain, PACKED, leftOut);
  const entries = serialisedMap(plain);
  if (entries.length === 0) leftOut.add(PACKED);
  return entries;
}

/** The members of a JSON object that are texts, numbers or switches. `source` is left out where it is no JSON. */
function jsonEntries(text: string, source: string, leftOut: Set<string>): [string, string][] {
  const members = objectIn(text);
  if (!members) leftOut.add(source);
  return Object.entries(members ?? {}).flatMap(([name, member]): [string, string][] => {
    if (["string", "number", "boolean"].includes(typeof member)) return [[name, String(member)]];
    leftOut.add(name);
    return [];
  });
}

function objectIn(text: string): object | undefined {
  const value = jsonIn(text);
  return typeof value === "object" && value !== null ? value : undefined;
}

function isJson(contentType = ""): boolean {
  return /^application\/json\b/i.test(contentType);
}
