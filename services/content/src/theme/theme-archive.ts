import type { Readable } from "node:stream";
import { badRequest, Fault } from "@tidings/rpc/fault";
import { type Entry, fromBufferPromise, openPromise, type ZipFile } from "yauzl";
import { parseThemeConfig, type ThemeConfig } from "./theme-config.ts";

const ENTRIES_MAX = 500;
const ENTRY_BYTES_MAX = 5 * 1024 * 1024;
const ARCHIVE_BYTES_MAX = 20 * 1024 * 1024;
const CONFIG_BYTES_MAX = 64 * 1024;
/** Text shrinks to a twentieth; what shrinks to less is made to be large. */
const RATIO_MAX = 100;
const NAME = /^(?:[A-Za-z0-9_ -][A-Za-z0-9_. -]{0,99}\/){0,5}(?:[A-Za-z0-9_ -][A-Za-z0-9_. -]{0,99})?$/;
const EXTENSION = /\.(?:html|twig|json|css|txt|md|png|jpe?g|gif|webp|woff2?|ttf)$/i;
/** The bits of a Unix mode with the type of a file (POSIX, sys/stat.h), and a plain one, a folder, or nothing said. */
const TYPE_BITS = 0o170000;
const PLAIN_TYPES = new Set([0o100000, 0o040000, 0]);
const DOS_ENCRYPTED = 0x1;

/**
 * Reads a theme from the archive at `path` to its end, within limits, and answers what it says of itself. Nothing of it is
 * written anywhere. Throws BAD_REQUEST for everything that is no theme.
 */
export async function readTheme(path: string): Promise<ThemeConfig> {
  try {
    const archive = await openPromise(path, { strictFileNames: true });
    try {
      return await readEntries(archive);
    } finally {
      archive.close();
    }
  } catch (error) {
    throw error instanceof Fault ? error : badRequest("The archive of the theme is broken.");
  }
}

/** A text of an archive that was taken as a theme; undefined where it has none of this name. */
export async function readThemeFile(bytes: Readable, name: string): Promise<string | undefined> {
  const archive = await fromBufferPromise(await bytesOf(bytes, ARCHIVE_BYTES_MAX), { strictFileNames: true });
  try {
    for await (const entry of archive.eachEntry()) {
      if (entry.fileName !== name || entry.uncompressedSize > ENTRY_BYTES_MAX) continue;
      return (await bytesOf(await archive.openReadStreamPromise(entry), ENTRY_BYTES_MAX)).toString();
    }
    return undefined;
  } finally {
    archive.close();
  }
}

async function bytesOf(stream: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += (chunk as Buffer).length;
    if (length > bytesMax) throw new Error("a file of a theme is longer than it was");
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

async function readEntries(archive: ZipFile): Promise<ThemeConfig> {
  if (archive.entryCount > ENTRIES_MAX) throw badRequest(`A theme may have ${ENTRIES_MAX} files.`);
  const names = new Set<string>();
  let bytes = 0;
  let config: ThemeConfig | undefined;
  for await (const entry of archive.eachEntry()) {
    checkEntry(entry);
    if (names.has(entry.fileName)) throw badRequest("A file of the theme is there twice.");
    names.add(entry.fileName);
    bytes += entry.uncompressedSize;
    if (bytes > ARCHIVE_BYTES_MAX) throw badRequest("The theme is too large.");
    const content = entry.fileName.endsWith("/") ? undefined : await read(archive, entry);
    if (entry.fileName === "config.json" && content) config = parseThemeConfig(content);
  }
  if (!config) throw badRequest("The theme has no config.json.");
  const missing = config.features.find((feature) => !hasTemplate(names, feature));
  if (missing) throw badRequest(`The theme has no html/${missing}.html.`);
  return config;
}

function checkEntry(entry: Entry): void {
  const { fileName, uncompressedSize, compressedSize, externalFileAttributes, generalPurposeBitFlag } = entry;
  const isFolder = fileName.endsWith("/");
  if (fileName.length > 255 || !NAME.test(fileName)) throw badRequest("A name in the theme is not valid.");
  if (!isFolder && !EXTENSION.test(fileName))
    throw badRequest("A file of the theme is of a kind that is not taken.");
  if (!PLAIN_TYPES.has((externalFileAttributes >>> 16) & TYPE_BITS))
    throw badRequest("A theme has nothing but files and folders.");
  if (generalPurposeBitFlag & DOS_ENCRYPTED) throw badRequest("The theme is encrypted.");
  const isBomb = uncompressedSize > 10_000 && uncompressedSize > compressedSize * RATIO_MAX;
  if (uncompressedSize > ENTRY_BYTES_MAX || isBomb) throw badRequest("A file of the theme is too large.");
}

/** The content of the configuration; of all others it is only seen that they are whole, and as long as they say. */
async function read(archive: ZipFile, entry: Entry): Promise<Buffer | undefined> {
  const isConfig = entry.fileName === "config.json";
  if (isConfig && entry.uncompressedSize > CONFIG_BYTES_MAX)
    throw badRequest("The config.json is too large.");
  const stream: Readable = await archive.openReadStreamPromise(entry);
  const chunks: Buffer[] = [];
  for await (const chunk of stream) if (isConfig) chunks.push(chunk as Buffer);
  return isConfig ? Buffer.concat(chunks) : undefined;
}

function hasTemplate(names: Set<string>, feature: string): boolean {
  return names.has(`html/${feature}.html`) || names.has(`html/${feature}.html.twig`);
}
