import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { openExplained } from "@tidings/database/testing/explained-database";
import { pagesRead } from "@tidings/database/testing/pages-read";
import { createOutbox } from "@tidings/messaging/outbox";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { recordFeedback } from "../callback/record-feedback.ts";
import { recordSteps } from "../chain/record-steps.ts";
import { recordReads } from "../notification/record-reads.ts";
import { openRecorder } from "./record-opens.ts";

const ROWS = 50_000;
/** The pages of a row, its indexes, and those that it is written to. */
const PAGES_MAX = 120;

const { testDatabase, database } = await openExplained("content");

test("an open, a report of a provider, a read of a notification and a step of a message find their rows by index, also once the ledgers have grown from nothing", async () => {
  const outbox = createOutbox();
  const recordOpen = openRecorder(database, outbox);
  const at = Date.now();
  // The plans that are kept are those of empty ledgers.
  for (let time = 0; time < 10; time += 1) {
    assert.equal(await recordOpen({ hash: randomUUID(), by: "picture" }), false);
    await recordReads({ database, outbox }, [{ hash: randomUUID(), at, ip: "" }]);
    const lost = { kind: "hard", id: "", hash: randomUUID(), address: "", at, code: 550, text: "" } as const;
    await recordFeedback(database, outbox, { provider: "test", events: [lost] });
    await recordSteps({ database, outbox, wake: () => undefined }, []);
  }
  await queryAsSuperuser(
    testDatabase,
    `set search_path = content;
     insert into sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, state, started_at)
       select gen_random_uuid(), 1, 1, 1, i, i, 'list', 1, 'sent', now() from generate_series(1, ${ROWS}) i;
     insert into notification_sends (hash, notification_id, contact_id, chosen_contact_id, occasion, content, state, is_mobile)
       select gen_random_uuid(), 1, i, i, i::text, '{}', 'sent', false from generate_series(1, ${ROWS}) i;
     insert into message_sends (hash, message_id, contact_id, chosen_contact_id, occasion, source, source_id, channels)
       select gen_random_uuid(), 1, i, i, i::text, 'message', 1, '[]' from generate_series(1, ${ROWS}) i`,
  );
  const hashIn = async (table: string) =>
    (await queryAsSuperuser(testDatabase, `select hash from content.${table} limit 1`))[0]?.hash;
  const read = `[{"hash":"${await hashIn("notification_sends")}","read_at":"2026-01-01","clicks":0,"details":[],"ip":""}]`;
  const statements = [
    `sends_open('{${await hashIn("sends")}}', '{picture}', '{t}', '{""}', '{""}', '{""}')`,
    `notification_sends_read('${read}')`,
    `sends_of_feedback('{${await hashIn("sends")}}')`,
    "message_sends_hold('{5}', '{0}')",
  ];
  await assertFound(statements);
  // Now Postgres knows how many rows there are.
  for (const table of ["sends", "notification_sends", "message_sends"])
    await queryAsSuperuser(testDatabase, `analyze content.${table}`);
  await assertFound(statements);
});

/** Fails where a statement reads more than its rows. */
async function assertFound(statements: string[]): Promise<void> {
  for (const statement of statements)
    for (const plan of ["generic", "custom"] as const) {
      const pages = await pagesRead(database, statement, { byIndex: true, plan });
      assert.ok(pages < PAGES_MAX, `${statement}, ${plan} plan: ${pages} pages`);
    }
}
