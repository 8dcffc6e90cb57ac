import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { Webhook } from "standardwebhooks";
import { type Delivery, deliveryQueue, type Outcome, recordOutcomes } from "./delivery.ts";
import { purgeDeliveries } from "./purge.ts";
import { claim, openScene, SECRET } from "./testing/scene.ts";

test("a delivery arrives signed, once, with its event's id and our origin", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver();
  const [eventId] = await scene.deliveries(await scene.webhook({ url: receiver.url }), ['{"a":"ö"}']);
  scene.deliver();
  const [request] = await receiver.waitFor(1);
  await eventually(async () => assert.deepEqual(await scene.states(), ["delivered"]));
  assert.equal(request?.body, '{"a":"ö"}');
  assert.equal(request?.headers["webhook-id"], eventId);
  assert.equal(request?.headers["content-type"], "application/json");
  assert.equal(request?.headers["x-origin-base-url"], "https://tidings.example");
  new Webhook(SECRET).verify(request?.body ?? "", request?.headers as Record<string, string>);
  assert.equal(receiver.requests.length, 1);
  await receiver.stop();
});

test("a failed attempt is repeated with the same id and bytes until the receiver takes it", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver({
    respond: (_request, index) => (index < 2 ? { status: 500, body: "not yet" } : { status: 200 }),
  });
  await scene.deliveries(await scene.webhook({ url: receiver.url }), ["{}"]);
  scene.deliver();
  await eventually(async () => assert.deepEqual(await scene.states(), ["delivered"]));
  const ids = new Set(receiver.requests.map(({ headers }) => headers["webhook-id"]));
  assert.deepEqual([receiver.requests.length, ids.size], [3, 1]);
  const log = await scene.query(
    "select attempt, status_code, error_code, note from delivery_attempts order by id",
  );
  assert.deepEqual(log, [
    { attempt: "1", status_code: "500", error_code: null, note: "not yet" },
    { attempt: "2", status_code: "500", error_code: null, note: "not yet" },
    { attempt: "3", status_code: "200", error_code: null, note: "" },
  ]);
  await receiver.stop();
});

test("a delivery is given up when the schedule is exhausted", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver({ respond: () => ({ status: 302, headers: { location: "/" } }) });
  await scene.deliveries(await scene.webhook({ url: receiver.url }), ["{}"]);
  scene.deliver({ schedule: [0, 0.01, 0.01] });
  await eventually(async () => assert.deepEqual(await scene.states(), ["failed"]));
  assert.equal(receiver.requests.length, 3);
  await receiver.stop();
});

test("hanging, resetting and unreachable receivers are tried again, with the reason in the log", async () => {
  await using scene = await openScene();
  const hanging = await startReceiver({ respond: () => ({ status: 200, delayMs: 5_000 }) });
  const resetting = await startReceiver({ respond: () => ({ status: 200, drop: true }) });
  const gone = await startReceiver();
  await gone.stop();
  for (const url of [hanging.url, resetting.url, gone.url, "http://10.0.0.1/"]) {
    await scene.deliveries(await scene.webhook({ url }), ["{}"]);
  }
  scene.deliver({ schedule: [0, 0.01], timeoutMs: 200 });
  await eventually(async () => assert.deepEqual(await scene.states(), Array(4).fill("failed")));
  const log = await scene.query(
    "select webhook_id, error_code from delivery_attempts order by webhook_id, id",
  );
  assert.deepEqual(
    log.map((row) => row.error_code),
    ["timeout", "delivery_failed", "delivery_failed", "blocked_address"].flatMap((code) => [code, code]),
  );
  await hanging.stop();
  await resetting.stop();
});

test("Retry-After is waited for", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver({
    respond: (_request, index) =>
      index === 0 ? { status: 429, headers: { "retry-after": "1" } } : { status: 200 },
  });
  await scene.deliveries(await scene.webhook({ url: receiver.url }), ["{}"]);
  scene.deliver({ schedule: [0, 0.01] });
  const [first, second] = await receiver.waitFor(2);
  assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 900);
  await receiver.stop();
});

