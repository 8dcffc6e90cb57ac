import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { createTestDatabase, terminateBackends } from "./postgres.ts";

test("two test databases do not see each other's rows", async (t) => {
  const [one, other] = await Promise.all([databaseOf(t), databaseOf(t)]);
  const client = await clientOf(t, one.adminUrl);
  await client.query("create table only_here (id int)");
  const otherClient = await clientOf(t, other.adminUrl);
  const { rows } = await otherClient.query("select to_regclass('only_here') as found");
  assert.equal(rows[0].found, null);
});

test("a process' own role is connected to its schema", async (t) => {
  const database = await databaseOf(t);
  const client = await clientOf(t, database.url("contact"));
  const { rows } = await client.query("select current_user as role, current_schema() as schema");
  assert.deepEqual(rows[0], { role: "tidings_template_contact", schema: "contact" });
});

test("terminated backends lose their connection, later ones work", async (t) => {
  const database = await databaseOf(t);
  const client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  const lost = new Promise<void>((resolve) => client.once("end", resolve));
  client.on("error", () => undefined); // the failure is an error of the query, too
  await terminateBackends(database);
  await lost;
  const again = await clientOf(t, database.adminUrl);
  assert.equal((await again.query("select 1")).rowCount, 1);
});

async function databaseOf(t: TestContext) {
  const database = await createTestDatabase();
  t.after(database.drop);
  return database;
}

async function clientOf(t: TestContext, url: string) {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined); // the database may be dropped before the connection is closed
  await client.connect();
  t.after(() => client.end());
  return client;
}
