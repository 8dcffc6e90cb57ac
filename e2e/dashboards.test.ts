import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DASHBOARDS_FOLDER, dashboards, dashboardText } from "@tidings/scripts/dashboards";
import { metricTable, strangersIn } from "./metric-table.ts";
import { promtoolOn } from "./promtool.ts";

const FOLDER = join(import.meta.dirname, "..", DASHBOARDS_FOLDER);

/** Grafana puts the length of two scrapes and more there. */
const asPromQl = (expression: string) => expression.replaceAll("$__rate_interval", "2m");
const expressions = Object.values(dashboards).flatMap(({ panels }) =>
  panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
);

test("the files are as they are declared", () => {
  assert.deepEqual(readdirSync(FOLDER).toSorted(), Object.keys(dashboards).toSorted());
  for (const [name, shown] of Object.entries(dashboards))
    assert.equal(
      readFileSync(join(FOLDER, name), "utf8"),
      dashboardText(shown),
      `${name}. Run: npm run generate`,
    );
});

test("every expression is PromQL, and of metrics and labels that there are", async () => {
  for (const expression of expressions) assert.deepEqual(strangersIn(expression), [], expression);
  const rules = expressions.map((expression, index) => ({
    record: `panel:${index}`,
    expr: asPromQl(expression),
  }));
  await promtoolOn(["check", "rules"], { groups: [{ name: "panels", rules }] });
});

test("every metric is shown somewhere, but those about scrapes and clocks", () => {
  const shown = expressions.join("\n");
  const hidden = metricTable.filter(({ name }) => !shown.includes(name)).map(({ name }) => name);
  assert.deepEqual(hidden, ["tidings_rpc_clock_disagreements_total", "tidings_scrape_duration_seconds"]);
});
