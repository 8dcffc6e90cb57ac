import { type Database, prepared } from "@tidings/database/database";
import type { Source } from "@tidings/runtime/scrape";
import { Gauge } from "prom-client";

const labelNames = ["kind"];
const open = new Gauge({
  name: "tidings_jobs_open",
  help: "Jobs that are not done, due or not, counted to 10000",
  labelNames,
});
const overdue = new Gauge({
  name: "tidings_jobs_overdue_seconds",
  help: "How long the job that was due first has been due; 0 when none is",
  labelNames,
});
const setAside = new Gauge({
  name: "tidings_jobs_set_aside",
  help: "Jobs that were given up and are kept, until they are let begin anew, counted to 10000",
  labelNames,
});

const unknown = new Gauge({
  name: "tidings_jobs_unknown",
  help: "Jobs whose worker died after it began an effect that cannot be repeated, counted to 10000",
  labelNames,
});

const selectBacklog = prepared(
  "jobs_backlog",
  `select k.kind,
     (select extract(epoch from now() - due_at) from jobs
      where kind = k.kind and state = 'waiting' order by due_at limit 1) as overdue,
     (select count(*) from (select from jobs where kind = k.kind and state = 'waiting' limit 10000) as o) as open,
     (select count(*) from (select from jobs where kind = k.kind and state = 'set_aside' limit 10000) as s) as set_aside,
     (select count(*) from (select from jobs where kind = k.kind and state = 'unknown' limit 10000) as u) as unknown
   from unnest($1::text[]) as k (kind)`,
);

/** How many jobs of these kinds there are, and for how long they have been due. */
export function jobsSource(database: Database, kinds: string[]): Source {
  return {
    name: "jobs",
    asks: "database",
    gauges: [open, overdue, setAside, unknown],
    async read(deadlineMs) {
      const rows = await database.query(selectBacklog, [kinds], deadlineMs);
      return rows.flatMap((row) => {
        const labels = { kind: row.kind ?? "" };
        return [
          { gauge: open, labels, value: Number(row.open) },
          { gauge: overdue, labels, value: Math.max(0, Number(row.overdue ?? 0)) },
          { gauge: setAside, labels, value: Number(row.set_aside) },
          { gauge: unknown, labels, value: Number(row.unknown) },
        ];
      });
    },
  };
}
