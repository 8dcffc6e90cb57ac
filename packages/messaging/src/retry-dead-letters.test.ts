import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { connectBus } from "@tidings/bus/connect";
import type { Event } from "@tidings/bus/event";
import { headersOf } from "@tidings/bus/publish";
import { streamOf } from "@tidings/bus/streams";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { unavailable } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { consumeEvents } from "./consume-events.ts";
import { keepDeadLetter } from "./dead-letter.ts";
import { retryDeadLetters } from "./retry-dead-letters.ts";

const log = createLog("test", "silent");
const testDatabase = await createTestDatabase();
const database = openDatabase({ url: testDatabase.url("contact"), log });
// Letters need no NATS: what they hold is with them.
const bus = connectBus({ url: "nats://127.0.0.1:1", name: "test", log });
after(async () => {
  await bus.close();
  await database.close();
  await testDatabase.drop();
});

const query = (text: string, values: unknown[] = []) =>
  database.query({ text }, values, backgroundDeadline());

/** A durable, with letters that carry these texts; `handled` has what its handler took, which throws what `refuses` says. */
async function scene(texts: string[], refuses: (text: string) => Error | undefined = () => undefined) {
  const durable = { name: `test-${randomUUID()}`, stream: streamOf("test"), subjects: ["tidings.test.>"] };
  const handled: string[] = [];
  for (const text of texts) {
    const event: Event = {
      id: randomUUID(),
      subject: "tidings.test.thing.made",
      aggregateId: 7,
      aggregateVersion: 3,
      time: "2026-11-23T10:00:00.000000Z",
      traceparent: undefined,
      actor: { kind: "user", id: 1, name: "Ada" },
      payload: Buffer.from(text),
    };
    const letter = { ...event, headers: headersOf(event), error: new Error("broken"), attempts: 10 };
    await keepDeadLetter(database, durable.name, letter);
  }
  const handle = async (events: Event[]) => {
    for (const { payload, aggregateId, aggregateVersion, actor } of events) {
      const text = Buffer.from(payload).toString();
      const refusal = refuses(text);
      if (refusal) throw refusal;
      handled.push([text, aggregateId, aggregateVersion, actor?.name].join());
    }
  };
  return {
    consumer: { database, bus, durable, handle },
    handled,
    ask: () => query("update dead_letter set retry_at = now() where consumer = $1", [durable.name]),
    letters: () =>
      query(
        "select convert_from(payload, 'utf8') as text, error, attempts, retry_at from dead_letter where consumer = $1 order by id",
        [durable.name],
      ),
  };
}

test("a dead letter is handled again, whole and in order, when an operator asks for it, and is removed", async () => {
  const { consumer, handled, ask, letters } = await scene(["first", "second"]);
  assert.equal(await retryDeadLetters(consumer), 0);
  assert.equal((await letters()).length, 2);
  await ask();
  assert.equal(await retryDeadLetters(consumer), 2);
  assert.deepEqual(handled, ["first,7,3,Ada", "second,7,3,Ada"]);
  assert.deepEqual(await letters(), []);
});

test("one that fails again stays, with what went wrong now, and keeps no other from its turn", async () => {
  const { consumer, handled, ask, letters } = await scene(["bad", "good"], (text) =>
    text === "bad" ? new Error("still broken") : undefined,
  );
  await ask();
  await retryDeadLetters(consumer);
  assert.deepEqual(handled, ["good,7,3,Ada"]);
  const [bad, ...others] = await letters();
  assert.deepEqual(others, []);
  assert.match(bad?.error ?? "", /still broken/);
  assert.deepEqual([bad?.text, bad?.attempts, bad?.retry_at], ["bad", "11", null]);
});

test("one that meets an outage is tried again by itself, later", async () => {
  const { consumer, ask, letters } = await scene(["waits"], () => unavailable("away"));
  await ask();
  await retryDeadLetters(consumer);
  const [waiting] = await letters();
  assert.equal(waiting?.attempts, "10");
  assert.ok(Date.parse(waiting?.retry_at ?? "") > Date.now());
});

test("several processes share the letters, and each is handled once", async () => {
  const texts = Array.from({ length: 30 }, (_, index) => `letter ${index}`);
  const { consumer, handled, ask, letters } = await scene(texts);
  await ask();
  await Promise.all([retryDeadLetters(consumer), retryDeadLetters(consumer)]);
  assert.equal(new Set(handled).size, 30);
  assert.equal(handled.length, 30);
  assert.deepEqual(await letters(), []);
});

test("a consumer polls for dead letters to retry", async () => {
  const { consumer, ask, letters } = await scene(["told"]);
  await ask();
  const consumption = consumeEvents(consumer);
  await eventually(async () => assert.deepEqual(await letters(), []));
  await consumption.stop();
});
