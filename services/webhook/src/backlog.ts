import { type Database, prepared } from "@tidings/database/database";
import type { Source } from "@tidings/runtime/scrape";
import { Gauge } from "prom-client";
import { deliveryQueue } from "./delivery.ts";

const waiting = new Gauge({
  name: "tidings_deliveries_waiting",
  help: "Deliveries that are not made, due or not, counted to 10000",
});
const overdue = new Gauge({
  name: "tidings_deliveries_overdue_seconds",
  help: "How long the delivery that may be attempted first has been due; 0 when none is",
});

const deferred = new Gauge({
  name: "tidings_webhooks_deferred",
  help: "Webhooks that fail and are told later of what happens meanwhile",
});

const selectWaiting = prepared(
  "deliveries_waiting",
  `select (select count(*) from (select from deliveries where state = 'waiting' limit 10000) as waiting) as waiting,
     (select count(*) from deferred_webhooks) as deferred`,
);

/** How many deliveries wait, and how late the first of those is that may be attempted. */
export function deliveriesSource(database: Database): Source {
  return {
    name: "deliveries",
    asks: "database",
    gauges: [waiting, overdue, deferred],
    async read(deadlineMs) {
      const [row] = await database.query(selectWaiting, [], deadlineMs);
      const dueMs = await deliveryQueue.untilDue(database);
      return [
        { gauge: waiting, value: Number(row?.waiting) },
        { gauge: deferred, value: Number(row?.deferred) },
        { gauge: overdue, value: Math.max(0, -(dueMs ?? 0) / 1_000) },
      ];
    },
  };
}
