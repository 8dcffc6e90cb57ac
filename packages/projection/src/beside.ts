import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";

/**
 * SQL of a migration, in a schema with projections: rows of projections that are built beside the live ones. `begin_projection_beside(of)` begins
 * such a build: for an operator who doubts a replica, and for a migration that gives it another column.
 */
export const PROJECTIONS_BESIDE = [
  `alter table projection_builds add column position jsonb, add column is_beside boolean not null default false,
    add column rows_read bigint not null default 0, add column started_at timestamptz not null default now()`,
  `create table projected_beside (
    name text not null,
    -- The key of an entity or a fact.
    id text not null,
    version integer not null,
    -- Null when the entity is deleted.
    row jsonb,
    primary key (name, id)
  )`,
  `create function begin_projection_beside(of text) returns void language sql set search_path from current as $$
    delete from projected_beside where name = of;
    update projection_builds set is_beside = true, after_id = 0, position = null, rows_read = 0, done_at = null, started_at = now()
    where name = of
  $$`,
];

/** A row as it is built; `row` is null for a deleted entity. */
export interface BesideRow {
  id: string;
  version: number;
  row: object | null;
}

const openStatement = prepared(
  "projections_beside_open",
  // The lock lets the switch wait for batches that go into both, and these for the switch.
  "select name from projection_builds where is_beside and done_at is null for share",
);

/** The projections that are being built beside the live ones. They stay so until the transaction ends. */
export async function openBeside(transaction: Transaction): Promise<Set<string>> {
  const rows = await transaction.query(openStatement);
  return new Set(rows.map(({ name }) => name ?? ""));
}

const keepStatement = prepared(
  "projected_beside_keep",
  `insert into projected_beside (name, id, version, row)
   select distinct on (x.id) $1, x.id, x.version, nullif(x.row, 'null') from json_to_recordset($2::json) as x (id text, version integer, row jsonb)
   order by x.id, x.version desc
   on conflict (name, id) do update set version = excluded.version, row = excluded.row
   where projected_beside.version < excluded.version`,
);

/** Keeps rows of a build, each in its highest version. */
export function keepBeside(transaction: Transaction, name: string, rows: BesideRow[]): void {
  if (rows.length > 0) transaction.execute(keepStatement, [name, JSON.stringify(rows)]);
}

const claimStatement = prepared(
  "projection_beside_claim",
  `update projection_builds set done_at = now(), is_beside = false
   where name = $1 and is_beside and done_at is null returning name`,
);
const forgetStatement = prepared("projected_beside_forget", "delete from projected_beside where name = $1");

/**
 * Replaces the live rows by those that were built, in one transaction with the end of the build. `replace` writes them from
 * `projected_beside`. Returns what it returns; nothing when another replica was first.
 */
export async function switchBeside(
  transaction: Transaction,
  name: string,
  replace: (transaction: Transaction) => Promise<Row[]>,
): Promise<Row[]> {
  // Waits for batches that go into both.
  const claimed = await transaction.query(claimStatement, [name]);
  if (claimed.length === 0) return [];
  const rows = await replace(transaction);
  transaction.execute(forgetStatement, [name]);
  return rows;
}
