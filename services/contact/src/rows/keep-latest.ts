import { prepared } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";

/** Deletes of the contacts `$1` all but the latest rows of a table: those that come first in `order`. Every argument is a constant of the program. */
export function keepLatest(table: string, order: string, kept: number): Statement {
  return prepared(
    `${table}_keep_latest`,
    `delete from ${table} t using (
       select id, row_number() over (partition by contact_id order by ${order}) as place from ${table}
       where contact_id = any ((select $1::integer[])::integer[])) old
     where t.id = old.id and old.place > ${kept}`,
  );
}
