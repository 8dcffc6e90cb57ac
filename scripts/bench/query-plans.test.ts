import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDatabase } from "@tidings/database/database";
import type { Call } from "@tidings/rpc/call";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { Client } from "pg";
import { contactListSource } from "../../services/contact/src/contact/list.ts";
import { fieldCatalogues } from "../../services/contact/src/field/catalogue.ts";
import { fieldExpression } from "../../services/contact/src/field/expression.ts";
import { type MainQuery, mainQueries, where } from "./main-queries.ts";
import { explainQueries } from "./query-plans.ts";

const CONTACTS = 20_000;
const WHOLE_TABLE = /Seq Scan on contacts/;

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
before(async () => {
  testDatabase = await createTestDatabase();
  await fill(testDatabase.adminUrl);
});
after(() => testDatabase.drop());

test("none of the main lists reads the whole table of contacts", async () => {
  for (const { query, plans } of await plansOf(mainQueries(CONTACTS))) {
    for (const plan of plans) assert.doesNotMatch(plan, WHOLE_TABLE, `${query.name}\n${plan}`);
    const [index = ""] = query.index.split(", ");
    assert.match(plans.join("\n"), new RegExp(index), query.name);
  }
});

test("a page by cursor is found by the index of its order, however many rows are before it", async () => {
  const orders = [
    { path: "contacts", index: "contacts_last_active" },
    { path: "contacts?orderBy=email", index: "contacts_by_email" },
    { path: "contacts?orderBy=lastname&orderByDir=desc", index: "contacts_by_lastname" },
    { path: "contacts?orderBy=id", index: "contacts_pkey" },
    { path: "contacts?orderBy=dateModified&orderByDir=desc", index: "contact_modified_by_date" },
  ];
  const queries = orders.map((order) => ({ ...order, name: order.path, behind: CONTACTS / 2 }));
  for (const { query, plans } of await plansOf(queries)) {
    const [page = ""] = plans;
    assert.match(page, new RegExp(`using ${query.index}[^]*Index Cond`), `${query.name}\n${page}`);
    assert.doesNotMatch(page, /Filter/, `${query.name}\n${page}`);
  }
});

test("no filter of a text and no search command reads the whole table, whatever the field", async () => {
  const { texts, commands } = await searchable();
  assert.ok(texts.length > 20 && commands.length > 40, `${texts.length} texts, ${commands.length} commands`);
  const together =
    `where[0][expr]=orX&where[0][val][0][col]=city&where[0][val][0][expr]=eq&where[0][val][0][val]=zyx
    &where[0][val][1][col]=email&where[0][val][1][expr]=eq&where[0][val][1][val]=wvu`.replaceAll(/\s/g, "");
  const filters = texts.flatMap((name) => [
    where(name, "eq", "Zyx Wvu"),
    where(name, "like", "%yx wv%"),
    where(name, "like", "zyx%"),
    `${where(name, "in", "zyx")}&where[0][val][1]=wvu`,
  ]);
  const searches = commands.flatMap((name) => [`search=${name}:4711`, `search=%2B${name}:"4711"`]);
  const paths = [
    together,
    ...filters,
    ...searches,
    "search=zyx+wvu",
    "search=zyx+or+wvu",
    "search=email:zyx+or+(city:wvu+is:mine)",
  ];
  const read = await readingAll(paths.map((path) => ({ name: path, path: `contacts?${path}`, index: "" })));
  assert.deepEqual(read, []);
});

/** The lists of which a statement reads the whole table. */
async function readingAll(queries: MainQuery[]): Promise<string[]> {
  const plans = await plansOf(queries);
  return plans
    .filter((plan) => plan.plans.some((text) => WHOLE_TABLE.test(text)))
    .map(({ query }) => query.name);
}

function plansOf(queries: MainQuery[]) {
  return explainQueries(withoutScans(testDatabase.url("contact")), queries);
}

/** Columns of text, and search commands that compare texts or follow a relation, as clients name them. */
async function searchable(): Promise<{ texts: string[]; commands: string[] }> {
  const database = openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
  try {
    const { contact } = await fieldCatalogues(database).current();
    const source = contactListSource(contact, { actor: { id: 1 } } as Call);
    const texts = contact.fields
      .filter((field) => fieldExpression(field).type === "text")
      .map(({ alias }) => alias);
    const others = contact.fields.filter((field) => fieldExpression(field).type !== "text");
    const unserved = new Set([...others.map(({ alias }) => alias), ...STATES]);
    return { texts, commands: [...source.commands.keys()].filter((name) => !unserved.has(name)) };
  } finally {
    await database.close();
  }
}

/** Half of all contacts are so: to read them is to read the table. */
const STATES = ["is"];

/** So few contacts are read faster from end to end: priced out of reach, only what has no index is left to be scanned. */
function withoutScans(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  const options = url.searchParams.get("options") ?? "";
  url.searchParams.set("options", `${options} -c enable_seqscan=off`.trim());
  return url.toString();
}

async function fill(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("set search_path = contact, public");
    await client.query(`insert into fields (id, object, alias, label, type, "group", "order")
      values (99, 'lead', 'bench_code', 'Bench', 'text', 'core', 99)`);
    await client.query("insert into tags (id, tag) overriding system value values (1, 'bench')");
    await client.query(`
      insert into contacts (date_added, last_active, date_modified, firstname, lastname, email, city, address1, tag_ids, custom)
      select now() - n * interval '1 minute', case when n % 3 = 0 then now() - n * interval '1 second' end,
        case when n % 4 <> 0 then now() - n * interval '2 minutes' end,
        'First ' || n % 100, 'Lovelace-' || n, 'ada.' || n || '@example.com', 'City ' || n % 50, repeat('wide as a real one ', 12),
        case when n % 100 = 0 then '{1}'::integer[] else '{}' end,
        case when n % 10 = 0 then jsonb_build_object('99', 'code ' || n % 500) else '{}' end
      from generate_series(1, ${CONTACTS}) n`);
    await client.query(`
      insert into segments (id, date_added, name, public_name, alias) overriding system value
      values (1, now(), 'Bench', 'Bench', 'bench-segment')`);
    await client.query(`
      insert into segment_contacts (segment_id, contact_id, date_added)
      select 1, id, now() from contacts where id % 8 = 0`);
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}
