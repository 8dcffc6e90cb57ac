import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";

const ROWS_MAX = 500;

/**
 * Finds rows by their ids. Calls at the same time ask once: a mail that goes to many readers has the same links for each. `statement`
 * takes the ids and answers rows with their `id`.
 */
export function rowFinder(
  database: Database,
  statement: Statement,
): (id: number) => Promise<Row | undefined> {
  const find = coalesce(
    async (ids: number[]) => {
      const rows = await database.query(statement, [[...new Set(ids)]], backgroundDeadline());
      return new Map(rows.map((row) => [Number(row.id), row]));
    },
    { itemsMax: ROWS_MAX },
  );
  return async (id) => (await find("", id)).get(id);
}
