import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A row of the table in docs/metrics.md. */
export interface MetricRow {
  name: string;
  type: string;
  labels: Set<string>;
  /** `all`, `services`, or names of processes. */
  toldBy: string;
  /** Its help. */
  help: string;
}

const ROW = /^\| `(\w+)` \| (\w+) \| (.*?) ?\| ([\w, ]+) \| (.*) \|$/gm;

export const metricsPage = readFileSync(join(import.meta.dirname, "../docs/metrics.md"), "utf8");

/** Every metric of the product. */
export const metricTable: MetricRow[] = [...metricsPage.matchAll(ROW)].map(
  ([, name = "", type = "", labels = "", toldBy = "", help = ""]) => ({
    name,
    type,
    labels: new Set([...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label)),
    toldBy,
    help,
  }),
);

/** Metrics of Node.js and of the process that the page names. */
export const commonMetrics = new Set(
  [...metricsPage.matchAll(/`((?:process|nodejs)_\w+)`/g)].map(([, name = ""]) => name),
);

/** Labels that a scrape adds to all metrics. */
const ADDED_LABELS = new Set(["process", "namespace", "pod", "instance", "job"]);

/** Mistakes in an expression of PromQL: metrics that no process has, and labels that they do not have. */
export function strangersIn(expression: string): string[] {
  const strangers: string[] = [];
  for (const [, name = "", matchers = ""] of expression.matchAll(
    /\b((?:tidings|process|nodejs)_\w+)(?:\{([^}]*)\})?/g,
  )) {
    const row = rowOf(name);
    if (!row && !commonMetrics.has(name) && !commonMetrics.has(baseOf(name))) strangers.push(name);
    const isBucket = row?.type === "histogram" && name.endsWith("_bucket");
    for (const [, label = ""] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g))
      if (!ADDED_LABELS.has(label) && !row?.labels.has(label) && !(isBucket && label === "le"))
        strangers.push(`${name}{${label}}`);
  }
  return strangers;
}

/** A histogram has three names, and is none of them itself. */
function rowOf(name: string): MetricRow | undefined {
  const base = baseOf(name);
  return metricTable.find((row) => row.name === base && (row.type === "histogram") === (base !== name));
}

function baseOf(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, "");
}