test("410 unpublishes the webhook and publishes that change", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver({ respond: () => ({ status: 410 }) });
  const id = await scene.webhook({ url: receiver.url });
  await scene.deliveries(id, ["{}"]);
  scene.deliver();
  await eventually(async () => {
    const [row] = await scene.query("select is_published, version from webhooks");
    assert.deepEqual(row, { is_published: "f", version: "2" });
  });
  assert.deepEqual(await scene.states(), ["failed"]);
  const events = await scene.query("select subject, aggregate_id from outbox");
  assert.deepEqual(events, [{ subject: "tidings.webhook.webhook.updated", aggregate_id: String(id) }]);
  await scene.deliveries(id, ["{}"]);
  assert.equal(receiver.requests.length, 1);
  await receiver.stop();
});

test("five days of failures unpublish, one success starts them anew", async () => {
  await using scene = await openScene();
  let status = 500;
  const receiver = await startReceiver({ respond: () => ({ status }) });
  const id = await scene.webhook({ url: receiver.url });
  const fail = (days: number) =>
    scene.query("insert into failing_webhooks values ($1, now() - make_interval(days => $2))", [id, days]);
  const published = async () => (await scene.query("select is_published from webhooks"))[0]?.is_published;
  await fail(4);
  await scene.deliveries(id, ["1"]);
  scene.deliver({ schedule: [0] });
  await eventually(async () => assert.deepEqual(await scene.states(), ["failed"]));
  assert.equal(await published(), "t");
  status = 200;
  await scene.deliveries(id, ["2"]);
  await eventually(async () => assert.deepEqual(await scene.states(), ["failed", "delivered"]));
  assert.deepEqual(await scene.query("select 1 from failing_webhooks"), []);
  status = 500;
  await fail(6);
  await scene.deliveries(id, ["3"]);
  await eventually(async () => assert.equal(await published(), "f"));
  await eventually(async () => assert.deepEqual(await scene.query("select 1 from failing_webhooks"), []));
  await receiver.stop();
});

for (const [receivers, what] of [
  [10, "receivers that hang do not delay another's deliveries"],
  [200, "nor do more of them than a process has deliveries in hand"],
] as const)
  test(what, async () => {
    await using scene = await openScene();
    const hanging = await startReceiver({ respond: () => ({ status: 200, delayMs: 6_000 }) });
    const healthy = await startReceiver();
    for (let count = 0; count < receivers; count += 1) {
      const id = await scene.webhook({ url: hanging.url });
      await scene.deliveries(id, Array(20).fill("{}"));
    }
    scene.deliver({ timeoutMs: 4_000 });
    await hanging.waitFor(receivers / 2);
    const id = await scene.webhook({ url: healthy.url });
    const startedAt = Date.now();
    await scene.deliveries(id, Array(100).fill("{}"));
    await healthy.waitFor(100);
    assert.ok(Date.now() - startedAt < 3_000, `${Date.now() - startedAt} ms`);
    await hanging.stop();
    await healthy.stop();
  });

test("a webhook whose receiver takes one gets several at once", async () => {
  await using scene = await openScene();
  let count = 0;
  const receiver = await startReceiver({
    respond: () => ({ status: 200, delayMs: ++count === 1 ? 0 : 3_000 }),
  });
  const id = await scene.webhook({ url: receiver.url });
  await scene.deliveries(id, Array(20).fill("{}"));
  const startedAt = Date.now();
  scene.deliver({ timeoutMs: 10_000 });
  await receiver.waitFor(9);
  assert.ok(Date.now() - startedAt < 3_000, `${Date.now() - startedAt} ms`);
  await receiver.stop();
});

