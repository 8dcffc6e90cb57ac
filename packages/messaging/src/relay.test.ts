import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { type Bus, connectBus } from "@tidings/bus/connect";
import { consume } from "@tidings/bus/consume";
import type { Event } from "@tidings/bus/event";
import { publish } from "@tidings/bus/publish";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { createTestDatabase, terminateBackends } from "@tidings/testkit/postgres";
import { Client } from "pg";
import { newEvents } from "./inbox.ts";
import { readableBy } from "./known-stream.ts";
import { createOutbox, type DomainEvent } from "./outbox.ts";
import { purgeMessages } from "./purge.ts";
import { startRelay } from "./relay.ts";

const log = createLog("test", "silent");
let nats: Awaited<ReturnType<typeof startTestNats>>;
let bus: Bus;

before(async () => {
  nats = await startTestNats();
  bus = connectBus({ url: nats.url, name: "test", log });
  await eventually(() => void bus.client());
});

after(async () => {
  await bus.close();
  await nats.stop();
});

test("events are published in order, within milliseconds of their commit", async () => {
  await using scene = await openScene();
  scene.relay();
  await scene.append(1, 2, 3);
  await eventually(() => assert.deepEqual(scene.received(), [1, 2, 3]));
  await eventually(async () => assert.equal(await scene.unpublished(), 0));
});

test("events of another process are found without a nudge", async () => {
  await using scene = await openScene();
  scene.relay();
  await scene.append(1);
  await eventually(() => assert.deepEqual(scene.received(), [1]));
  const other = createOutbox();
  await scene.transaction(async (transaction) => other.append(transaction, [scene.event(2)]));
  await eventually(() => assert.deepEqual(scene.received(), [1, 2]));
});

