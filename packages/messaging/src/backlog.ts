import type { Bus } from "@tidings/bus/connect";
import { consumerLag, lagGauges } from "@tidings/bus/consumer-lag";
import type { StreamDefinition } from "@tidings/bus/streams";
import { type Database, prepared } from "@tidings/database/database";
import type { Source } from "@tidings/runtime/scrape";
import { Gauge } from "prom-client";

const waiting = new Gauge({
  name: "tidings_outbox_waiting_events",
  help: "Events that the bus does not have yet, counted to 10000",
});
const oldest = new Gauge({
  name: "tidings_outbox_oldest_seconds",
  help: "Age of the oldest event that the bus does not have yet",
});
const held = new Gauge({
  name: "tidings_outbox_held_events",
  help: "Events that wait, for two seconds at most, for an older transaction anywhere in the cluster, counted to 500",
});
const deadLetters = new Gauge({
  name: "tidings_dead_letters_kept",
  help: "Events kept as dead letters, until an operator removes them, counted to 10000",
  labelNames: ["durable"],
});

const selectOutbox = prepared(
  "backlog_outbox",
  `select (select extract(epoch from now() - created_at) from outbox_waiting order by id limit 1) as seconds,
     (select count(*) from (select from outbox_waiting limit 10000) as waiting) as waiting,
     (select count(*) from (select from outbox_waiting
       where xid >= pg_snapshot_xmin(pg_current_snapshot()) limit 500) as held) as held`,
);
const selectDeadLetters = prepared(
  "backlog_dead_letters",
  `select consumer, count(*) from (select consumer from dead_letter limit 10000) as kept group by consumer`,
);

/** Event metrics of one process: outbox backlog, dead letters, and pending messages of its stream's consumers. */
export function messagingSources(database: Database, bus: Bus, stream: StreamDefinition): Source[] {
  return [
    {
      name: "outbox",
      asks: "database",
      gauges: [waiting, oldest, held],
      async read(deadlineMs) {
        const [row] = await database.query(selectOutbox, [], deadlineMs);
        return [
          { gauge: waiting, value: Number(row?.waiting) },
          { gauge: oldest, value: Math.max(0, Number(row?.seconds ?? 0)) },
          { gauge: held, value: Number(row?.held) },
        ];
      },
    },
    {
      name: "dead_letters",
      asks: "database",
      gauges: [deadLetters],
      async read(deadlineMs) {
        const rows = await database.query(selectDeadLetters, [], deadlineMs);
        return rows.map(({ consumer, count }) => ({
          gauge: deadLetters,
          labels: { durable: consumer ?? "" },
          value: Number(count),
        }));
      },
    },
    { name: "consumers", asks: "bus", gauges: lagGauges, read: () => consumerLag(bus, stream) },
  ];
}
