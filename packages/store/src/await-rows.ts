import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "./database.ts";

/** What a neighbour made a moment ago is on the way to us. */
const WAITS_MS = [50, 100, 200, 400];
/** Only what was made of late can be: so far the ids of what arrives are from the newest we know. */
const BEFORE_NEWEST_MAX = 10_000;
const AFTER_NEWEST_MAX = 1_000_000;

/**
 * Waits for rows of a projection that are not there yet and may be on their way, for less than a second. Nothing is said of
 * those that do not come.
 */
export async function awaitRows(
  database: Database,
  table: string,
  ids: number[],
  deadlineMs: number,
): Promise<void> {
  const wanted = [...new Set(ids)].filter((id) => id > 0);
  if (wanted.length === 0) return;
  const name = `${table}_known`;
  const text = `select coalesce(max(id), 0) as id, true as is_newest from ${table}
    union all select id, false from ${table} where id = any (array(select unnest($1::integer[])))`;
  for (const waitMs of WAITS_MS) {
    const rows = await database.query({ name, text }, [wanted], deadlineMs);
    const newest = Number(rows.find(({ is_newest }) => is_newest === "t")?.id);
    const known = new Set(rows.filter(({ is_newest }) => is_newest === "f").map(({ id }) => Number(id)));
    const isOnItsWay = (id: number) => id > newest - BEFORE_NEWEST_MAX && id < newest + AFTER_NEWEST_MAX;
    if (!wanted.some((id) => !known.has(id) && isOnItsWay(id))) return;
    await pause(waitMs);
  }
}
