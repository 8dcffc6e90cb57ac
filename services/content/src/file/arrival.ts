import { randomUUID } from "node:crypto";
import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { badRequest, type Fault } from "@tidings/rpc/fault";
import { type MultipartBoundary, multipartBoundary } from "@tidings/runtime/multipart-boundary";
import { tooLarge } from "./refused.ts";

/** An upload that is complete and lies in a file of its own. */
export interface Arrived {
  path: string;
  /** The name that its sender gave it. */
  name: string;
  size: number;
  /** The name of the part in the form. */
  part: string;
}

export interface ArrivalOptions {
  request: IncomingMessage;
  /** Where it lies until it is taken. */
  folder: string;
  bytesMax: number;
  /** The fault when there is no file. */
  missing(message: string): Fault;
}

/** The bytes of a form besides its file. */
const AROUND_MAX = 64 * 1024;
const MISSING = "File was not found in the request.";
const PARTS_MAX = 20;
const NAME_MAX = 255;
const MULTIPART = /^multipart\/form-data\s{0,8}(?:;|$)/i;

/**
 * Receives the one file of a multipart/form-data body (RFC 7578), hands it to `take`, and leaves nothing behind, whatever
 * happens. Throws a Fault for everything that is not exactly one complete file with a name; the rest of such a body is read away
 * by Node.
 */
export async function withArrival<T>(
  options: ArrivalOptions,
  take: (arrived: Arrived) => Promise<T>,
): Promise<T> {
  const { request, folder, bytesMax, missing } = options;
  const { "content-type": contentType = "" } = request.headers;
  if (!MULTIPART.test(contentType)) throw missing(MISSING);
  if (Number(request.headers["content-length"] ?? 0) > bytesMax + AROUND_MAX) throw tooLarge(bytesMax);
  const boundary = multipartBoundary(contentType);
  if (!boundary) throw badRequest("The content type names no boundary.");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomUUID());
  try {
    return await take({ path, ...(await arrival(options, boundary, path)) });
  } finally {
    await rm(path, { force: true });
  }
}

function arrival(
  { request, bytesMax, missing }: ArrivalOptions,
  boundary: MultipartBoundary,
  path: string,
): Promise<Omit<Arrived, "path">> {
  const parser = openParser(boundary.contentType, bytesMax);
  let bytes = 0;
  let isRefused = false;
  let file:
    | { part: string; name: string; stream: Readable; target: WriteStream; written: Promise<void> }
    | undefined;
  return new Promise<Omit<Arrived, "path">>((resolve, reject) => {
    const refuse = (fault: Fault) => {
      if (isRefused) return;
      isRefused = true;
      request.unpipe(parser).resume();
      if (!file) return reject(fault);
      file.stream.destroy();
      // Nothing is written any more when the file is taken away.
      if (file.target.closed) return reject(fault);
      file.target.once("close", () => reject(fault)).destroy();
    };
    parser.on("file", (part, stream, name) => {
      const fault = file ? badRequest("One file is taken at a time.") : checkName(name);
      if (fault) {
        stream.on("error", () => undefined).resume();
        return refuse(fault);
      }
      stream.on("limit", () => refuse(tooLarge(bytesMax)));
      const target = createWriteStream(path, { flags: "wx", mode: 0o600 });
      file = { part, name, stream, target, written: pipeline(stream, target) };
      file.written.catch((error) => isRefused || reject(error));
    });
    for (const limit of ["partsLimit", "fieldsLimit", "filesLimit"] as const)
      parser.on(limit, () => refuse(tooManyParts()));
    parser.on("error", () =>
      refuse(file ? badRequest("The body is not valid multipart/form-data.") : missing(MISSING)),
    );
    parser.on("finish", () => {
      if (!file) return reject(missing(MISSING));
      const { part, name, target, written } = file;
      const accept = (size: number) =>
        size > 0 ? resolve({ part, name, size }) : reject(badRequest("The file is empty."));
      written.then(() => accept(target.bytesWritten), reject);
    });
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax + AROUND_MAX) refuse(tooLarge(bytesMax));
      if (boundary.count(chunk) > PARTS_MAX) refuse(tooManyParts());
    });
    const leave = () => {
      if (!request.complete) refuse(badRequest("The body ended early."));
    };
    if (request.destroyed) return leave();
    request.on("close", leave);
    request.pipe(parser);
  });
}

function openParser(contentType: string, bytesMax: number): BusboyInstance {
  return new Busboy({
    headers: { "content-type": contentType },
    preservePath: true,
    // One more of each than is allowed, so that the excess is noticed.
    limits: { files: 2, fields: PARTS_MAX, parts: PARTS_MAX, fileSize: bytesMax, fieldSize: 1_024 },
  });
}

function tooManyParts(): Fault {
  return badRequest("The form has too many parts.");
}

/** A name is kept nowhere and leads nowhere; one that tries to is a mistake or worse. */
function checkName(name: string | undefined): Fault | undefined {
  if (name === undefined || name === "") return badRequest("The file has no name.");
  const isPlain = ![...name].some((character) => character < " " || character === "\u007f");
  const isShort = name.length <= NAME_MAX;
  return isPlain && isShort && !/[/\\]/.test(name)
    ? undefined
    : badRequest("The name of the file is not valid.");
}
