import assert from "node:assert/strict";
import { test } from "node:test";
import { openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { seeVisitors } from "./visitors.ts";

const BROWSERS = 5_000;
const SEEN = 5;
const idOf = (number: number) => `known${String(number).padStart(18, "0")}`;

test("a group of hits reads the rows of its own browsers, however many there are", async (t) => {
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url("content"), log: createLog("test", "silent") });
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  await queryAsSuperuser(
    testDatabase,
    `insert into content.visitor_devices (id, contact_id, shown_contact_id, last_seen)
     select 'known' || lpad(n::text, 18, '0'), n, n, now() from generate_series(1, ${BROWSERS}) n`,
  );
  await queryAsSuperuser(testDatabase, "analyze content.visitor_devices");
  const sightings = Array.from({ length: SEEN }, (_, index) => ({
    ...{ deviceId: idOf(index * 900 + 1), isNewDevice: false, at: Date.now(), ip: "", userAgent: "" },
    ...{ timeZone: "", locale: "", url: "", referer: "", remoteHost: "", query: {} },
  }));
  const ids = { take: () => Promise.reject(new Error("no browser is new")) };
  const [visitors, read] = await database.transaction(Date.now() + 60_000, async (transaction) => {
    const { visitors: found } = await seeVisitors(transaction, ids, sightings);
    const [row] = await transaction.query({
      text: `select seq_tup_read, idx_tup_fetch from pg_stat_xact_user_tables where relname = 'visitor_devices'`,
    });
    return [found, row] as const;
  });
  assert.deepEqual(
    [...visitors.values()].map(({ contactId }) => contactId).toSorted((a, b) => a - b),
    [1, 901, 1801, 2701, 3601],
  );
  assert.equal(read?.seq_tup_read, "0");
  assert.ok(Number(read?.idx_tup_fetch) <= SEEN * 4, `${read?.idx_tup_fetch} rows were fetched`);
});
