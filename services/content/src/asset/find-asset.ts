import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { isOpen } from "../family/is-open.ts";

/** An asset as visitors get it. */
export interface FoundAsset {
  id: number;
  alias: string;
  title: string;
  /** Published, now. */
  isOpen: boolean;
  isRemote: boolean;
  /** The name in the store, or the address of a remote one. */
  file: string;
  extension: string;
  mime: string;
  size: number;
  /** Search engines are asked to stay away. */
  disallow: boolean;
}

const findStatement = prepared(
  "assets_find",
  `select a.alias, a.title, a.storage_location, a.file, a.extension, a.mime, a.size, a.disallow, ${isOpen("a")} as is_open
   from assets a where a.id = $1`,
);
const ID_MAX = 2 ** 31 - 1;
const PATH = /^\/asset\/(\d{1,10})(?::[^/]*)?$/;

/** The asset that a path names by its id, whatever alias the path has; undefined when there is none. */
export async function findAsset(database: Database, path: string): Promise<FoundAsset | undefined> {
  const id = Number(PATH.exec(path)?.[1] ?? 0);
  if (id < 1 || id > ID_MAX) return undefined;
  const [row] = await database.query(findStatement, [id], backgroundDeadline());
  if (!row) return undefined;
  return {
    id,
    alias: row.alias ?? "",
    title: row.title ?? "",
    isOpen: row.is_open === "t",
    isRemote: row.storage_location === "remote",
    file: row.file ?? "",
    extension: row.extension ?? "",
    mime: row.mime ?? "application/octet-stream",
    size: Number(row.size ?? 0),
    disallow: row.disallow === "t",
  };
}
