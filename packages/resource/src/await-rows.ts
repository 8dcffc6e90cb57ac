import { type Database, prepared } from "@tidings/database/database";

/**
 * Brings rows of a replica table that are not there yet from the service that owns them. Rows that the owner does not have
 * stay missing. Throws UNAVAILABLE when the owner cannot be asked.
 */
export interface AskOwner {
  byId(table: string, ids: number[], deadlineMs: number): Promise<void>;
  /** All that the owner made since the newest row. */
  newest(table: string, deadlineMs: number): Promise<void>;
}

/** By database, so that each look-up of a reference need not be handed what it almost never uses. */
const askers = new WeakMap<Database, AskOwner>();

/** Called once, when a service starts to replicate. */
export function askOwnersThrough(database: Database, asker: AskOwner): void {
  askers.set(database, asker);
}

/**
 * Makes sure that these rows of a replica table are there, if they exist: an entity that another service made a moment ago may not have been
 * replicated. Throws UNAVAILABLE when its owner cannot be asked.
 */
export async function awaitRows(
  database: Database,
  table: string,
  ids: number[],
  deadlineMs: number,
): Promise<void> {
  const wanted = [...new Set(ids)].filter((id) => id > 0);
  if (wanted.length === 0) return;
  const statement = prepared(
    `${table}_known`,
    `select id from ${table} where id = any (array(select unnest($1::integer[])))`,
  );
  const rows = await database.query(statement, [wanted], deadlineMs);
  const known = new Set(rows.map(({ id }) => Number(id)));
  const missing = wanted.filter((id) => !known.has(id));
  if (missing.length === 0) return;
  await database.outside(() => askers.get(database)?.byId(table, missing, deadlineMs));
}

/** The same for rows that are known by something else than their id. */
export async function awaitNewest(database: Database, table: string, deadlineMs: number): Promise<void> {
  await database.outside(() => askers.get(database)?.newest(table, deadlineMs));
}
