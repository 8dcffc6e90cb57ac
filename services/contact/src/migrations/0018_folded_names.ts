import { folded } from "@tidings/runtime/folded";
import { type Kysely, sql } from "kysely";

const SLICE = 5_000;

/**
 * Names that identify are folded in one place, which is not the database (packages/runtime/src/folded.ts). A field that
 * every object seems to have gets another alias.
 */
export async function foldNames(db: Kysely<unknown>): Promise<void> {
  await sql`alter table companies add column name_key text`.execute(db);
  await fillNameKeys(db);
  await sql`create index companies_name_key on companies (name_key, id)`.execute(db);
  await sql`drop index companies_companyname`.execute(db);
  await refoldIdentifiers(db, "contact_identifiers");
  await refoldIdentifiers(db, "company_identifiers");
  await sql`alter table field_upkeep add column seen_at timestamptz`.execute(db);
  await sql`update fields set alias = 'f_constructor' where alias = 'constructor'`.execute(db);
  for (const table of ["contact_identifiers", "company_identifiers"])
    await sql`update ${sql.id(table)} set field = 'f_constructor' where field = 'constructor'`.execute(db);
}

async function fillNameKeys(db: Kysely<unknown>): Promise<void> {
  for (let position = 0; ; ) {
    const { rows } = await sql<{ id: number; companyname: string | null }>`
      select id, companyname from companies where id > ${position} order by id limit ${SLICE}`.execute(db);
    const last = rows.at(-1);
    if (!last) return;
    const named = rows.map(({ id, companyname }) => ({ id, key: companyname ? folded(companyname) : null }));
    await sql`
      update companies co set name_key = w.key from json_to_recordset(${JSON.stringify(named)}::json) as w (id integer, key text)
      where co.id = w.id`.execute(db);
    position = last.id;
  }
}

/** ASCII is folded alike everywhere. Where two are the same now, the first keeps the identifier. */
async function refoldIdentifiers(db: Kysely<unknown>, table: string): Promise<void> {
  const { rows } = await sql<{ field: string; value: string }>`
    select field, value from ${sql.id(table)} where value ~ '[^ -~]' order by field, value`.execute(db);
  for (const { field, value } of rows) {
    const key = folded(value);
    if (key === value) continue;
    const taken = sql`select 1 from ${sql.id(table)} where field = ${field} and value = ${key}`;
    await sql`
      delete from ${sql.id(table)} where field = ${field} and value = ${value} and exists (${taken})`.execute(
      db,
    );
    await sql`update ${sql.id(table)} set value = ${key} where field = ${field} and value = ${value}`.execute(
      db,
    );
  }
}
