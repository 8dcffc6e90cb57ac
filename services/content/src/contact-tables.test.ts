import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { type Database, openDatabase } from "@tidings/database/database";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { contactFateJobs, contactFates } from "@tidings/projection/contact-fate-jobs";
import { project } from "@tidings/projection/projecting";
import { ContactDeletedSchema, ContactMergedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { SETS_OF_CONTACTS, TABLES_OF_CONTACTS } from "./contact-tables.ts";
import { addressDigest } from "./form/spam.ts";
import { contactsOfSubmissions, submissionUpkeep } from "./form/upkeep.ts";

/** Each table of the content service with a `contact_id`: its rows follow the contact, wherever that goes. */

const log = createLog("test", "silent");
let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("content"), log });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const query = (text: string) => queryAsSuperuser(testDatabase, text);

interface ColumnInfo {
  name: string;
  type: string;
}

/** The fates of contacts are all that is kept of those that are gone. */
const FATES = "contact_fates";

async function tablesOfContacts(): Promise<Map<string, ColumnInfo[]>> {
  const rows = await query(
    `select t.relname as table, json_agg(json_build_object('name', a.attname, 'type', y.typname) order by a.attnum) as columns
     from pg_class t join pg_attribute a on a.attrelid = t.oid join pg_type y on y.oid = a.atttypid
     where t.relnamespace = 'content'::regnamespace and t.relkind in ('r', 'p') and not t.relispartition
       and a.attnum > 0 and not a.attisdropped and a.attidentity = '' and a.attgenerated = ''
       and exists (select from pg_attribute c where c.attrelid = t.oid and c.attname = 'contact_id' and not c.attisdropped)
       and t.relname <> '${FATES}'
     group by t.relname`,
  );
  return new Map(rows.map((row) => [String(row.table), row.columns as ColumnInfo[]]));
}

const VALUES: Record<string, string> = {
  text: "'x'",
  bool: "false",
  jsonb: "'{}'",
  timestamptz: "now()",
  uuid: "gen_random_uuid()",
  bytea: "'\\\\x07'",
  _int4: "'{}'",
  _int8: "'{}'",
  _text: "'{}'",
};

let unique = 1_000_000;

/** A row of this contact for a table. Values that name other entities are the same for all contacts, unless they identify the row. */
function insertOf(table: string, columns: ColumnInfo[], contactId: number): string {
  const values = columns.map(({ name, type }) => {
    if (name === "contact_id" || name === "chosen_contact_id") return contactId;
    if (name === "occasion" || name === "push_id") return `'${++unique}'`;
    if (name === "id" && type !== "uuid") return type === "text" ? `'${randomUUID()}'` : ++unique;
    return VALUES[type] ?? 7;
  });
  const names = columns.map(({ name }) => `"${name}"`);
  return `insert into content.${table} (${names.join(", ")}) values (${values.join(", ")})`;
}

async function fill(tables: Map<string, ColumnInfo[]>, contactId: number): Promise<void> {
  const inserts = [...tables].map(([table, columns]) => insertOf(table, columns, contactId));
  // References to other entities are not checked.
  await query(["set session_replication_role = replica", ...inserts].join(";\n"));
}

async function rowsOf(tables: Map<string, ColumnInfo[]>, contactId: number): Promise<Map<string, number>> {
  const counted = await Promise.all(
    [...tables.keys()].map(async (table) => {
      const [row] = await query(
        `select count(*)::int as count from content.${table} where contact_id = ${contactId}`,
      );
      return [table, Number(row?.count)] as const;
    }),
  );
  return new Map(counted.filter(([, count]) => count > 0));
}

const eventOf = (name: string, aggregateId: number, payload: Uint8Array): Event => ({
  ...{ id: randomUUID(), subject: `tidings.contact.contact.${name}`, aggregateId, aggregateVersion: 1 },
  ...{ time: "2026-01-01T00:00:00Z", traceparent: undefined, actor: undefined, payload },
});

/** Follows these events as the service does. */
async function follow(...events: Event[]): Promise<void> {
  await project({ database, projections: [contactFates, contactsOfSubmissions] }, "test", events);
  const jobs = [
    contactFateJobs(database, log, TABLES_OF_CONTACTS, SETS_OF_CONTACTS),
    submissionUpkeep(database, log, 30),
  ];
  for (const job of jobs) while (/^(?:done|again)$/.test((await stepJobs(job))?.state ?? ""));
}

test("a merge moves what a contact has, also where the survivor has the like, and a deletion takes all of it", async () => {
  const tables = await tablesOfContacts();
  assert.ok(tables.size >= 9, [...tables.keys()].join(", "));
  const [survivor, merged] = [101, 102];
  // Rows name it, and what a merge writes is checked.
  await query(
    "insert into content.categories (id, version, title, alias, bundle) values (7, 1, 'x', 'x', 'global')",
  );
  await fill(tables, merged);
  const payload = toBinary(ContactMergedSchema, create(ContactMergedSchema, { mergedIntoId: survivor }));
  await follow(eventOf("merged", merged, payload), eventOf("deleted", merged, new Uint8Array()));
  assert.deepEqual(await rowsOf(tables, merged), new Map());
  assert.deepEqual([...(await rowsOf(tables, survivor)).keys()].toSorted(), [...tables.keys()].toSorted());

  const other = 103;
  await fill(tables, other);
  const again = toBinary(ContactMergedSchema, create(ContactMergedSchema, { mergedIntoId: survivor }));
  await follow(eventOf("merged", other, again));
  assert.deepEqual(await rowsOf(tables, other), new Map());
  const counts = await rowsOf(tables, survivor);
  const oneEach = new Set([
    "first_visits",
    "dynamic_content_lead_data",
    "dynamic_content_stats",
    "send_refusals",
    "refused_addresses",
    "category_subscriptions",
  ]);
  for (const table of tables.keys()) assert.equal(counts.get(table), oneEach.has(table) ? 1 : 2, table);
  const [shown] = await query("select sent_count from content.dynamic_content_stats");
  assert.equal(shown?.sent_count, 14, "both were shown to the survivor");

  await follow(eventOf("deleted", survivor, new Uint8Array()));
  assert.deepEqual(await rowsOf(tables, survivor), new Map());
});

test("a deletion takes the spam that was sent with the address of the contact, however many there are", async () => {
  const address = "ada@tables.example";
  const insert = (count: number, digest: string, from = 0) =>
    query(
      `insert into content.form_spam
         (id, key, form_id, ip, date_submitted, results, reason, sender, address_digests)
       select n + ${from}, gen_random_uuid(), 7, '', now(), '{}', 'trap', '{}', array['x', '${digest}']
       from generate_series(1, ${count}) n`,
    );
  await query("delete from content.form_spam");
  await insert(6_000, addressDigest(address));
  await insert(3, addressDigest("other@tables.example"), 10_000);
  const snapshot = { email: "Ada@Tables.example" };
  const payload = toBinary(ContactDeletedSchema, create(ContactDeletedSchema, { snapshot }));
  await follow(eventOf("deleted", 104, payload));
  const [left] = await query("select count(*)::int as count from content.form_spam");
  assert.equal(left?.count, 3);
});
