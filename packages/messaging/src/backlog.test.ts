import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { type Bus, connectBus } from "@tidings/bus/connect";
import { publish } from "@tidings/bus/publish";
import { ensureDurable, ensureStream, streamOf } from "@tidings/bus/streams";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import { notFound } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import type { Source } from "@tidings/runtime/scrape";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { register } from "prom-client";
import { messagingSources } from "./backlog.ts";
import { keepDeadLetter } from "./dead-letter.ts";
import { createOutbox } from "./outbox.ts";

const log = createLog("test", "silent");
const stream = streamOf(`test${Date.now()}`);
const [subject = ""] = stream.subjects.map((filter) => filter.replace(">", "thing.made"));
let testDatabase: TestDatabase;
let database: Database;
let nats: Awaited<ReturnType<typeof startTestNats>>;
let bus: Bus;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log });
  nats = await startTestNats();
  bus = connectBus({ url: nats.url, name: "test", log });
  await eventually(() => void bus.client());
});
after(async () => {
  await database.close();
  await testDatabase.drop();
  await bus.close();
  await nats.stop();
});

const event = () => ({ subject, aggregateId: 1, aggregateVersion: 1, payload: Buffer.from("x") });
const told = (ownSubject: string) =>
  publish(bus, {
    ...event(),
    subject: ownSubject,
    id: randomUUID(),
    time: new Date().toISOString(),
    traceparent: undefined,
    actor: undefined,
  });

/** The readings of a source: `name durable` and the value. */
async function read(name: string): Promise<Record<string, number>> {
  const source = messagingSources(database, bus, stream).find((one) => one.name === name) as Source;
  const readings = await source.read(backgroundDeadline());
  // How a gauge is called only its text form says.
  const names = await Promise.all(readings.map(async ({ gauge }) => (await gauge.get()).name));
  return Object.fromEntries(
    readings.map(({ value, labels }, index) => [[names[index], labels?.durable].join(" ").trim(), value]),
  );
}

test("events that the bus does not have are counted, and the oldest has an age", async () => {
  const none = await read("outbox");
  assert.equal(none.tidings_outbox_waiting_events, 0);
  assert.equal(none.tidings_outbox_oldest_seconds, 0);
  const outbox = createOutbox();
  await database.transaction(backgroundDeadline(), async (transaction) =>
    outbox.append(transaction, [event(), event(), event()]),
  );
  await database.query(
    { text: "update outbox_waiting set created_at = now() - interval '1 hour' where id = 2" },
    [],
    backgroundDeadline(),
  );
  await database.query({ text: "delete from outbox_waiting where id = 1" }, [], backgroundDeadline());
  const some = await read("outbox");
  assert.equal(some.tidings_outbox_waiting_events, 2);
  assert.ok((some.tidings_outbox_oldest_seconds ?? 0) >= 3_600);
});

test("dead letters are counted for each durable, and by what was wrong", async () => {
  const letter = { id: "1", subject, headers: {}, payload: Buffer.from(""), error: notFound(), attempts: 10 };
  await keepDeadLetter(database, "first", letter);
  await keepDeadLetter(database, "first", { ...letter, id: "2", error: new Error("bug") });
  await keepDeadLetter(database, "second", letter);
  assert.deepEqual(await read("dead_letters"), {
    "tidings_dead_letters_kept first": 2,
    "tidings_dead_letters_kept second": 1,
  });
  const text = await register.getSingleMetricAsString("tidings_dead_letters_total");
  assert.match(text, /\{durable="first",reason="NOT_FOUND"\} 1/);
  assert.match(text, /\{durable="first",reason="INTERNAL"\} 1/);
});

test("a durable that nobody consumes is behind by what it would be sent, and by nothing else", async () => {
  const durable = { name: "wanted", stream, subjects: [subject] };
  const other = subject.replace("made", "lost");
  await ensureStream(bus, stream);
  await ensureDurable(bus, durable, 10);
  await ensureDurable(bus, { name: "neither", stream, subjects: [subject.replace("made", "sold")] }, 10);
  await told(other);
  const between = Date.now();
  await eventually(() => assert.ok(Date.now() > between + 1));
  await told(subject);
  await told(subject);
  const lag = await read("consumers");
  assert.equal(lag["tidings_consumer_pending_messages wanted"], 2);
  assert.equal(lag["tidings_consumer_ack_pending_messages wanted"], 0);
  const oldest = lag["tidings_consumer_oldest_seconds wanted"] ?? 0;
  assert.ok(oldest > 0 && oldest <= (Date.now() - between) / 1_000, `${oldest} s`);
  assert.equal(lag["tidings_consumer_pending_messages neither"], 0);
  assert.equal(lag["tidings_consumer_oldest_seconds neither"], 0);
  const consumer = await bus.client().jetstream.consumers.get(stream.name, durable.name);
  await (await consumer.next())?.ackAck();
  await consumer.next();
  await eventually(async () => {
    const after = await read("consumers");
    assert.equal(after["tidings_consumer_pending_messages wanted"], 0);
    assert.equal(after["tidings_consumer_ack_pending_messages wanted"], 1);
    assert.ok((after["tidings_consumer_oldest_seconds wanted"] ?? 0) > 0);
  });
});
