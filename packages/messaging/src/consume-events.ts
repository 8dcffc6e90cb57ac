import { type Consumption, consume } from "@tidings/bus/consume";
import { isOutage } from "@tidings/rpc/outage";
import { keepDeadLetter } from "./dead-letter.ts";
import { readableBy } from "./known-stream.ts";
import { type EventConsumer, startRetrying } from "./retry-dead-letters.ts";

/**
 * Consumes a durable of a stream that goes with this database. What was tried often enough is kept there as a dead letter, and
 * is handled again when an operator asks for it.
 */
export function consumeEvents(consumer: EventConsumer): Consumption {
  const { database, bus, durable, handle } = consumer;
  const consumption = consume(bus, {
    durable,
    handle,
    isReadable: readableBy(database),
    isOutage,
    deadLetter: (letter) => keepDeadLetter(database, durable.name, letter),
  });
  const retrying = startRetrying(consumer);
  return {
    async stop() {
      await Promise.all([consumption.stop(), retrying.stop()]);
    },
  };
}
