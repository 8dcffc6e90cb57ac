import { type Bus, BusUnavailable } from "@tidings/bus/connect";
import type { Event } from "@tidings/bus/event";
import { readLetter } from "@tidings/bus/read-events";
import type { DurableDefinition } from "@tidings/bus/streams";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { isOutage } from "@tidings/rpc/outage";
import { atEachTick } from "@tidings/runtime/tick";
import { whatWentWrong } from "./dead-letter.ts";

export interface EventConsumer {
  database: Database;
  bus: Bus;
  durable: DurableDefinition;
  /** Must be idempotent: an event can come more than once. */
  handle(events: Event[]): Promise<void>;
}

/** How long it takes at most until a process sees that it is to try again. */
const LOOK_MS = 30_000;
const CLAIMED_MAX = 20;

/** A claim of letters ends after five minutes, so that other processes may take them. */
const claimStatement = prepared(
  "dead_letter_claim",
  `update dead_letter set retry_at = now() + interval '5 minutes'
   where id = any (array(
     select id from dead_letter where consumer = $1 and retry_at <= now() order by id limit ${CLAIMED_MAX}
     for update skip locked))
   returning id, subject, headers, payload`,
);
const doneStatement = prepared("dead_letter_done", "delete from dead_letter where id = $1");
const failedStatement = prepared(
  "dead_letter_failed",
  "update dead_letter set retry_at = null, attempts = attempts + 1, error = $2 where id = $1",
);

/**
 * Handles dead letters again that have a `retry_at`, each on its own, in the order they were dead-lettered. One that fails again stays, with
 * what went wrong now; one that meets an outage is tried again later.
 */
export function startRetrying(consumer: EventConsumer): { stop(): Promise<void> } {
  const { bus, durable } = consumer;
  const retryAll = async (signal: AbortSignal) => {
    try {
      while ((await retryDeadLetters(consumer)) === CLAIMED_MAX && !signal.aborted);
    } catch (error) {
      const fields = { err: error, durable: durable.name };
      bus.log.warn(fields, "dead letters could not be read, trying again later");
    }
  };
  return atEachTick(LOOK_MS, retryAll, { atOnce: true });
}

/** One look: how many letters there were to handle. */
export async function retryDeadLetters(consumer: EventConsumer): Promise<number> {
  const letters = await consumer.database.query(
    claimStatement,
    [consumer.durable.name],
    backgroundDeadline(),
  );
  const inOrder = letters.sort((one, other) => Number(one.id) - Number(other.id));
  for (const letter of inOrder) await retry(consumer, letter);
  return letters.length;
}

async function retry({ database, bus, durable, handle }: EventConsumer, letter: Row): Promise<void> {
  const { id, subject, headers, payload } = letter;
  const fields = { durable: durable.name, subject, letter: id };
  try {
    const events = await readLetter(bus, {
      subject: subject ?? "",
      headers: JSON.parse(headers ?? "{}"),
      payload: Buffer.from(payload?.slice(2) ?? "", "hex"),
    });
    await handle(events);
    await database.query(doneStatement, [id], backgroundDeadline());
    bus.log.info(fields, "an event that was set aside was handled");
  } catch (error) {
    bus.log.warn(
      { ...fields, err: error },
      "an event that was set aside could not be handled this time either",
    );
    if (!(error instanceof BusUnavailable || isOutage(error)))
      await database.query(failedStatement, [id, whatWentWrong(error).text], backgroundDeadline());
  }
}
