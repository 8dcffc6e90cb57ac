import assert from "node:assert/strict";
import { test } from "node:test";
import { ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { giveDeferred } from "./deferral.ts";
import { purgeDeliveries } from "./purge.ts";
import { event, fanOut } from "./testing/events.ts";
import { openScene, type Scene } from "./testing/scene.ts";

const triggers = ["svc.lead_post_save_new"];
const NOWHERE = "http://127.0.0.1:1/";
/** So many deliveries wait for a webhook that fails before the next ones are deferred. */
const WAITING = 10;

const created = () => event("created", ContactSavedSchema, { snapshot: { id: 7 }, identified: true });
const createdEvents = (count: number) => Array.from({ length: count }, created);

async function count(scene: Scene, from: string): Promise<number> {
  const [row] = await scene.query(`select count(*) as count from ${from}`);
  return Number(row?.count);
}

/** Webhooks that fail and have as many deliveries as such a webhook may have. */
async function failing(scene: Scene, webhookIds: number[], waiting = WAITING): Promise<string[][]> {
  await scene.query("insert into failing_webhooks select id, now() from unnest($1::integer[]) as id", [
    webhookIds,
  ]);
  return Promise.all(
    webhookIds.map((id) =>
      scene.deliveries(
        id,
        Array.from({ length: waiting }, () => "{}"),
      ),
    ),
  );
}

test("an event is one row for a thousand webhooks that fail, and a delivery for the one that works", async () => {
  await using scene = await openScene();
  const dead = await Promise.all(
    Array.from({ length: 1_000 }, () => scene.webhook({ url: NOWHERE, triggers })),
  );
  await scene.query("insert into failing_webhooks select id, now() from unnest($1::integer[]) as id", [dead]);
  await scene.query(
    `insert into deliveries (webhook_id, event_id, body)
     select id, gen_random_uuid(), '{}' from unnest($1::integer[]) as id, generate_series(1, ${WAITING})`,
    [dead],
  );
  const healthy = await scene.webhook({ url: NOWHERE, triggers });
  await fanOut(scene, createdEvents(40));
  assert.equal(await count(scene, "deferred_deliveries"), 40);
  assert.equal(await count(scene, `deliveries where webhook_id = ${healthy}`), 40);
  assert.equal(await count(scene, "deliveries"), dead.length * WAITING + 40);
});

for (const [order, expected] of [
  ["ASC", (ids: string[]) => ids],
  ["DESC", (ids: string[]) => ids.toReversed()],
  [undefined, (ids: string[]) => ids.toSorted()],
] as const)
  test(`a webhook that works again receives all it missed, each once, ${order ?? "in any order"}`, async () => {
    await using scene = await openScene();
    let isUp = false;
    const receiver = await startReceiver({ respond: () => ({ status: isUp ? 200 : 500 }) });
    const id = await scene.webhook({ url: receiver.url, triggers, ...(order && { order }) });
    const [had = []] = await failing(scene, [id]);
    const events = createdEvents(300);
    await fanOut(scene, events);
    assert.equal(await count(scene, "deliveries"), WAITING);
    isUp = true;
    const sent = [...had, ...events.map((each) => each.id)];
    // The first attempt shows that the receiver works: what is given then is all that there is.
    scene.deliver();
    await eventually(async () =>
      assert.equal(await count(scene, "deliveries where state = 'delivered'"), sent.length),
    );
    const received = receiver.requests.map(({ headers }) => String(headers["webhook-id"]));
    const [first, ...rest] = order === "DESC" ? received : ["", ...received];
    if (order === "DESC") assert.equal(first, had.at(-1));
    const left = order === "DESC" ? sent.filter((one) => one !== first) : sent;
    assert.deepEqual(order ? rest : rest.toSorted(), expected(left));
    assert.equal(await count(scene, "deferred_webhooks"), 0);
    await purgeDeliveries(scene.database);
    assert.equal(await count(scene, "deferred_deliveries"), 0);
    await receiver.stop();
  });

test("events that come while webhooks begin and end to be deferred are delivered once each, in their order", async () => {
  await using scene = await openScene();
  const hooks = await Promise.all(
    [1, 2, 3].map(() => scene.webhook({ url: NOWHERE, triggers, order: "ASC" })),
  );
  await failing(scene, hooks);
  const events = createdEvents(200);
  let isDone = false;
  const drain = async () => {
    while (!isDone) {
      await scene.query("update deliveries set state = 'delivered' where state = 'waiting'");
      await giveDeferred(scene.database);
    }
  };
  const fill = async () => {
    for (const each of events) {
      await fanOut(scene, [each]);
      // As if the attempts of the last ones had failed by now.
      await scene.query(
        `insert into deliveries (webhook_id, event_id, body)
         select $1, gen_random_uuid(), 'more' from generate_series(1, ${WAITING})`,
        [hooks[0]],
      );
    }
    isDone = true;
  };
  await Promise.all([drain(), drain(), fill()]);
  await scene.query("update deliveries set state = 'delivered' where state = 'waiting'");
  await giveDeferred(scene.database);
  assert.equal(await count(scene, "deferred_webhooks"), 0);
  for (const hook of hooks) {
    const rows = await scene.query(
      "select event_id from deliveries where webhook_id = $1 and body <> 'more' and body <> '{}' order by id",
      [hook],
    );
    assert.deepEqual(
      rows.map(({ event_id }) => event_id),
      events.map(({ id }) => id),
    );
  }
});

test("a webhook that fails on gets its next deliveries when those it had are given up", async () => {
  await using scene = await openScene();
  const id = await scene.webhook({ url: NOWHERE, triggers });
  await failing(scene, [id]);
  await fanOut(scene, createdEvents(2 * WAITING));
  await scene.query("update deliveries set state = 'failed'");
  assert.equal(await giveDeferred(scene.database, [id]), true);
  assert.equal(await count(scene, "deliveries where state = 'waiting'"), WAITING);
  assert.equal(await giveDeferred(scene.database, [id]), false);
});

test("nothing is left of a deferred webhook that is deleted", async () => {
  await using scene = await openScene();
  const id = await scene.webhook({ url: NOWHERE, triggers });
  await failing(scene, [id]);
  await fanOut(scene, createdEvents(10));
  await scene.query("delete from webhooks");
  await purgeDeliveries(scene.database);
  for (const table of ["deferred_webhooks", "deferred_deliveries", "deliveries"])
    assert.equal(await count(scene, table), 0, table);
});
