import type { Pool } from "pg";
import { Gauge } from "prom-client";

const pools = new Set<Pool>();
const sum = (count: (pool: Pool) => number) => [...pools].reduce((all, pool) => all + count(pool), 0);

new Gauge({
  name: "tidings_database_connections",
  help: "Connections to the database: at work, or open and idle",
  labelNames: ["state"],
  collect() {
    this.set(
      { state: "in_use" },
      sum(({ totalCount, idleCount }) => totalCount - idleCount),
    );
    this.set(
      { state: "idle" },
      sum(({ idleCount }) => idleCount),
    );
  },
});
new Gauge({
  name: "tidings_database_connections_max",
  help: "Connections to the database that this process may have",
  collect() {
    this.set(sum(({ options }) => options.max));
  },
});
new Gauge({
  name: "tidings_database_waiting",
  help: "Statements and transactions that wait for a connection",
  collect() {
    this.set(sum(({ waitingCount }) => waitingCount));
  },
});

/** Shows how far a pool is used with each scrape; the function that is returned ends that. */
export function watchPool(pool: Pool): () => void {
  pools.add(pool);
  return () => void pools.delete(pool);
}
