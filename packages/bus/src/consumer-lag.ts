import type { ConsumerInfo, NextMsgRequest, SeqMsgRequest } from "@nats-io/jetstream";
import { Gauge } from "prom-client";
import type { Bus } from "./connect.ts";
import type { StreamDefinition } from "./streams.ts";

const labelNames = ["stream", "durable"];
const pending = new Gauge({
  name: "tidings_consumer_pending_messages",
  help: "Messages of a stream that were not delivered to a durable yet; one holds up to 50 events",
  labelNames,
});
const ackPending = new Gauge({
  name: "tidings_consumer_ack_pending_messages",
  help: "Messages that were delivered to a durable and are not acknowledged yet",
  labelNames,
});
const oldest = new Gauge({
  name: "tidings_consumer_oldest_seconds",
  help: "Age of the oldest message that a durable has not acknowledged; 0 when it has them all",
  labelNames,
});

export const lagGauges = [pending, ackPending, oldest];

/** Far more than a stream has: what somebody else makes there does not fill our memory. */
const DURABLES_MAX = 50;

/** How far the durables of a stream are behind it, whether or not a process consumes them. */
export async function consumerLag(bus: Bus, { name: stream }: StreamDefinition) {
  const { manager } = bus.client();
  const durables: ConsumerInfo[] = [];
  for await (const info of manager.consumers.list(stream))
    if (info.config.durable_name && durables.length < DURABLES_MAX) durables.push(info);
  const readings = durables.map(async (info) => {
    const labels = { stream, durable: info.name };
    return [
      { gauge: pending, labels, value: info.num_pending },
      { gauge: ackPending, labels, value: info.num_ack_pending },
      { gauge: oldest, labels, value: await ageOfOldest(bus, info) },
    ];
  });
  return (await Promise.all(readings)).flat();
}

/** In seconds. */
async function ageOfOldest(bus: Bus, info: ConsumerInfo): Promise<number> {
  const { stream_name, ack_floor, num_pending, num_ack_pending, config } = info;
  if (num_pending + num_ack_pending === 0) return 0;
  // The next message of the stream may have a subject that the durable is not sent.
  const subjects = config.filter_subjects ?? [config.filter_subject ?? ">"];
  const messages = await Promise.all(
    subjects.map((subject) => {
      const next: SeqMsgRequest & NextMsgRequest = { seq: ack_floor.stream_seq + 1, next_by_subj: subject };
      return bus.client().manager.streams.getMessage(stream_name, next);
    }),
  );
  // A message that the stream no longer has is not waited for.
  const times = messages.flatMap((message) => message?.time.getTime() ?? []);
  return times.length > 0 ? Math.max(0, (Date.now() - Math.min(...times)) / 1_000) : 0;
}
