import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { backgroundDeadline } from "@tidings/database/database";
import { openExplained } from "@tidings/database/testing/explained-database";
import { pagesRead } from "@tidings/database/testing/pages-read";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { noticeLane } from "../notice/notice-queue.ts";
import { keepAddressRefusal } from "./address-refusals.ts";
import { keepRefusals, RefusalReason } from "./refusals.ts";
import { sendsSource } from "./send-metrics.ts";
import { bulkLane, directLane } from "./send-queue.ts";

const FINAL = 50_000;
/** A few pages of each index. The ledger of this test has a thousand. */
const PAGES_MAX = 100;

const { testDatabase, database } = await openExplained("content");
beforeEach(() => run("delete from sends; delete from notices; delete from broadcasts; delete from jobs"));

const run = (text: string) => queryAsSuperuser(testDatabase, `set search_path = content; ${text}`);

/** Adds sends of one family, each with these columns. */
async function addSends(count: number, columns: Record<string, string>): Promise<void> {
  const names = Object.keys(columns).map((name) => `, ${name}`);
  const values = Object.values(columns).map((value) => `, ${value}`);
  await run(`insert into sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion ${names.join("")})
    select gen_random_uuid(), 1, 1, 1, i, i, gen_random_uuid()::text ${values.join("")} from generate_series(1, ${count}) i`);
}

/** Each gauge that has a value, with its lane. */
async function read(): Promise<Record<string, number>> {
  const readings = await sendsSource(database, [directLane, bulkLane, noticeLane]).read(backgroundDeadline());
  const told = await Promise.all(
    readings.map(async ({ gauge, labels, value }) => {
      const { name } = await gauge.get();
      return [[name.replace(/^tidings_/, ""), labels?.lane].filter(Boolean).join(" "), value] as const;
    }),
  );
  return Object.fromEntries(told);
}

test("open sends are counted by what they wait for, and final ones are not", async () => {
  await addSends(3, { lane: "0" });
  await addSends(2, { lane: "1" });
  await addSends(1, { lane: "1", due_at: "now() + interval '1 hour'" });
  await addSends(1, { lane: "1", state: "'started'" });
  await addSends(2, { lane: "0", state: "'unknown'" });
  await addSends(5, { lane: "1", state: "'sent'" });
  const counted = await read();
  assert.deepEqual(
    ["send_direct", "send_bulk", "send_notice"].map((lane) => [
      counted[`sends_waiting ${lane}`],
      counted[`sends_deferred ${lane}`],
    ]),
    [
      [3, 0],
      [3, 1],
      [0, 0],
    ],
  );
  assert.deepEqual([counted.sends_started, counted.sends_unknown, counted.broadcasts_paused], [1, 2, 0]);
});

test("a lane is as late as its first due send, and a paused send is not late", async () => {
  await addSends(1, { lane: "0", due_at: "now() - interval '5 minutes'" });
  await addSends(1, { lane: "1", due_at: "now() - interval '1 hour'" });
  const late = await read();
  assert.equal(Math.floor((late["sends_overdue_seconds send_direct"] ?? 0) / 60), 5);
  assert.equal(Math.floor((late["sends_overdue_seconds send_bulk"] ?? 0) / 60), 60);
  await run(
    "insert into broadcasts (id, email_id, family_id, list_ids, is_paused) values (gen_random_uuid(), 1, 1, '{1}', true)",
  );
  const paused = await read();
  assert.equal(paused["sends_overdue_seconds send_bulk"], 0);
  assert.deepEqual([paused.broadcasts_paused, paused["sends_waiting send_bulk"]], [1, 1]);
});

test("an unsubscribe is counted until the contact service has it", async () => {
  await database.transaction(backgroundDeadline(), async (transaction) =>
    keepRefusals(transaction, [
      {
        ...{ contactId: 1, channel: "email", reason: RefusalReason.UNSUBSCRIBED },
        ...{ channelId: 1, comments: "" },
      },
    ]),
  );
  await database.transaction(backgroundDeadline(), async (transaction) =>
    keepAddressRefusal(transaction, { address: "former@example.org", comments: "User unsubscribed." }),
  );
  assert.equal((await read()).send_refusals_waiting, 2);
  await run(`update jobs set payload = payload || '{"isPassedOn": true}'`);
  assert.equal((await read()).send_refusals_waiting, 0);
});

test("counting reads a few pages beside a long ledger, by plans that were made while all of it waited", async () => {
  await addSends(FINAL, { lane: "1" });
  await run("analyze content.sends");
  for (let count = 0; count < 10; count += 1) await read();
  await run("update sends set state = 'sent'");
  await queryAsSuperuser(testDatabase, "vacuum content.sends");
  for (const execute of [
    "send_bulk_waiting(10000)",
    "send_bulk_due",
    "send_direct_waiting(10000)",
    "sends_counts",
  ]) {
    const pages = await pagesRead(database, execute, { byIndex: true });
    assert.ok(pages < PAGES_MAX, `${execute} read ${pages} pages`);
  }
});
