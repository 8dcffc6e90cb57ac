import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { Client } from "pg";
import { mainQueries } from "./main-queries.ts";
import { explainQueries } from "./query-plans.ts";

const CONTACTS = 20_000;

test("none of the main lists reads the whole table of contacts", async () => {
  const testDatabase = await createTestDatabase();
  try {
    await fill(testDatabase.adminUrl);
    for (const { query, plans } of await explainQueries(
      withoutScans(testDatabase.url("contact")),
      mainQueries(CONTACTS),
    )) {
      for (const plan of plans) assert.doesNotMatch(plan, /Seq Scan on contacts/, `${query.name}\n${plan}`);
      const [index = ""] = query.index.split(", ");
      assert.match(plans.join("\n"), new RegExp(index), query.name);
    }
  } finally {
    await testDatabase.drop();
  }
});

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
      insert into contacts (date_added, last_active, firstname, lastname, email, city, address1, tag_ids, custom)
      select now() - n * interval '1 minute', case when n % 3 = 0 then now() - n * interval '1 second' end,
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
