import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { pagesRead } from "@tidings/database/testing/pages-read";
import { createOutbox } from "@tidings/messaging/outbox";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { openRecorder } from "./record-opens.ts";

const ROWS = 50_000;
/** The pages of a row, its indexes, and those that it is written to. */
const PAGES_MAX = 120;

let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  // One connection, so that its prepared statements can be explained.
  const log = createLog("test", "silent");
  database = openDatabase({ url: testDatabase.url("content"), log, connectionsMax: 1 });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

test("an open finds its mail by index, also once the ledger has grown from nothing", async () => {
  const record = openRecorder(database, createOutbox());
  // The plan that is kept is one of an empty ledger.
  for (let time = 0; time < 10; time += 1)
    assert.equal(await record({ hash: randomUUID(), by: "picture" }), false);
  await queryAsSuperuser(
    testDatabase,
    `insert into content.sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, state, started_at)
     select gen_random_uuid(), 1, 1, 1, i, i, 'list', 1, 'sent', now() from generate_series(1, ${ROWS}) i`,
  );
  const [send] = await queryAsSuperuser(testDatabase, "select hash from content.sends limit 1");
  const execute = `sends_open('{${send?.hash}}', '{picture}', '{t}', '{""}', '{""}', '{""}')`;
  for (const plan of ["generic", "custom"] as const) {
    const pages = await pagesRead(database, execute, { byIndex: true, plan });
    assert.ok(pages < PAGES_MAX, `${plan} plan: ${pages} pages`);
  }
});