test("a slow transaction with a lower id is not skipped, and order is kept", async () => {
  await using scene = await openScene();
  scene.relay();
  let finish: () => void = () => undefined;
  const slow = scene.transaction(async (transaction) => {
    scene.outbox.append(transaction, [scene.event(1)]);
    await transaction.query({ text: "select 1" });
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  await eventually(async () => assert.equal(await scene.openTransactions(), 1));
  await scene.append(2);
  finish();
  await slow;
  await eventually(() => assert.deepEqual(scene.received(), [1, 2]));
});

test("more than a batch is drained", async () => {
  await using scene = await openScene();
  const numbers = Array.from({ length: 1_700 }, (_, index) => index + 1);
  await scene.append(...numbers);
  scene.relay();
  await eventually(() => assert.deepEqual(scene.received(), numbers));
});

test("two relays side by side lose nothing, and the effect happens once", async () => {
  await using scene = await openScene();
  scene.relay();
  scene.relay();
  const numbers = Array.from({ length: 300 }, (_, index) => index + 1);
  await Promise.all(numbers.map((number) => scene.append(number)));
  await eventually(() => assert.deepEqual(scene.received().toSorted(byNumber), numbers));
});

test("events committed while NATS is down are published when it is back", async (t) => {
  const own = await startTestNats();
  t.after(() => own.stop());
  const ownBus = connectBus({ url: own.url, name: "test", log });
  t.after(() => ownBus.close());
  await using scene = await openScene(ownBus);
  scene.relay();
  await scene.append(1);
  await eventually(() => assert.deepEqual(scene.received(), [1]));
  await eventually(async () => assert.equal(await scene.unpublished(), 0));
  await own.kill();
  await scene.append(2, 3);
  assert.equal(await scene.unpublished(), 2);
  await own.start();
  await eventually(() => assert.deepEqual(scene.received(), [1, 2, 3]), { timeoutMs: 20_000 });
});

test("lost database connections interrupt the relay for a moment only", async () => {
  await using scene = await openScene();
  scene.relay();
  await scene.append(1);
  await eventually(() => assert.deepEqual(scene.received(), [1]));
  await terminateBackends(scene.testDatabase);
  await eventually(() => scene.append(2));
  await eventually(() => assert.equal(scene.received().at(-1), 2));
});

test("when the stream was deleted everything in the outbox is published again, and nothing happens twice", async () => {
  await using scene = await openScene();
  scene.relay();
  await scene.append(1, 2, 3);
  await eventually(async () => assert.equal(await scene.unpublished(), 0));
  await eventually(() => assert.deepEqual(scene.received(), [1, 2, 3]));
  await bus.client().manager.streams.delete(scene.stream.name);
  await scene.append(4);
  await eventually(() => assert.deepEqual(scene.received(), [1, 2, 3, 4]), { timeoutMs: 20_000 });
  await eventually(async () => assert.equal(await scene.streamed(), 4), { timeoutMs: 20_000 });
  assert.deepEqual(scene.received(), [1, 2, 3, 4]);
});

for (const [what, change] of [
  ["a stream that lacks what it had acknowledged", "last_seq = last_seq + 5"],
  ["a stream that was filled from what a database was before", "incarnation = 'another'"],
])
  test(`${what} is made anew with all of the outbox, and nothing happens twice`, async () => {
    await using scene = await openScene();
    const relay = scene.relay();
    await scene.append(1, 2);
    await eventually(() => assert.deepEqual(scene.received(), [1, 2]));
    await relay.stop();
    const { streams } = bus.client().manager;
    const { created } = await streams.info(scene.stream.name);
    await scene.query(`update relay_stream set ${change} where name = '${scene.stream.name}'`);
    scene.relay();
    await scene.append(3);
    await eventually(() => assert.deepEqual(scene.received(), [1, 2, 3]));
    assert.notEqual((await streams.info(scene.stream.name)).created, created);
    assert.equal(await scene.streamed(), 3);
  });

test("a stream that does not go with the database of a reader is not read until its owner has made it anew", async () => {
  await using scene = await openScene();
  const isReadable = readableBy(scene.database);
  const stream = { name: "OWNER", created: "2026-11-20T10:00:00.123456789Z", lastSeq: 5 };
  assert.deepEqual([await isReadable(stream), await isReadable(stream)], [true, true]);
  await scene.query("update relay_stream set incarnation = 'another' where name = 'OWNER read'");
  assert.equal(await isReadable(stream), false);
  assert.equal(await isReadable({ ...stream, created: "2026-11-20T10:00:01.5Z" }), true);
});

test("a crash between publishing and marking has no second effect", async () => {
  await using scene = await openScene();
  await scene.append(1, 2);
  for (const row of await scene.rows()) {
    await publish(bus, {
      id: row.event_id ?? "",
      subject: row.subject ?? "",
      aggregateId: Number(row.aggregate_id),
      aggregateVersion: 1,
      time: new Date().toISOString(),
      traceparent: undefined,
      actor: undefined,
      payload: Buffer.alloc(0),
    });
  }
  await eventually(() => assert.deepEqual(scene.received(), [1, 2]));
  scene.relay();
  await scene.append(3);
  await eventually(() => assert.deepEqual(scene.received(), [1, 2, 3]));
  await eventually(async () => assert.equal(await scene.unpublished(), 0));
});

test("an event larger than the bus takes arrives whole, in its place", async () => {
  await using scene = await openScene();
  const payload = randomBytes(3 * 1024 * 1024);
  const large = { ...scene.event(1), payload };
  await scene.transaction(async (transaction) => scene.outbox.append(transaction, [large, scene.event(2)]));
  scene.relay();
  await eventually(() => assert.deepEqual(scene.received(), [1, 2]));
  assert.ok(payload.equals(scene.payloads()[0] ?? Buffer.alloc(0)));
});

test("a transaction of somebody else that goes on and on holds events back for two seconds at most", async () => {
  await using scene = await openScene();
  const other = new Client({ connectionString: scene.testDatabase.adminUrl });
  await other.connect();
  await other.query("begin; select pg_current_xact_id()");
  scene.relay();
  await scene.append(1);
  await eventually(() => assert.deepEqual(scene.received(), [1]));
  await other.end();
});

test("events are forgotten when they are old and published, consumed ones remembered for a month", async () => {
  await using scene = await openScene();
  await scene.append(1, 2, 3);
  await scene.query("update outbox set created_at = now() - interval '8 days' where aggregate_id < 3");
  await scene.query(
    "delete from outbox_waiting using outbox o where o.id = outbox_waiting.id and aggregate_id <> 2",
  );
  await scene.query(
    "insert into inbox select 'x', gen_random_uuid(), now() - d * interval '1 day' from unnest('{29,31}'::int[]) d",
  );
  await purgeMessages(scene.database, new Date(Date.now() - 86_400_000));
  const left = await scene.query("select aggregate_id from outbox order by id");
  assert.deepEqual(left, [{ aggregate_id: "2" }, { aggregate_id: "3" }]);
  assert.equal((await scene.query("select 1 from inbox where consumer = 'x'")).length, 1);
});

function byNumber(one: number, other: number): number {
  return one - other;
}

/** A database of its own, a stream of its own and a consumer that notes aggregate ids, once for each event. */
async function openScene(sceneBus = bus) {
  const testDatabase = await createTestDatabase();
  const databaseUrl = testDatabase.url("webhook");
  const database: Database = openDatabase({ url: databaseUrl, log });
  const outbox = createOutbox();
  const name = randomUUID();
  const stream = { name: name.toUpperCase(), subjects: [`test.${name}.>`] };
  const subject = `test.${name}.happened`;
  const received: number[] = [];
  const payloads: Buffer[] = [];
  const relays: { stop(): Promise<void> }[] = [];
  const consumption = consume(sceneBus, {
    durable: { name: "reader", stream, subjects: [subject] },
    isReadable: readableBy(database),
    isOutage: () => false,
    deadLetter: async ({ error }) => {
      throw error;
    },
    handle: (events: Event[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const fresh = await newEvents(
          transaction,
          "reader",
          events.map(({ id }) => id),
        );
        const effects = events.filter(({ id }) => fresh.has(id)).map(({ aggregateId }) => aggregateId);
        transaction.afterCommit(() => {
          received.push(...effects);
          payloads.push(...events.map(({ payload }) => Buffer.from(payload)));
        });
      }),
  });
  const query = (text: string) => database.query({ text }, [], backgroundDeadline());
  const event = (aggregateId: number): DomainEvent => ({
    subject,
    aggregateId,
    aggregateVersion: 1,
    payload: Buffer.alloc(0),
  });
  const transaction = (work: (transaction: Transaction) => Promise<void>) =>
    database.transaction(backgroundDeadline(), work);
  const count = async (text: string) => Number((await query(text))[0]?.count);
  return {
    testDatabase,
    database,
    outbox,
    stream,
    event,
    query,
    transaction,
    received: () => received,
    payloads: () => payloads,
    relay() {
      const relay = startRelay({ database, databaseUrl, outbox, bus: sceneBus, stream, log });
      relays.push(relay);
      return relay;
    },
    append: (...ids: number[]) =>
      transaction(async (open) => {
        outbox.append(open, ids.map(event));
      }),
    rows: () => query("select event_id, subject, aggregate_id from outbox order by id"),
    unpublished: () => count("select count(*) from outbox_waiting"),
    openTransactions: () =>
      count(
        "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()",
      ),
    /** How many events the stream has, in whatever number of messages. */
    async streamed() {
      const { streams } = sceneBus.client().manager;
      const { first_seq: first, last_seq: last } = (await streams.info(stream.name)).state;
      const seqs = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      const messages = await Promise.all(seqs.map((seq) => streams.getMessage(stream.name, { seq })));
      return messages.reduce(
        (count, message) => count + Number(message?.header.get("tidings-events") || 1),
        0,
      );
    },
    async [Symbol.asyncDispose]() {
      for (const relay of relays) await relay.stop();
      await consumption.stop();
      await database.close();
      await testDatabase.drop();
    },
  };
}
