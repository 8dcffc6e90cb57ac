import type { TestStack } from "./stack.ts";

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** The metrics of a process. */
export interface Scrape {
  /** Each metric with its help, its type, and the labels of its samples. */
  metrics: Map<string, { help: string; type: string; labels: Set<string> }>;
  samples: Sample[];
  /** The value of the one sample with these labels; undefined when there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
}

/** Scrapes a process of a stack as Prometheus would. */
export async function scrapeProcess({ lines }: Pick<TestStack, "lines">, name: string): Promise<Scrape> {
  const answer = await fetch(`http://127.0.0.1:${await lines.port(name, "ops")}/metrics`);
  if (answer.status !== 200) throw new Error(`${name}: ${answer.status}`);
  return readScrape(await answer.text());
}

/** Reads the text format, as far as this product writes it. */
function readScrape(text: string): Scrape {
  const metrics: Scrape["metrics"] = new Map();
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const [, keyword, metric = "", said = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") metrics.set(metric, { help: said, type: "", labels: new Set() });
    const known = metrics.get(metric);
    if (keyword === "TYPE" && known) known.type = said;
    const [, name = "", inner = "", value] = /^([a-z]\w*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (value === undefined) continue;
    const labels = Object.fromEntries(
      [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]),
    );
    samples.push({ name, labels, value: Number(value) });
    const own = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ""));
    for (const label of Object.keys(labels)) own?.labels.add(label);
  }
  return {
    metrics,
    samples,
    value: (name, labels = {}) =>
      samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
      )?.value,
  };
}
