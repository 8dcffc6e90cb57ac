import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Progress } from "@tidings/jobs/outcome";
import { SendState } from "./send-tables.ts";

interface Ledger {
  /** The table of the sends. */
  sends: "sends" | "text_sends";
}

/** SQL: the sends of a broadcast by state, as JSON. */
export const COUNTS = ({ sends }: Ledger, id: string) => `(select json_agg(c) from (
  select state, reason is not null as has_reason, count(*)::integer as count from ${sends} where broadcast_id = ${id} group by 1, 2) c)`;

/** The sends of a broadcast that have a state and, or have not, a reason. */
export interface Counted {
  state: string;
  has_reason: boolean;
  count: number;
}

/** Reads the JSON that `COUNTS` answers. */
export function countsIn(json: string | null | undefined): Counted[] {
  return JSON.parse(json ?? "null") ?? [];
}

/** States in which recipients may still be chosen: the number of all is not known. */
const CHOOSING = new Set(["choosing", "testing"]);
const OPEN = new Set<string>([SendState.WAITING, SendState.STARTED]);

/** The sends of a broadcast that are decided, out of those that were chosen. The row has its state, and its counts as `sends`. */
export function progressOf({ state, chosen, sends }: Row): Progress {
  const result: Record<string, number> = {};
  for (const counted of countsIn(sends))
    if (!OPEN.has(counted.state)) result[counted.state] = (result[counted.state] ?? 0) + counted.count;
  const done = Object.values(result).reduce((sum, count) => sum + count, 0);
  return { done, result, ...(!CHOOSING.has(state ?? "") && { total: Number(chosen) }) };
}

/** Reads how far broadcasts are, by their ids. */
export function progressReader(kind: Ledger) {
  const statement = prepared(
    `broadcasts_progress_${kind.sends}`,
    `select b.id, b.state, b.chosen, ${COUNTS(kind, "b.id")}::text as sends from broadcasts b where b.id = any($1::uuid[])`,
  );
  return async (database: Database, ids: string[], deadlineMs: number): Promise<Map<string, Progress>> => {
    const rows = await database.query(statement, [ids], deadlineMs);
    return new Map(rows.map((row) => [row.id ?? "", progressOf(row)]));
  };
}
