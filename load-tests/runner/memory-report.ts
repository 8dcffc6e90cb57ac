import type { MemoryOfProcess } from "@tidings/scripts/bench/resident-memory";

const PARTS = 10;
const BARS = "▁▂▃▄▅▆▇█";

/** Memory over time as Markdown: the median of each tenth of the run. */
export function memoryReport(processes: MemoryOfProcess[]): string {
  const rows = processes.filter(({ megabytes }) => megabytes.length > 0).map(rowOf);
  return `
## Memory over time

Resident megabytes: the median of each tenth of the run, the bars from nothing to the most.

| | in each tenth | | most |
|---|---|---|--:|
${rows.join("\n")}
`;
}

function rowOf({ name, megabytes }: MemoryOfProcess): string {
  const most = Math.max(...megabytes);
  const medians = partsOf(megabytes).map(median);
  const bars = medians.map(
    (value) => BARS[Math.min(BARS.length - 1, Math.floor((value / most) * BARS.length))],
  );
  return `| ${name} | ${medians.join(" ")} | ${bars.join("")} | ${most} |`;
}

function partsOf(values: number[]): number[][] {
  const count = Math.min(PARTS, values.length);
  return Array.from({ length: count }, (_, part) =>
    values.slice(
      Math.floor((part * values.length) / count),
      Math.floor(((part + 1) * values.length) / count),
    ),
  );
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