test("a webhook with an order gets its deliveries in it, one at a time", async () => {
  await using scene = await openScene();
  const ascending = await startReceiver({ respond: () => ({ status: 200, delayMs: 1 }) });
  const descending = await startReceiver({ respond: () => ({ status: 200, delayMs: 1 }) });
  const bodies = Array.from({ length: 30 }, (_, index) => String(index));
  await scene.deliveries(await scene.webhook({ url: ascending.url, order: "ASC" }), bodies);
  await scene.deliveries(await scene.webhook({ url: descending.url, order: "DESC" }), bodies);
  scene.deliver();
  const bodiesOf = (requests: { body: string }[]) => requests.map(({ body }) => body);
  assert.deepEqual(bodiesOf(await ascending.waitFor(30)), bodies);
  assert.deepEqual(bodiesOf(await descending.waitFor(30)), bodies.toReversed());
  await ascending.stop();
  await descending.stop();
});

test("an order holds across processes, and a delivery that failed is waited for until it is taken or given up", async () => {
  await using scene = await openScene();
  const refusals = new Map([
    ["3", 2],
    ["7", 100],
  ]);
  const taken: string[] = [];
  const receiver = await startReceiver({
    respond: ({ body }) => {
      const left = refusals.get(body) ?? 0;
      refusals.set(body, left - 1);
      if (left <= 0) taken.push(body);
      return { status: left > 0 ? 500 : 200, delayMs: 1 };
    },
  });
  const bodies = Array.from({ length: 20 }, (_, index) => String(index));
  await scene.deliveries(await scene.webhook({ url: receiver.url, order: "ASC" }), bodies);
  scene.deliver();
  scene.deliver();
  await eventually(async () => assert.ok((await scene.states()).every((state) => state !== "waiting")), {
    timeoutMs: 20_000,
  });
  assert.deepEqual(
    taken,
    bodies.filter((body) => body !== "7"),
  );
  const tried = receiver.requests.map(({ body }) => Number(body));
  assert.deepEqual(
    tried,
    tried.toSorted((a, b) => a - b),
  );
  await receiver.stop();
});

test("claims are fair between webhooks, and those whose receivers fail come last", async () => {
  await using scene = await openScene();
  const dead: number[] = [];
  for (let count = 0; count < 30; count += 1) {
    dead.push(await scene.webhook({ url: "http://127.0.0.1:1/" }));
    await scene.deliveries(dead.at(-1) ?? 0, Array(40).fill("{}"));
  }
  await scene.query(
    "insert into failing_webhooks (webhook_id, failing_since) select unnest($1::integer[]), now()",
    [dead],
  );
  const busy = await scene.webhook({ url: "http://127.0.0.1:2/" });
  const late = await scene.webhook({ url: "http://127.0.0.1:3/" });
  await scene.deliveries(busy, Array(100).fill("{}"));
  await scene.deliveries(late, ["{}"]);
  const claimed = (await claim(scene, 20)).map(({ group }) => group);
  assert.deepEqual(claimed.slice(0, 11), [...Array(10).fill(busy), late]);
  assert.equal(new Set(claimed.slice(11)).size, 9, "one of each that fails");
});

test("a webhook that cannot be switched off keeps no other from its deliveries", async () => {
  await using scene = await openScene();
  const gone = await startReceiver({ respond: () => ({ status: 410 }) });
  const receiver = await startReceiver();
  await scene.deliveries(await scene.webhook({ url: gone.url }), ["{}"]);
  const healthy = await scene.webhook({ url: receiver.url });
  scene.deliver({ unpublish: () => Promise.reject(new Error("it may not be changed")) });
  await gone.waitFor(1);
  await scene.deliveries(healthy, ["{}"]);
  await receiver.waitFor(1);
  await gone.stop();
  await receiver.stop();
});

test("rows of deleted webhooks are removed", async () => {
  await using scene = await openScene();
  const id = await scene.webhook({ url: "http://127.0.0.1:1/" });
  await scene.deliveries(id, ["{}", "{}"]);
  await scene.query(
    "insert into delivery_attempts (webhook_id, event_id, attempt, runtime_ms) values ($1, gen_random_uuid(), 1, 1)",
    [id],
  );
  await scene.query("insert into failing_webhooks (webhook_id, failing_since) values ($1, now())", [id]);
  await scene.query("delete from webhooks where id = $1", [id]);
  await purgeDeliveries(scene.database);
  for (const table of ["deliveries", "delivery_attempts", "failing_webhooks"])
    assert.deepEqual(await scene.query(`select 1 from ${table}`), [], table);
});

