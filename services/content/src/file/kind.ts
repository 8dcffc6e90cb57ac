import { openAsBlob } from "node:fs";
import { open } from "node:fs/promises";
import { fileTypeFromBlob } from "file-type";
import { refused } from "./refused.ts";

/** The kinds of files that may be uploaded, by extension, and the media type that each is served as. */
const KINDS = new Map([
  ["csv", "text/csv"],
  ["doc", "application/msword"],
  ["docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  ["epub", "application/epub+zip"],
  ["gif", "image/gif"],
  ["jpeg", "image/jpeg"],
  ["jpg", "image/jpeg"],
  ["mp3", "audio/mpeg"],
  ["mpeg", "video/mpeg"],
  ["mpg", "video/mpeg"],
  ["odp", "application/vnd.oasis.opendocument.presentation"],
  ["ods", "application/vnd.oasis.opendocument.spreadsheet"],
  ["odt", "application/vnd.oasis.opendocument.text"],
  ["pdf", "application/pdf"],
  ["png", "image/png"],
  ["ppt", "application/vnd.ms-powerpoint"],
  ["pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
  ["tif", "image/tiff"],
  ["tiff", "image/tiff"],
  ["txt", "text/plain"],
  ["wav", "audio/wav"],
  ["xls", "application/vnd.ms-excel"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
]);

/** Kinds that differ in their extension alone: one container, three programs. */
const IN_COMPOUND_FILES = new Set(["doc", "ppt", "xls"]);
const TEXTS = new Set(["csv", "txt"]);
/** Other words for the same. */
const SYNONYMS = new Map([["apng", "png"]]);

/** Bytes that a browser makes a page of, whatever their media type. */
const MARKUP =
  /<(?:!doctype|\?php|\?xml|html|head|body|script|svg|iframe|object|embed|style|link|meta|title|form|img|a|h1|div)[\s>/]|<!--|<\?=/i;
const SCRIPT_START = /^\s{0,64}#!/;
const HEAD_BYTES = 64 * 1024;

/** The extensions of files that may be uploaded. */
export const UPLOAD_EXTENSIONS = [...KINDS.keys()];

/** The media type of files with this extension; undefined for an extension that cannot be uploaded. */
export function mimeOf(extension: string): string | undefined {
  return KINDS.get(extension);
}

/** The part of a name behind its last dot, if it looks like an extension. */
export function extensionOf(name: string): string | undefined {
  const dot = name.lastIndexOf(".");
  const extension = dot < 0 ? "" : name.slice(dot + 1).toLowerCase();
  return extension.length <= 10 && /^[a-z0-9]+$/.test(extension) ? extension : undefined;
}

/**
 * The extension of the file at `path` by what is in it. A kind that its bytes do not show (text, older office files) has the one
 * it was sent with. Throws UPLOAD_REFUSED for everything that is not on the list, and for markup and scripts by any name.
 */
export async function extensionByContent(path: string, sentName: string): Promise<string> {
  const sent = extensionOf(sentName) ?? "";
  const found = await fileTypeFromBlob(await openAsBlob(path));
  const extension = found ? knownExtension(found.ext, sent) : await textExtension(path, sent);
  if (extension === undefined || !KINDS.has(extension))
    throw refused(`The uploaded file can have only these extensions: ${UPLOAD_EXTENSIONS.join(", ")}.`);
  return extension;
}

function knownExtension(found: string, sent: string): string | undefined {
  if (found === "cfb") return IN_COMPOUND_FILES.has(sent) ? sent : undefined;
  return SYNONYMS.get(found) ?? found;
}

async function textExtension(path: string, sent: string): Promise<string | undefined> {
  return TEXTS.has(sent) && (await isPlainText(path)) ? sent : undefined;
}

/** Is it text throughout, which begins like no page and no script? */
export async function isPlainText(path: string): Promise<boolean> {
  const handle = await open(path);
  let isHead = true;
  try {
    for await (const chunk of handle.createReadStream({ autoClose: false, highWaterMark: HEAD_BYTES })) {
      const bytes = chunk as Buffer;
      if (bytes.includes(0)) return false;
      if (isHead && isMarkup(bytes.toString("latin1"))) return false;
      isHead = false;
    }
    return true;
  } finally {
    await handle.close();
  }
}

function isMarkup(head: string): boolean {
  return SCRIPT_START.test(head) || MARKUP.test(head);
}
