import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { type Bus, connectBus } from "@tidings/bus/connect";
import type { Consumption } from "@tidings/bus/consume";
import type { Event } from "@tidings/bus/event";
import { publish } from "@tidings/bus/publish";
import { ensureStream } from "@tidings/bus/streams";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { consumeEvents } from "./consume-events.ts";
import type { OnTaken } from "./latest-reader.ts";

const log = createLog("test", "silent");
await using cleanup = new AsyncDisposableStack();
const testDatabase = cleanup.adopt(await createTestDatabase(), ({ drop }) => drop());
const database = openDatabase({ url: testDatabase.url("contact"), log });
cleanup.defer(database.close);
const nats = cleanup.adopt(await startTestNats(), ({ stop }) => stop());
const busOf = (version: number) =>
  cleanup.adopt(connectBus({ url: nats.url, name: `version-${version}`, log, version }), ({ close }) =>
    close(),
  );
const [earlier, later] = [busOf(1), busOf(2)];
const consumptions: Consumption[] = [];
cleanup.defer(async () => {
  for (const { stop } of consumptions) await stop();
});
const started = cleanup.move();
after(() => started.disposeAsync());
for (const bus of [earlier, later]) await eventually(() => assert.ok(bus.isConnected()));

/** A durable that an earlier version reads by one subject, and a later one by two. */
async function scene() {
  const id = randomUUID();
  const stream = { name: id, subjects: [`tidings.${id}.>`] };
  const [old, added] = [`tidings.${id}.email.created`, `tidings.${id}.form.created`];
  await ensureStream(earlier, stream);
  const read = (bus: Bus, subjects: string[], onTaken?: OnTaken) => {
    const received: string[] = [];
    const durable = { name: id, stream, subjects };
    const handle = async (events: Event[]) => {
      received.push(...events.map((event) => event.id));
    };
    const consumption = consumeEvents({ database, bus, durable, handle }, onTaken);
    consumptions.push(consumption);
    return { received, consumption };
  };
  return {
    readEarlier: () => read(earlier, [old]),
    readLater: (onTaken?: OnTaken) => read(later, [old, added], onTaken),
    filters: async () => (await later.client().manager.consumers.info(id, id)).config.filter_subjects,
    both: [old, added],
    async send(subject = old): Promise<string> {
      const eventId = randomUUID();
      await publish(later, {
        ...{ id: eventId, subject, aggregateId: 1, aggregateVersion: 1, time: new Date().toISOString() },
        ...{ traceparent: undefined, actor: undefined, payload: Buffer.alloc(0) },
      });
      return eventId;
    },
    /** As if no process of the latest version had been there for a while. */
    silence: () =>
      database.query(
        { text: "update durable_readers set seen_at = now() - interval '61 seconds' where durable = $1" },
        [id],
        backgroundDeadline(),
      ),
  };
}

test("an earlier version leaves all events of a durable to a later one that is there, and narrows no filter", async () => {
  const { readEarlier, readLater, filters, both, send } = await scene();
  const old = readEarlier();
  const first = await send();
  await eventually(() => assert.deepEqual(old.received, [first]));
  const { received, consumption } = readLater();
  await consumption.opened;
  const sent: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    for (const subject of both) sent.push(await send(subject));
    // A process of the earlier version that comes back, and one that is started.
    if (round === 5) old.consumption.restart();
    if (round === 10) readEarlier();
  }
  await eventually(() => assert.deepEqual(received.toSorted(), sent.toSorted()));
  assert.deepEqual(old.received, [first]);
  assert.deepEqual(await filters(), both);
});

test("an earlier version goes on a minute after the last process of a later one, which learns that when it is back", async () => {
  const { readEarlier, readLater, filters, both, send, silence } = await scene();
  const fallen: boolean[] = [];
  const onTaken: OnTaken = (_transaction, hasFallen) => fallen.push(hasFallen);
  const old = readEarlier();
  await old.consumption.opened;
  const first = readLater(onTaken);
  await first.consumption.opened;
  await first.consumption.stop();
  const waiting = await send();
  await silence();
  await eventually(() => assert.deepEqual(old.received, [waiting]));
  const again = readLater(onTaken);
  await again.consumption.opened;
  assert.deepEqual(await filters(), both);
  const last = await send(both[1]);
  await eventually(() => assert.deepEqual(again.received, [last]));
  assert.deepEqual(fallen, [false, true]);
});