test("several processes share the work and each delivery is sent once", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver();
  const ids = await scene.deliveries(await scene.webhook({ url: receiver.url }), Array(200).fill("{}"));
  scene.deliver();
  scene.deliver();
  await eventually(async () => assert.ok((await scene.states()).every((state) => state === "delivered")));
  const sent = receiver.requests.map(({ headers }) => String(headers["webhook-id"]));
  assert.deepEqual(sent.toSorted(), ids.toSorted());
  await receiver.stop();
});

test("a worker that lost its lease can neither renew it nor record a result", async () => {
  await using scene = await openScene();
  await scene.deliveries(await scene.webhook({ url: "http://127.0.0.1:1/" }), ["{}"]);
  const [paused] = await claim(scene);
  assert.ok(paused);
  assert.deepEqual(await claim(scene), []);
  await scene.query("update deliveries set next_at = now()"); // the lease runs out
  const [current] = await claim(scene);
  assert.ok(current);
  assert.equal((await deliveryQueue.renew(scene.database, [paused])).size, 0);
  assert.equal((await recordOutcomes(scene.database, [delivered(paused)])).recorded.size, 0);
  assert.deepEqual(await scene.states(), ["waiting"]);
  assert.equal((await deliveryQueue.renew(scene.database, [current])).size, 1);
  assert.equal((await recordOutcomes(scene.database, [delivered(current)])).recorded.size, 1);
  assert.deepEqual(await scene.states(), ["delivered"]);
  assert.equal((await scene.query("select 1 from delivery_attempts")).length, 1);
});

test("deliveries of an unpublished webhook wait until it is published again", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver();
  const id = await scene.webhook({ url: receiver.url, isPublished: false });
  await scene.deliveries(id, ["{}"]);
  assert.deepEqual(await claim(scene), []);
  await scene.query("update webhooks set is_published = true");
  scene.deliver();
  await receiver.waitFor(1);
  await receiver.stop();
});

test("stopping lets attempts in flight end and gives the rest back", async () => {
  await using scene = await openScene();
  const receiver = await startReceiver({ respond: () => ({ status: 200, delayMs: 300 }) });
  await scene.deliveries(await scene.webhook({ url: receiver.url, order: "ASC" }), ["1", "2", "3"]);
  const deliverer = scene.deliver();
  await receiver.waitFor(1);
  await deliverer.stop();
  assert.deepEqual(await scene.states(), ["delivered", "waiting", "waiting"]);
  assert.equal((await claim(scene)).length, 1, "one of two that want an order");
  await receiver.stop();
});

test("old deliveries go, and of each webhook the attempts before its latest thousand", async () => {
  await using scene = await openScene();
  const id = await scene.webhook({ url: "http://127.0.0.1:1/" });
  await scene.deliveries(id, ["1", "2"]);
  await scene.query("update deliveries set created_at = now() - interval '8 days' where body = '1'");
  await scene.query(
    "insert into delivery_attempts (webhook_id, event_id, attempt, runtime_ms) select $1, gen_random_uuid(), n, 1 from generate_series(1, 1010) n",
    [id],
  );
  await purgeDeliveries(scene.database);
  assert.deepEqual(await scene.query("select body from deliveries"), [{ body: "2" }]);
  const [row] = await scene.query("select count(*), min(attempt) as first from delivery_attempts");
  assert.deepEqual(row, { count: "1000", first: "11" });
});

function delivered(delivery: Delivery): Outcome {
  return {
    delivery,
    state: "delivered",
    delaySeconds: 0,
    statusCode: 200,
    errorCode: null,
    runtimeMs: 1,
    note: "",
    isGone: false,
  };
}
