import assert from "node:assert/strict";
import { test } from "node:test";
import { openExplained } from "@tidings/database/testing/explained-database";
import { pagesRead } from "@tidings/database/testing/pages-read";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { deliveryQueue, recordOutcomes } from "./delivery.ts";

const WEBHOOKS = 1_000;
const DELIVERIES_EACH = 100;
/** Pages of a look-up: a few levels of each index and the row. A scan of a table or an index has thousands. */
const PAGES_A_GROUP = 120;

const { testDatabase, database } = await openExplained("webhook");

const run = (text: string) => database.query({ text }, [], Date.now() + 60_000);

async function addWebhooks(count: number): Promise<void> {
  await run(`insert into webhooks (is_published, date_added, created_by, name, webhook_url, secret, triggers, events_orderby_dir)
    select true, now(), 1, 'w', 'http://x', 's', '[]', (array[null, 'ASC', 'DESC'])[1 + i % 3] from generate_series(1, ${count}) i`);
}

async function addDeliveries(each: number): Promise<void> {
  await run(`insert into deliveries (webhook_id, event_id, body)
    select w.id, gen_random_uuid(), 'x' from webhooks w, generate_series(1, ${each}) e`);
}

async function useAll(): Promise<void> {
  const claimed = await deliveryQueue.claim(database, { shares: new Map(), size: 1, after: 0, limit: 500 });
  await deliveryQueue.untilDue(database);
  await deliveryQueue.renew(database, claimed);
  const [delivery] = claimed;
  if (delivery)
    await recordOutcomes(database, [
      {
        delivery,
        state: "delivered",
        delaySeconds: 0,
        statusCode: 200,
        errorCode: null,
        runtimeMs: 1,
        note: null,
        isGone: false,
      },
    ]);
  await deliveryQueue.release(database, claimed.slice(1));
}

test("a claim, its renewal and its record read a few pages a delivery, by plans that were made while the tables were empty or small", async () => {
  await run("insert into roles (id, version, is_admin, is_published) values (1, 1, true, true)");
  await run("insert into users (id, version, role_id, is_published) values (1, 1, 1, true)");
  const analyze = () =>
    queryAsSuperuser(testDatabase, "analyze webhook.deliveries, webhook.webhooks, webhook.failing_webhooks");
  for (let count = 0; count < 10; count += 1) await useAll();
  await addWebhooks(3);
  await addDeliveries(5);
  await analyze();
  for (let count = 0; count < 10; count += 1) await useAll();

  await addWebhooks(WEBHOOKS - 3);
  await run("insert into failing_webhooks select id, now() from webhooks");
  await addDeliveries(DELIVERIES_EACH);
  const some = `(select array_agg(id) from (select id from deliveries order by id desc limit 100) d)`;
  const [row] = await run(`select ${some}::text as ids, array_fill(0, array[100])::text as tokens`);
  const held = `'${row?.ids}', '${row?.tokens}'`;
  const texts = "array_fill(null::text, array[100])";
  const numbers = "array_fill(0, array[100])";
  for (const [execute, groups] of [
    ["delivery_claim('{}', '{}', 1, 0, 500)", WEBHOOKS],
    ["delivery_due", WEBHOOKS],
    [`delivery_renew(${held})`, 100],
    [`delivery_release(${held})`, 100],
    [
      `delivery_record(${held}, array_fill('waiting'::text, array[100]), array_fill(0::float8, array[100]), ${numbers}, ${texts}, ${numbers}, ${texts})`,
      100,
    ],
  ] as const) {
    const pages = await pagesRead(database, execute, { byIndex: true });
    assert.ok(pages < groups * PAGES_A_GROUP, `${execute.slice(0, 40)} read ${pages} pages`);
  }
});
