import type { IncomingMessage } from "node:http";
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
 * counts all the same.
 */
export async function readParameters(request: IncomingMessage): Promise<Parameters> {
  const { url = "", headers } = request;
  const at = url.indexOf("?");
  const query = at < 0 ? "" : url.slice(at + 1, at + 1 + QUERY_LENGTH_MAX);
  const parameters = new Map<string, string>();
  take(parameters, new URLSearchParams(query));
  if (request.method === "POST") {
    const { text } = await readBody(request, BODY_BYTES_MAX);
    take(parameters, isJson(headers["content-type"]) ? jsonEntries(text) : new URLSearchParams(text));
  }
  const packed = parameters.get(PACKED);
  if (packed) take(parameters, unpacked(packed));
  parameters.delete(PACKED);
  return parameters;
}

function take(parameters: Map<string, string>, entries: Iterable<[string, string]>): void {
  for (const [name, text] of entries) {
    if (parameters.size >= PARAMETERS_MAX) return;
    if (name !== "" && name.length <= NAME_LENGTH_MAX) parameters.set(name, cleanText(text));
  }
}

/** As the database takes it: well-formed, without NUL, and no longer than is kept. */
export function cleanText(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  return text.slice(0, lengthMax).toWellFormed().replaceAll("\0", "");
}

/** The packed form: base64 of JSON, or of the older serialised map of texts. */
function unpacked(text: string): [string, string][] {
  const plain = Buffer.from(text, "base64").toString();
  return plain.startsWith("a:") ? serialisedMap(plain) : jsonEntries(plain);
}

function jsonEntries(text: string): [string, string][] {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([name, member]) =>
      ["string", "number", "boolean"].includes(typeof member)
        ? [[name, String(member)] as [string, string]]
        : [],
    );
  } catch {
    return []; // not JSON: left out like all that cannot be read
  }
}

function isJson(contentType = ""): boolean {
  return /^application\/json\b/i.test(contentType);
}
