import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { isOpen } from "../family/is-open.ts";

/** The file of an asset as mails have it. */
export interface AttachableFile {
  id: number;
  /** The name that readers see. */
  name: string;
  /** Its media type. */
  type: string;
  /** The name in the store. */
  file: string;
  size: number;
}

/** The assets of a mail: those that it can have, and why it cannot have the others. */
export interface Attachable {
  files: AttachableFile[];
  /** By the id of the asset, as the end of a sentence. */
  missing: ReadonlyMap<number, string>;
}

/** Larger mails are refused by most servers. */
export const ATTACHED_BYTES_MAX = 25 * 1024 * 1024;

const readStatement = prepared(
  "assets_attachable",
  `select a.id, a.title, a.storage_location, a.file, a.extension, a.mime, a.size, ${isOpen("a")} as is_open
   from assets a where a.id = any ($1::integer[])`,
);

/** Reads which of these assets a mail can have now (engines.md 6.11), each once, in the order of the ids. */
export async function attachableAssets({ query }: Queryable, ids: number[]): Promise<Attachable> {
  const asked = [...new Set(ids)];
  if (asked.length === 0) return { files: [], missing: new Map() };
  const rows = new Map((await query(readStatement, [asked])).map((row) => [Number(row.id), row]));
  const files: AttachableFile[] = [];
  const missing = new Map<number, string>();
  for (const id of asked) {
    const row = rows.get(id);
    if (!row) missing.set(id, "is gone");
    else if (row.is_open !== "t") missing.set(id, "is not published");
    else if (row.storage_location === "remote") missing.set(id, "is a file elsewhere on the web");
    else files.push(fileOf(row));
  }
  return { files, missing };
}

function fileOf(row: Readonly<Record<string, string | null>>): AttachableFile {
  const { title, extension, file, mime } = row;
  const name = title?.endsWith(`.${extension}`) ? title : `${title}.${extension}`;
  return {
    ...{ id: Number(row.id), name, size: Number(row.size ?? 0) },
    ...{ type: mime ?? "application/octet-stream", file: file ?? "" },
  };
}

/** Why a mail cannot have these assets; undefined where it can. */
export function attachmentProblem({ files, missing }: Attachable): string | undefined {
  const [first] = missing;
  if (first) return `Asset ${first[0]} ${first[1]}.`;
  return tooLarge(files);
}

/** The reason against files that are too large together; undefined where they are not. */
export function tooLarge(files: { size: number }[]): string | undefined {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (size <= ATTACHED_BYTES_MAX) return undefined;
  return `The attachments have ${size} bytes together: at most ${ATTACHED_BYTES_MAX} are supported.`;
}
