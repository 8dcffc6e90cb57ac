import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import { cleanAlias } from "@tidings/resource/alias";
import type { Actor } from "@tidings/rpc/actor";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { type Arrived, withArrival } from "../file/arrival.ts";
import { removeStored } from "../file/files.ts";
import { keepBytes } from "../file/keep-bytes.ts";
import type { Saved, SaveOnce } from "../file/save-once.ts";
import type { FileStore } from "../file/store.ts";
import { newStoredName } from "../file/stored-name.ts";
import { zipDefaultTheme } from "./default-themes.ts";
import { THEMES_MAX } from "./theme.ts";
import { readTheme } from "./theme-archive.ts";
import type { ThemeConfig } from "./theme-config.ts";

export interface ThemeContext {
  database: Database;
  store: FileStore;
  arrivals: string;
  defaults: Map<string, ThemeConfig>;
}

const BYTES_MAX = 10 * 1024 * 1024;

const themesLock = advisoryLock("themes");
const countStatement = prepared(
  "themes_count",
  `select (select file from themes where key = $1) as file, (select count(*) from themes where key <> $1) as others`,
);
const saveStatement = prepared(
  "themes_save",
  `insert into themes (key, name, author, author_url, features, file, size, created_by)
   values ($1, $2, $3, $4, $5::jsonb, $6, $7::integer, $8::integer)
   on conflict (key) do update set name = excluded.name, author = excluded.author, author_url = excluded.author_url,
     features = excluded.features, file = excluded.file, size = excluded.size, created_by = excluded.created_by`,
);
const fileStatement = prepared("themes_file", "select file from themes where key = $1");

/** Takes a theme under the name of its archive, in place of an uploaded one of that name. Throws a Fault for what is none. */
export function uploadTheme(
  context: ThemeContext,
  request: IncomingMessage,
  { actor, saveOnce }: { actor: Actor; saveOnce: SaveOnce },
): Promise<Saved> {
  const arriving = { request, folder: context.arrivals, bytesMax: BYTES_MAX, missing: badRequest };
  return withArrival(arriving, async (arrived) => {
    const key = keyOf(arrived);
    if (context.defaults.has(key))
      throw badRequest("A theme that comes with the product cannot be replaced. Name the archive otherwise.");
    const config = await readTheme(arrived.path);
    const file = newStoredName("zip");
    return keepBytes(context.store, { name: file, path: arrived.path }, () =>
      saveOnce(arrived, async () => {
        await save(context.database, { key, file, config, size: arrived.size, actor });
        return "{}";
      }),
    );
  });
}

/** The archive of a theme. Throws NOT_FOUND when there is none of this key. */
export async function openTheme({ database, store, defaults }: ThemeContext, key: string): Promise<Readable> {
  if (defaults.has(key)) return zipDefaultTheme(key);
  const [row] = await database.query(fileStatement, [key], backgroundDeadline());
  const archive = row?.file ? await store.open(row.file) : undefined;
  if (!archive) throw notFound("There is no such theme.");
  return archive;
}

function keyOf({ part, name }: Arrived): string {
  if (part !== "file") throw badRequest("The theme is to be sent as the part named file.");
  if (!name.toLowerCase().endsWith(".zip")) throw badRequest("A theme is a zip archive.");
  return cleanAlias(name.slice(0, -".zip".length), "theme", { keepsUnderscores: true });
}

interface NewTheme {
  key: string;
  file: string;
  config: ThemeConfig;
  size: number;
  actor: Actor;
}

async function save(database: Database, { key, file, config, size, actor }: NewTheme): Promise<void> {
  const { name, author = null, authorUrl = null, features } = config;
  const values = [key, name, author, authorUrl, JSON.stringify(features), file, size, actor.id];
  await database.transaction(backgroundDeadline(), async (transaction) => {
    themesLock.exclusive(transaction);
    const [known] = await transaction.query(countStatement, [key]);
    if (Number(known?.others) >= THEMES_MAX) throw badRequest(`At most ${THEMES_MAX} themes are kept.`);
    if (known?.file) removeStored(transaction, [known.file]);
    transaction.execute(saveStatement, values);
  });
}
