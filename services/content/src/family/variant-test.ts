import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import type { Reference } from "@tidings/proto/tidings/type/v1/reference";
import type { Changed } from "@tidings/resource/repository-options";
import { placeOf } from "@tidings/resource/resource";
import { snakeCase } from "@tidings/runtime/snake-case";

interface Tested extends Message {
  id: number;
  variantParent?: Reference | undefined;
  variantStartDate?: Timestamp | undefined;
}

/**
 * A test begins anew when one that takes part in it changes: what was counted for the variants, in `counters`, was counted for
 * something else (engines.md 6.8).
 */
export function restartTests<T extends Tested>(schema: DescMessage, counters: (keyof T & string)[]) {
  const { table } = placeOf(schema);
  const zero = counters.map((name) => `${snakeCase(name)} = 0`).join(", ");
  const statement = prepared(
    `${table}_restart_tests`,
    `with roots as (
       select distinct coalesce(variant_parent_id, id) as id from ${table}
       where id = any ($1::integer[]) and is_published
     ), tests as (select r.id from roots r where exists (select from ${table} c where c.variant_parent_id = r.id))
     update ${table} t set ${zero}, variant_start_date = date_trunc('second', now()) from tests
     where t.id = tests.id or t.variant_parent_id = tests.id
     returning t.id, t.variant_start_date`,
  );
  return async (transaction: Transaction, changes: Changed<T>[]): Promise<void> => {
    const saved = changes.flatMap(({ after }) => (after ? [after] : []));
    if (saved.length === 0) return;
    const rows = await transaction.query(statement, [saved.map(({ id }) => id)]);
    const startedAt = new Map(rows.map((row) => [Number(row.id), row.variant_start_date ?? ""]));
    for (const item of saved) {
      const text = startedAt.get(item.id);
      if (text === undefined) continue;
      item.variantStartDate = timestampFromText(text);
      for (const name of counters) (item as Record<string, unknown>)[name] = 0;
    }
  };
}
