import type { Bus } from "@tidings/bus/connect";
import { consume } from "@tidings/bus/consume";
import { contactProjections } from "@tidings/bus/streams";
import { isOutage } from "@tidings/rpc/outage";
import { keepDeadLetter } from "@tidings/store/dead-letter";
import type { BuildServices } from "../segment/build.ts";
import { project } from "./project.ts";

/** Keeps up with what the neighbours tell: a durable for each of their streams. */
export function startProjecting(services: BuildServices, bus: Bus): { stop(): Promise<void> } {
  const consumptions = contactProjections.map((durable) =>
    consume(bus, {
      durable,
      handle: (events) => project(services, durable.name, events),
      isOutage,
      deadLetter: (letter) => keepDeadLetter(services.database, durable.name, letter),
    }),
  );
  return {
    async stop() {
      await Promise.all(consumptions.map((consumption) => consumption.stop()));
    },
  };
}
