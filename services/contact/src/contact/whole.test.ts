import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { callAs, contactBody, contactScene } from "../testing/contact-scene.ts";

/** Whatever table has a `contact_id`: what is in there goes with the contact, wherever that goes. */

let scene: Awaited<ReturnType<typeof contactScene>>;

before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

const query = (text: string) => queryAsSuperuser(scene.testDatabase, text);

async function addContact(): Promise<number> {
  const request = {
    $typeName: "tidings.contact.v1.CreateContactRequest" as const,
    contact: contactBody({ firstname: "Whole" }),
  };
  return (await scene.handlers.createContact(request, callAs())).contact?.id as number;
}

interface ColumnInfo {
  name: string;
  type: string;
}

async function tablesOfContacts(): Promise<Map<string, ColumnInfo[]>> {
  const rows = await query(
    `select c.table_name as table, json_agg(json_build_object('name', c.column_name, 'type', c.udt_name)) as columns
     from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'contact' and t.table_type = 'BASE TABLE' and c.is_identity = 'NO' and c.is_generated = 'NEVER'
       and c.table_name in (select table_name from information_schema.columns
         where table_schema = 'contact' and column_name = 'contact_id')
     group by c.table_name`,
  );
  return new Map(rows.map((row) => [String(row.table), row.columns as ColumnInfo[]]));
}

const VALUES: Record<string, string> = {
  text: "'x'",
  varchar: "'x'",
  bool: "false",
  json: "'{}'",
  jsonb: "'{}'",
  timestamptz: "now()",
  date: "now()",
  uuid: "gen_random_uuid()",
  bytea: "'x'",
  _text: "'{}'",
};

let unique = 1_000_000;

/** Puts a row of this contact into each table; references to other entities are not checked. */
async function fill(tables: Map<string, ColumnInfo[]>, contactId: number): Promise<void> {
  const inserts = [...tables].map(([table, columns]) => {
    const values = columns.map(({ name, type }) =>
      name === "contact_id" ? contactId : (VALUES[type] ?? String(++unique)),
    );
    const names = columns.map(({ name }) => `"${name}"`);
    return `insert into contact.${table} (${names.join(", ")}) values (${values.join(", ")})`;
  });
  await query(["set session_replication_role = replica", ...inserts].join(";\n"));
}

async function tablesThatName(tables: Map<string, ColumnInfo[]>, contactId: number): Promise<string[]> {
  const named: string[] = [];
  for (const table of tables.keys()) {
    const rows = await query(`select 1 from contact.${table} where contact_id = ${contactId}`);
    if (rows.length > 0) named.push(table);
  }
  return named.toSorted();
}

/** These follow from what the survivor is after the merge: its values, its companies, and what segments find in it. */
const DERIVED = new Set(["contact_identifiers", "company_contacts", "segment_contacts"]);

test("a merge moves what a contact has, and a deletion takes all of it", async () => {
  const tables = await tablesOfContacts();
  assert.ok(tables.size > 10);
  const [survivor, merged] = [await addContact(), await addContact()];
  await fill(tables, merged);
  const request = {
    $typeName: "tidings.contact.v1.MergeContactsRequest" as const,
    id: survivor,
    mergedId: merged,
  };
  await scene.handlers.mergeContacts(request, callAs());
  assert.deepEqual(await tablesThatName(tables, merged), []);
  const moved = [...tables.keys()].filter((table) => !DERIVED.has(table)).toSorted();
  const kept = (await tablesThatName(tables, survivor)).filter((table) => !DERIVED.has(table));
  assert.deepEqual(kept, moved);
  await scene.handlers.deleteContact(
    { $typeName: "tidings.contact.v1.DeleteContactRequest", id: survivor },
    callAs(),
  );
  assert.deepEqual(await tablesThatName(tables, survivor), []);
});
