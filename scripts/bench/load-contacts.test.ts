import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { Client } from "pg";
import { insertContacts } from "./load-contacts.ts";

test("contacts that the benchmark inserts by itself can be searched like others", async (t) => {
  const testDatabase = await createTestDatabase();
  t.after(testDatabase.drop);
  const client = new Client({ connectionString: testDatabase.adminUrl });
  await client.connect();
  await insertContacts(client, { from: 101, to: 350 }).finally(() => client.end());
  const [row] = await queryAsSuperuser(
    testDatabase,
    "select count(*)::integer as contacts, count(s.id)::integer as searched from contact.contacts c left join contact.contact_search s on s.id = c.id",
  );
  assert.deepEqual({ ...row }, { contacts: 250, searched: 250 });
});
