import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { type Bus, BusUnavailable, connectBus } from "./connect.ts";
import { type ConsumeOptions, consume } from "./consume.ts";
import type { Event } from "./event.ts";
import type { DeadLetter } from "./handle-batch.ts";
import { packsOf } from "./payload/pack.ts";
import { publish, publishPack } from "./publish.ts";
import { ACK_WAIT_MS, type DurableDefinition, durableKey, ensureDurable, ensureStream } from "./streams.ts";

const log = createLog("test", "silent");
let nats: Awaited<ReturnType<typeof startTestNats>>;
let bus: Bus;
/** Stopped at the end, also when a test failed half-way. */
const opened: { stop(): Promise<void> }[] = [];

before(async () => {
  nats = await startTestNats();
  bus = connectBus({ url: nats.url, name: "test", log });
  await connected(bus);
});

after(async () => {
  for (const { stop } of opened) await stop();
  await bus.close();
  await nats.stop();
});

test("an event arrives as it was published", async () => {
  const durable = await newDurable();
  const sent = newEvent(durable, { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
  await publish(bus, sent);
  const { received } = collect(durable);
  await eventually(() => assert.equal(received.length, 1));
  const [event] = received;
  assert.deepEqual({ ...event, payload: Buffer.from(event?.payload ?? []) }, sent);
});

test("an event with the fifth word that subjects once had is read as one of its kind, alone and in a pack", async () => {
  const id = randomUUID();
  const stream = { name: id, subjects: [`tidings.${id}.>`] };
  const kind = `tidings.${id}.contact.updated`;
  const durable: DurableDefinition = { name: id, stream, subjects: [`tidings.${id}.>`] };
  await ensureStream(bus, stream);
  await ensureDurable(bus, durable, 200);
  await publishPack(
    bus,
    [1, 2].map(() => newEvent(durable, { subject: `${kind}.own` })),
  );
  await publish(bus, newEvent(durable, { subject: `${kind}.own` }));
  const { received } = collect(durable);
  await eventually(() =>
    assert.deepEqual(
      received.map(({ subject }) => subject),
      [kind, kind, kind],
    ),
  );
});

test("a durable is sent the subjects that it names, and wakes for no other", async () => {
  const id = randomUUID();
  const stream = { name: id, subjects: [`tidings.${id}.>`] };
  const [created, deleted, other] = ["email.created", "form.deleted", "tweet.updated"].map(
    (kind) => `tidings.${id}.${kind}`,
  ) as [string, string, string];
  const durable = { name: id, stream, subjects: [created, deleted] };
  await ensureStream(bus, stream);
  const { received } = collect(durable);
  for (const subject of [other, created, other, deleted, other])
    await publish(bus, newEvent(durable, { subject }));
  await eventually(() => assert.equal(received.length, 2));
  const { delivered, num_pending } = await bus.client().manager.consumers.info(id, id);
  assert.deepEqual([delivered.consumer_seq, num_pending], [2, 0]);
});

test("a durable of an earlier version, with one wide filter, goes on where it was, with nothing lost or sent twice", async () => {
  const id = randomUUID();
  const stream = { name: id, subjects: [`tidings.${id}.>`] };
  const [wanted, other] = [`tidings.${id}.email.created`, `tidings.${id}.tweet.updated`];
  const durable = { name: id, stream, subjects: [wanted, `tidings.${id}.email.deleted`] };
  await ensureStream(bus, stream);
  const { manager, jetstream } = bus.client();
  await manager.consumers.add(id, {
    durable_name: id,
    filter_subject: `tidings.${id}.*.*`,
    ack_policy: "explicit",
    ack_wait: ACK_WAIT_MS * 1_000_000,
    max_ack_pending: 200,
    max_deliver: -1,
  });
  const sent = Array.from({ length: 30 }, (_, index) =>
    newEvent(durable, { subject: index % 3 === 0 ? other : wanted }),
  );
  for (const event of sent.slice(0, 20)) await publish(bus, event);
  const earlier: string[] = [];
  const consumer = await jetstream.consumers.get(id, id);
  for await (const message of await consumer.fetch({ max_messages: 10 })) {
    if (message.subject === wanted) earlier.push(message.headers?.get("ce-id") ?? "");
    await message.ackAck();
  }
  const { received } = collect(durable);
  for (const event of sent.slice(20)) await publish(bus, event);
  const expected = sent.filter(({ subject }) => subject === wanted).map((event) => event.id);
  await eventually(() => assert.deepEqual([...earlier, ...received.map((event) => event.id)], expected));
});

test("a process reads by no durable that it did not declare", async () => {
  const [declared, other] = [await newDurable(), await newDurable()];
  const strict = connectBus({ url: nats.url, name: "strict", log, durables: [durableKey(declared)] });
  after(() => strict.close());
  const options = {
    handle: async () => undefined,
    isReadable: async () => true,
    isOutage: () => false,
    deadLetter: async () => undefined,
  };
  assert.throws(() => consume(strict, { ...options, durable: other }), /not declared/);
  await consume(strict, { ...options, durable: declared }).stop();
});

test("an event that is published twice is stored once", async () => {
  const durable = await newDurable();
  const event = newEvent(durable);
  await Promise.all([publish(bus, event), publish(bus, event), publish(bus, event)]);
  assert.equal(await messagesIn(durable), 1);
});

test("waiting events arrive in batches, in the order of the stream", async () => {
  const durable = await newDurable();
  const events = Array.from({ length: 250 }, () => newEvent(durable));
  for (const event of events) await publish(bus, event);
  const sizes: number[] = [];
  const { received } = collect(durable, async (batch) => void sizes.push(batch.length));
  await eventually(() => assert.equal(received.length, 250));
  assert.deepEqual(
    received.map(({ id }) => id),
    events.map(({ id }) => id),
  );
  assert.ok(Math.max(...sizes) > 1 && Math.max(...sizes) <= 100, `batches of ${sizes}`);
});

test("one bad event does not hold up the others of its batch and comes again later", async () => {
  const durable = await newDurable();
  const events = Array.from({ length: 5 }, () => newEvent(durable));
  const bad = events[2]?.id;
  for (const event of events) await publish(bus, event);
  let failures = 0;
  const { received } = collect(durable, async (batch) => {
    if (batch.some(({ id }) => id === bad) && failures < 3) {
      failures += 1;
      throw new Error("cannot be handled");
    }
  });
  await eventually(() => assert.equal(received.length, 4));
  assert.ok(received.every(({ id }) => id !== bad));
  await eventually(() => assert.equal(received.length, 5));
  assert.equal(received[4]?.id, bad);
});

test("a batch that fails is halved until the bad event stands alone", async () => {
  const durable = await newDurable();
  const events = Array.from({ length: 64 }, () => newEvent(durable));
  for (const event of events) await publish(bus, event);
  const bad = events[40]?.id;
  let tries = 0;
  const { received } = collect(durable, async (batch) => {
    tries += 1;
    if (batch.some(({ id }) => id === bad)) throw new Error("cannot be handled in time");
  });
  await eventually(() => assert.equal(received.length, 63));
  assert.ok(tries <= 30, `${tries} tries`);
  const before = events.filter(({ id }) => id !== bad).map(({ id }) => id);
  assert.deepEqual(
    received.map(({ id }) => id),
    before,
  );
});

test("an event that fails for the tenth time is set aside", async () => {
  const durable = await newDurable();
  const event = newEvent(durable);
  await publish(bus, event);
  await refuse(durable, 9);
  const letters: DeadLetter[] = [];
  collect(durable, () => Promise.reject(new Error("never")), {
    deadLetter: async (letter) => void letters.push(letter),
  });
  await eventually(() => assert.equal(letters.length, 1));
  assert.equal(letters[0]?.id, event.id);
  assert.equal(letters[0]?.attempts, 10);
  await eventually(async () => assert.equal(await unacknowledged(durable), 0));
});

test("events of one subject that follow each other are one message, and arrive as they were published", async () => {
  const durable = await newDurable();
  const actor = { kind: "user", id: 1, name: "Ada Lovelace" };
  const events = Array.from({ length: 120 }, (_, index) => newEvent(durable, index % 2 ? { actor } : {}));
  const packs = packsOf(events, bus.payloadMax());
  for (const pack of packs) await publishPack(bus, pack);
  assert.equal(await messagesIn(durable), packs.length);
  assert.ok(packs.length <= 3, `${packs.length} messages`);
  const { received } = collect(durable);
  await eventually(() => assert.equal(received.length, 120));
  const plain = received.map((event) => ({ ...event, payload: Buffer.from(event.payload) }));
  assert.deepEqual(plain, events);
});

test("an event that is traced, large or of another subject is not packed", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const event = (subject: string, more: Partial<Event> = {}): Event => ({
    ...{ id: randomUUID(), subject, aggregateId: 1, aggregateVersion: 1, time: "" },
    ...{ traceparent: undefined, actor: undefined, payload: Buffer.from("x") },
    ...more,
  });
  const large = Buffer.alloc(200_000);
  const events = [event("a"), event("a"), event("b"), event("a"), event("a", { traceparent }), event("a")];
  const sizes = (some: Event[], payloadMax = 1_000_000) =>
    packsOf(some, payloadMax).map((pack) => pack.length);
  assert.deepEqual(sizes(events), [2, 1, 1, 1, 1]);
  assert.deepEqual(
    sizes([event("a"), event("a", { payload: large }), event("a", { payload: large })]),
    [2, 1],
  );
  assert.deepEqual(packsOf(events, 1_000_000).flat(), events);
  const small = Array.from({ length: 6 }, () => event("a", { payload: Buffer.alloc(1_000) }));
  assert.deepEqual(sizes(small, 6_000), [2, 2, 2]);
});

test("a failing event of a pack is delivered again without the others, and becomes a dead letter in the end", async () => {
  const durable = await newDurable();
  const events = Array.from({ length: 8 }, () => newEvent(durable));
  const bad = new Set([events[2]?.id, events[7]?.id]);
  const handle = async (batch: Event[]) => {
    if (batch.some(({ id }) => bad.has(id))) throw new Error("cannot be handled");
  };
  await publishPack(bus, events);
  await refuse(durable, 9);
  const letters: DeadLetter[] = [];
  const { received } = collect(durable, handle, { deadLetter: async (letter) => void letters.push(letter) });
  await eventually(() => assert.equal(letters.length, 2));
  assert.deepEqual(
    letters.map(({ id, headers }) => [id, headers["ce-id"]]),
    [...bad].map((id) => [id, id]),
  );
  assert.equal(received.length, 6);
  await eventually(async () => assert.equal(await unacknowledged(durable), 0));
});

test("a batch waits in place, and in order, while what its handler needs is away", async () => {
  const durable = await newDurable();
  const events = Array.from({ length: 3 }, () => newEvent(durable));
  for (const event of events) await publish(bus, event);
  let isAway = true;
  let attempts = 0;
  const { received } = collect(
    durable,
    async () => {
      attempts += 1;
      if (isAway) throw new Error("away");
    },
    { isOutage: () => isAway },
  );
  await eventually(() => assert.ok(attempts > 2));
  isAway = false;
  await eventually(() => assert.equal(received.length, 3));
  assert.deepEqual(
    received.map(({ id }) => id),
    events.map(({ id }) => id),
  );
});

test("consumption goes on when the stream was deleted", async () => {
  const durable = await newDurable();
  await publish(bus, newEvent(durable));
  const { received } = collect(durable);
  await eventually(() => assert.equal(received.length, 1));
  await bus.client().manager.streams.delete(durable.stream.name);
  await eventually(() => publish(bus, newEvent(durable)), { timeoutMs: 20_000 });
  await eventually(() => assert.ok(received.length >= 2), { timeoutMs: 20_000 });
});

test("a definition that grew is brought up to date", async () => {
  const { stream } = await newDurable();
  const subjects = [...stream.subjects, `${stream.subjects[0]?.replace(".>", "")}-more.>`];
  await ensureStream(bus, { ...stream, subjects });
  const info = await bus.client().manager.streams.info(stream.name);
  assert.deepEqual(info.config.subjects, subjects);
});

test("stopping leaves what was not handled to the next consumer", async () => {
  const durable = await newDurable();
  for (let count = 0; count < 120; count += 1) await publish(bus, newEvent(durable));
  let release: () => void = () => undefined;
  const first = collect(durable, () => new Promise((resolve) => (release = () => resolve())));
  await eventually(() => assert.ok(release.length === 0 && first.started() > 0));
  const stopped = first.stop();
  release();
  await stopped;
  const second = collect(durable);
  await eventually(() => assert.equal(first.received.length + second.received.length, 120), {
    timeoutMs: ACK_WAIT_MS / 3,
  });
});

test("NATS may be away at the start and in between", async () => {
  const own = await startTestNats();
  await own.kill();
  const late = connectBus({ url: own.url, name: "late", log });
  const durable = durableOf(randomUUID());
  const received = new Set<string>();
  const consumption = consume(late, {
    ...quiet(durable),
    handle: async (events) => {
      for (const { id } of events) received.add(id);
    },
  });
  opened.push(consumption, { stop: late.close }, { stop: own.stop });
  await assert.rejects(publish(late, newEvent(durable)), BusUnavailable);
  await own.start();
  await eventually(() => publish(late, newEvent(durable)));
  await eventually(() => assert.equal(received.size, 1));
  await own.kill();
  await eventually(() => assert.equal(late.isConnected(), false));
  await own.start();
  await eventually(() => publish(late, newEvent(durable)));
  await eventually(() => assert.equal(received.size, 2));
});

function durableOf(name: string): DurableDefinition {
  const stream = { name: name.toUpperCase(), subjects: [`test.${name}.>`] };
  return { name: "reader", stream, subjects: [`test.${name}.happened`] };
}

async function newDurable(): Promise<DurableDefinition> {
  const durable = durableOf(randomUUID());
  await ensureStream(bus, durable.stream);
  await ensureDurable(bus, durable, 200);
  return durable;
}

function newEvent(durable: DurableDefinition, more: Partial<Event> = {}): Event {
  return {
    id: randomUUID(),
    subject: durable.subjects[0] ?? "",
    aggregateId: 7,
    aggregateVersion: 3,
    actor: { kind: "user", id: 7, name: "Zoë" },
    time: "2026-11-20T10:00:00.123456Z",
    traceparent: undefined,
    payload: Buffer.from("payload"),
    ...more,
  };
}

function quiet(durable: DurableDefinition): Omit<ConsumeOptions, "handle"> {
  return {
    durable,
    isReadable: async () => true,
    isOutage: () => false,
    deadLetter: async ({ error }) => {
      throw error;
    },
  };
}

/** Consumes into a list, after `handle` agreed. */
function collect(
  durable: DurableDefinition,
  handle: (events: Event[]) => Promise<void> = async () => undefined,
  options: Partial<ConsumeOptions> = {},
) {
  const received: Event[] = [];
  let started = 0;
  const consumption = consume(bus, {
    ...quiet(durable),
    ...options,
    async handle(events) {
      started += 1;
      await handle(events);
      received.push(...events);
    },
  });
  opened.push(consumption);
  return { received, started: () => started, stop: consumption.stop };
}

/** Lets an event be delivered, and refused, a number of times. */
async function refuse(durable: DurableDefinition, times: number): Promise<void> {
  const consumer = await bus.client().jetstream.consumers.get(durable.stream.name, durable.name);
  for (let count = 0; count < times; count += 1) (await consumer.next())?.nak();
}

async function messagesIn({ stream }: DurableDefinition): Promise<number> {
  return (await bus.client().manager.streams.info(stream.name)).state.messages;
}

async function unacknowledged({ stream, name }: DurableDefinition): Promise<number> {
  const info = await bus.client().manager.consumers.info(stream.name, name);
  return info.num_ack_pending + info.num_pending;
}

function connected(one: Bus): Promise<void> {
  return eventually(() => void one.client());
}
