import { prepared, type Transaction } from "@tidings/store/database";

/** Takes ids out of a list of them, wherever they are. */
function forgetIn(table: string, column: string) {
  return prepared(
    `${table}_forget_${column}`,
    `update ${table} t set ${column} = (
       select coalesce(jsonb_agg(e.id order by e.position), '[]')
       from jsonb_array_elements(t.${column}) with ordinality as e (id, position)
       where e.id::integer <> all ($1::integer[]))
     where exists (select from unnest($1::integer[]) as g (id) where t.${column} @> to_jsonb(g.id))`,
  );
}

const segmentStatements = [forgetIn("emails", "lists"), forgetIn("smses", "lists")];
const assetStatement = forgetIn("emails", "asset_attachments");

/** Segments that are gone are sent nothing. */
export function forgetSegments(transaction: Transaction, ids: number[]): void {
  for (const statement of segmentStatements) transaction.execute(statement, [ids]);
}

/** Files that are gone are attached to nothing. */
export function forgetAssets(transaction: Transaction, ids: number[]): void {
  transaction.execute(assetStatement, [ids]);
}
