import type { Readable } from "node:stream";
import type { Request, Response } from "express";
import { attachmentName, contentDisposition } from "../file/attachment-name.ts";
import { describeFile } from "../file/describe-file.ts";
import { requestedPart } from "../file/requested-part.ts";
import { sendBytes } from "../file/send-bytes.ts";
import type { ByteRange, FileStore } from "../file/store.ts";
import type { FoundAsset } from "./find-asset.ts";

/** `continued`: a part that does not begin with the first byte. */
export type FileOutcome = "sent" | "continued" | "unchanged" | "unsatisfiable" | "missing";

export interface SendFileOptions {
  asset: FoundAsset;
  store: FileStore;
  /** Shown in the browser, whatever the file is. */
  isInline: boolean;
  /** Records the download. The answer begins afterwards. */
  record(): Promise<void>;
}

/** Kinds that browsers show or play. */
const STREAMABLE = new Set(["gif", "jpg", "jpeg", "mpg", "mpeg", "mp3", "pdf", "png", "wav"]);

/** Sends the file of a local asset, or the part that is asked for. A file that the store has lost is `missing`, and nothing is answered. */
export async function sendFile(
  request: Request,
  response: Response,
  { asset, store, isInline, record }: SendFileOptions,
): Promise<FileOutcome> {
  const { file, size } = asset;
  const etag = etagOf(file);
  const part = requestedPart(request, { etag, size });
  if (part.status === 304 || part.status === 416) {
    setCaching(response, etag);
    if (part.status === 416) response.setHeader("content-range", `bytes */${size}`);
    response.status(part.status).end();
    return part.status === 304 ? "unchanged" : "unsatisfiable";
  }
  const isDownload = part.status === 200 || part.range.start === 0;
  const bytes = await store.open(file, part.range);
  if (!bytes) return "missing";
  if (isDownload) await recordWhileOpen(bytes, record);
  setCaching(response, etag);
  describePart(response, { asset, isInline, range: part.range });
  response.status(part.status);
  if (request.method === "HEAD") {
    bytes.destroy();
    response.end();
  } else await sendBytes(response, bytes);
  return isDownload ? "sent" : "continued";
}

/** A stored name stands for the same bytes for ever. */
function etagOf(file: string): string {
  return `"${file.split(".", 1)[0]}"`;
}

/** Closes the open file where the download could not be recorded. */
async function recordWhileOpen(bytes: Readable, record: () => Promise<void>): Promise<void> {
  // A store that fails meanwhile destroys the stream, which ends the answer when it is sent.
  bytes.on("error", () => undefined);
  try {
    await record();
  } catch (error) {
    bytes.destroy();
    throw error;
  }
}

/** The answer sets cookies and is counted: no shared cache keeps it, and a browser asks again. */
function setCaching(response: Response, etag: string): void {
  response.setHeader("etag", etag);
  response.setHeader("cache-control", "private, no-cache");
  response.setHeader("accept-ranges", "bytes");
}

function describePart(
  response: Response,
  { asset, isInline, range }: Pick<SendFileOptions, "asset" | "isInline"> & { range: ByteRange | undefined },
): void {
  const { title, extension, mime, size } = asset;
  const type = isInline || STREAMABLE.has(extension) ? "inline" : "attachment";
  const disposition = contentDisposition(type, attachmentName(title, extension));
  describeFile(response, { mime, disposition, length: range ? range.end - range.start + 1 : size });
  if (range) response.setHeader("content-range", `bytes ${range.start}-${range.end}/${size}`);
}
