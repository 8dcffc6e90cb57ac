import { BusUnavailable } from "@tidings/bus/connect";
import { type Consumption, consume } from "@tidings/bus/consume";
import { isOutage } from "@tidings/rpc/outage";
import { atEachTick } from "@tidings/runtime/tick";
import { keepDeadLetter } from "./dead-letter.ts";
import { readableBy } from "./known-stream.ts";
import { claimDurable, hasLaterReader, type OnTaken, type ReaderVersion } from "./latest-reader.ts";
import { type EventConsumer, startRetrying } from "./retry-dead-letters.ts";

const CLAIM_MS = 15_000;

/**
 * Consumes a durable of a stream that goes with this database. An event that was tried often enough is kept there as a dead letter, and
 * is handled again when an operator asks for it. Processes of an earlier version leave the durable alone while a later version reads it.
 */
export function consumeEvents(consumer: EventConsumer, onTaken?: OnTaken): Consumption {
  const { database, bus, durable } = consumer;
  const version: ReaderVersion = [bus.version, durable.subjects.length];
  const claim = () => claimDurable(database, durable.name, version, onTaken);
  const isKnown = readableBy(database);
  const handle: EventConsumer["handle"] = async (events) => {
    if (await hasLaterReader(database, durable.name, version)) {
      consumption.restart();
      throw new BusUnavailable(`a later version reads ${durable.name}`);
    }
    await consumer.handle(events);
  };
  const consumption = consume(bus, {
    durable,
    handle,
    isReadable: async (stream) => (await isKnown(stream)) && (await claim()) !== "refused",
    isOutage,
    deadLetter: (letter) => keepDeadLetter(database, durable.name, letter),
  });
  const claiming = atEachTick(CLAIM_MS, async () => {
    try {
      if ((await claim()) !== "kept") consumption.restart();
    } catch (error) {
      bus.log.warn({ err: error, durable: durable.name }, "a durable could not be claimed, trying again");
    }
  });
  const retrying = startRetrying({ ...consumer, handle });
  return {
    ...consumption,
    async stop() {
      await Promise.all([consumption.stop(), retrying.stop(), claiming.stop()]);
    },
  };
}
