import { prepared } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";

/** A statement that takes ids ($1) out of the lists of them in a column of references. */
export function forgetIn(table: string, column: string): Statement {
  return prepared(
    `${table}_forget_${column}`,
    `update ${table} t set ${column} = (
       select coalesce(jsonb_agg(e.id order by e.position), '[]')
       from jsonb_array_elements(t.${column}) with ordinality as e (id, position)
       where e.id::integer <> all ($1::integer[]))
     where exists (select from unnest($1::integer[]) as g (id) where t.${column} @> to_jsonb(g.id))`,
  );
}
