import { setTimeout as pause } from "node:timers/promises";
import type { Database } from "./database.ts";

/** What a neighbour made a moment ago is on the way to us. */
const WAITS_MS = [50, 100, 200, 400];

/** Waits for rows of a projection that are not there yet, for less than a second. Nothing is said of those that do not come. */
export async function awaitRows(
  database: Database,
  table: string,
  ids: number[],
  deadlineMs: number,
): Promise<void> {
  const wanted = [...new Set(ids)].filter((id) => id > 0);
  if (wanted.length === 0) return;
  const name = `${table}_known`;
  const text = `select id from ${table} where id = any (array(select unnest($1::integer[])))`;
  for (const waitMs of WAITS_MS) {
    const known = await database.query({ name, text }, [wanted], deadlineMs);
    if (known.length === wanted.length) return;
    await pause(waitMs);
  }
}
