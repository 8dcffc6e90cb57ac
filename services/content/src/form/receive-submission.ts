import type { IncomingMessage } from "node:http";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { JsonObject } from "@tidings/resource/json-member";
import { badRequest, Code, Fault } from "@tidings/rpc/fault";
import { multipartBoundary } from "@tidings/runtime/multipart-boundary";
import { cleanText } from "../visit/parameters.ts";
import { readBody } from "../web/read-body.ts";
import { openQuarantine, type Quarantine, type ReceivedFile } from "./quarantine.ts";
import { SHOWN_AT } from "./showing.ts";
import { TRAP } from "./suspicion.ts";

/** A form as it was filled in and sent, before anything of it is judged. */
export interface ReceivedForm {
  /** Members of the form that are no fields: `formId`, `return`, `messenger`, ... */
  members: ReadonlyMap<string, string>;
  /** Parameters that came beside the form: the id of the device, consent. */
  parameters: ReadonlyMap<string, string>;
  /** Values by alias: a text, a list of texts, or the name and size of a file. */
  values: JsonObject;
  /** The first file of each alias. */
  files: ReadonlyMap<string, ReceivedFile>;
}

export interface ReceiveOptions {
  /** The bytes of a body with all of its files. */
  bytesMax: number;
  /** The name of the landing page's id. */
  pageMember: string;
  /** A folder of this machine, where files lie until the submission is taken. */
  arrivals: string;
}

const FIELDS_MAX = 1_000;
const TEXT_BYTES_MAX = 256 * 1024;
const PARTS_MAX = 1_200;
const FILES_MAX = 50;
const FILE_NAME_LENGTH_MAX = 255;
/** `svcform[alias]`, `svcform[alias][]`, under whatever word a site has it. */
const NAME = /^[a-z0-9_]{0,40}form\[([a-z0-9_-]{1,191})\](\[[^[\]]{0,191}\])?$/i;
const PARAMETER = /^[a-z_]{1,40}$/;
const MEMBERS = new Set(["formid", "formname", "return", "messenger", "submissionkey", SHOWN_AT, TRAP]);
const MULTIPART = /^multipart\/form-data\s{0,8}(?:;|$)/i;

/**
 * Reads the body of a submission: a form, with or without files (RFC 7578), and hands it to `take`. Its files are removed afterwards,
 * whatever happens. Throws BODY_TOO_LARGE above `bytesMax`, BAD_REQUEST for a body that is none.
 */
export async function withReceivedForm<T>(
  request: IncomingMessage,
  options: ReceiveOptions,
  take: (received: ReceivedForm) => Promise<T>,
): Promise<T> {
  const quarantine = openQuarantine(options.arrivals);
  try {
    return await take(await receiveForm(request, options, quarantine));
  } finally {
    await quarantine.clear();
  }
}

async function receiveForm(
  request: IncomingMessage,
  { bytesMax, pageMember }: ReceiveOptions,
  quarantine: Quarantine,
): Promise<ReceivedForm> {
  const { "content-type": type = "", "content-length": length = "0" } = request.headers;
  if (Number(length) > bytesMax) throw tooLarge();
  const parts: Part[] = MULTIPART.test(type)
    ? await multipartOf(request, { contentType: type, bytesMax, quarantine })
    : [...new URLSearchParams(await textOf(request, Math.min(bytesMax, TEXT_BYTES_MAX)))];
  if (parts.length > FIELDS_MAX) throw badRequest("The form has too many fields.");
  const members = new Map<string, string>();
  const parameters = new Map<string, string>();
  const values = new Map<string, unknown>();
  const files = new Map<string, ReceivedFile>();
  for (const [name, value, file] of parts) {
    const [, alias = "", list] = NAME.exec(name) ?? [];
    if (alias === "") {
      if (typeof value === "string" && PARAMETER.test(name)) parameters.set(name, cleanText(value));
      continue;
    }
    if (file && !files.has(alias)) files.set(alias, file);
    const word = alias.toLowerCase();
    if (typeof value === "string" && (MEMBERS.has(word) || alias === pageMember))
      members.set(word, cleanText(value));
    else if (list === undefined && !values.has(alias)) values.set(alias, value);
    else values.set(alias, [...[values.get(alias) ?? []].flat(), value]);
  }
  return { members, parameters, values: Object.fromEntries(values), files };
}

function tooManyParts(): Fault {
  return badRequest("The form has too many parts.");
}

function tooLarge(): Fault {
  return new Fault({
    code: Code.INVALID_ARGUMENT,
    reason: "BODY_TOO_LARGE",
    message: "The form is too long.",
  });
}

async function textOf(request: IncomingMessage, bytesMax: number): Promise<string> {
  const { text, isCut } = await readBody(request, bytesMax);
  if (isCut) throw tooLarge();
  return text;
}

type Part = [name: string, value: string | { name: string; size: number }, file?: ReceivedFile];

interface MultipartOptions extends Pick<ReceiveOptions, "bytesMax"> {
  contentType: string;
  quarantine: Quarantine;
}

async function multipartOf(
  request: IncomingMessage,
  { contentType, bytesMax, quarantine }: MultipartOptions,
): Promise<Part[]> {
  const boundary = multipartBoundary(contentType);
  if (!boundary) throw badRequest("The form could not be read.");
  const parser = openParser(boundary.contentType, bytesMax);
  const { promise, resolve, reject } = Promise.withResolvers<Part[]>();
  const parts: (Part | Promise<Part>)[] = [];
  let length = 0;
  /** Refuses the body before these octets are parsed: the parser gets them after this listener. */
  const refuse = (fault: Fault) => {
    parser.destroy();
    reject(fault);
  };
  parser.on("field", (name, value, isNameCut, isCut) => {
    if (isNameCut || isCut) reject(tooLarge());
    parts.push([name, value]);
  });
  parser.on("file", (name, stream, filename) => {
    stream.once("limit", () => reject(tooLarge()));
    stream.once("error", reject);
    // An input for a file that was left empty sends one without a name.
    if (!filename) return void stream.resume();
    const kept = quarantine.add(stream).then((file): Part => {
      return [name, { name: cleanText(filename.slice(-FILE_NAME_LENGTH_MAX)), size: file.size }, file];
    });
    kept.catch(reject);
    parts.push(kept);
  });
  for (const limit of ["fieldsLimit", "filesLimit", "partsLimit"] as const)
    parser.once(limit, () => reject(tooManyParts()));
  parser.once("error", () => reject(badRequest("The form could not be read.")));
  parser.once("finish", () => resolve(Promise.all(parts)));
  request.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > bytesMax) refuse(tooLarge());
    if (boundary.count(chunk) > PARTS_MAX) refuse(tooManyParts());
  });
  request.once("close", () => {
    if (!request.complete) reject(badRequest("The body ended early."));
  });
  request.pipe(parser);
  return promise.finally(() => {
    request.unpipe(parser);
    request.resume();
    parser.destroy();
  });
}

function openParser(contentType: string, bytesMax: number): BusboyInstance {
  const limits = {
    fieldNameSize: 300,
    fieldSize: TEXT_BYTES_MAX,
    fields: FIELDS_MAX,
    files: FILES_MAX,
    fileSize: bytesMax,
    parts: PARTS_MAX,
    headerPairs: 20,
  };
  return new Busboy({ headers: { "content-type": contentType }, limits });
}
