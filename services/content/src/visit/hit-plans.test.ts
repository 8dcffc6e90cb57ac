import assert from "node:assert/strict";
import { test } from "node:test";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { type Hit, newFactId } from "./hit.ts";
import { hitRecorder } from "./record-hits.ts";

/** Postgres keeps one plan for all values of a prepared statement after five executions. */
const PLANNED = 8;
const GROWN = 20_000;

test("hits and their leaving read no table whole, not even one that grew after its plans were made", async (t) => {
  const testDatabase = await createTestDatabase();
  const database = openDatabase({
    url: testDatabase.url("content"),
    log: createLog("test", "silent"),
    connectionsMax: 2,
  });
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  let contactId = 0;
  const ids = { take: async (count: number) => Array.from({ length: count }, () => ++contactId) };
  const record = hitRecorder({
    database,
    outbox: createOutbox(),
    ids,
    holdHits: async (_transaction, _outbox, hits) => ({ judged: hits, waiting: new Map() }),
  });
  const rowsReadWhole = async () => {
    const [row] = await database.query(
      {
        text: `select sum(seq_tup_read) as rows from pg_stat_user_tables
               where relname like 'page_hits%' or relname in ('visitor_devices', 'visitor_targets')`,
      },
      [],
      backgroundDeadline(),
    );
    return Number(row?.rows);
  };
  const flush = () => database.query({ text: "select pg_stat_force_next_flush()" }, [], backgroundDeadline());

  await record(hitOf(true));
  for (let count = 0; count < PLANNED; count += 1) await record(hitOf(false));
  await queryAsSuperuser(
    testDatabase,
    `insert into content.page_hits (id, version, date_hit, is_unique, code, verdict)
     select uuidv7(), 1, now(), false, 200, 'human' from generate_series(1, ${GROWN})`,
  );
  await flush();
  const before = await rowsReadWhole();
  for (let count = 0; count < PLANNED; count += 1) await record(hitOf(false));
  await flush();
  assert.equal((await rowsReadWhole()) - before, 0);
});

/** The hits of one browser: each is where the browser was when the next one comes. */
function hitOf(isNew: boolean): Hit {
  return {
    ...newFactId(Date.now()),
    device: { id: "known-browser-of-a-test", isNew },
    ...{ source: "", code: 200, ip: "", userAgent: "", timeZone: "", locale: "", url: "", referer: "" },
    ...{
      remoteHost: "",
      query: {},
      pageLanguage: "",
      browserLanguages: [],
      urlTitle: "",
      values: {},
      tags: "",
    },
    ...{ verdict: "human" as const, reason: "" },
  };
}
