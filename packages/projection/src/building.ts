import { type Database, prepared } from "@tidings/database/database";
import type { Source } from "@tidings/runtime/scrape";
import { Gauge } from "prom-client";

const building = new Gauge({
  name: "tidings_projections_building",
  help: "Projections that are being made from nothing: what they are for is not all there yet",
});
const selectBuilding = prepared(
  "projections_building",
  "select count(*) from projection_builds where done_at is null",
);

/** How many projections are not there yet. */
export function buildingSource(database: Database): Source {
  return {
    name: "projections",
    asks: "database",
    gauges: [building],
    async read(deadlineMs) {
      const [row] = await database.query(selectBuilding, [], deadlineMs);
      return [{ gauge: building, value: Number(row?.count) }];
    },
  };
}
