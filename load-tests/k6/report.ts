import type { EndpointResult, Latency, Result } from "./result.ts";

const BAR_WIDTH = 40;
const PART = "p95 of all requests in each tenth of the run";

/** A result as Markdown, for people. */
export function reportOf(result: Result): string {
  const { profile, seconds, requests, requestsPerSecond, iterations, dropped, failures, latencies, windows } =
    result;
  const slowest = Math.max(...windows.map(({ p95 }) => p95));
  return `# Load test: ${profile}

${failures.length === 0 ? "Every threshold was kept." : `**Thresholds that failed: ${failures.length}**`}
${failures.map((failure) => `\n- \`${failure}\``).join("")}

| | |
|---|---|
| where | ${result.baseUrl} |
| ended | ${result.endedAt} |
| lasted | ${seconds} s |
| journeys | ${result.journeys.join(", ")} |
| load | ${result.rate} times that of the profile |
| contacts besides those of the journeys | ${result.contacts} |
| requests | ${requests}, ${requestsPerSecond} a second |
| iterations | ${iterations}, and ${dropped} that found no user free |
| answers by status | ${Object.entries(result.statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join(", ")} |
| checks that failed | ${percent(result.checksFailed)} |

## What follows a change

From the answer until it could be seen, in milliseconds; the limits are those of the profile load.

| | count | p50 | p95 | p99 | max | limit p95, p99 |
|---|--:|--:|--:|--:|--:|--:|
${latencies.map((latency) => `| ${latency.name} | ${cells(latency)} | ${latency.limit.p95}, ${latency.limit.p99} |`).join("\n")}

## Endpoints

Milliseconds.

| | count | p50 | p95 | p99 | max | limit p95, p99 | failed |
|---|--:|--:|--:|--:|--:|--:|--:|
${result.endpoints.map(endpointRow).join("\n")}

## Over time

${PART}, in milliseconds:

\`\`\`
${windows.map((window, index) => `${String(index + 1).padStart(2)}  ${bar(window.p95, slowest)} ${window.p95} (p99 ${window.p99}, ${window.count} requests)`).join("\n")}
\`\`\`
`;
}

function endpointRow({ endpoint, limit, failed, ...latency }: EndpointResult): string {
  return `| ${endpoint} | ${cells(latency)} | ${limit.p95}, ${limit.p99} | ${percent(failed)} |`;
}

function cells({ count, p50, p95, p99, max }: Latency): string {
  return [count, p50, p95, p99, max].join(" | ");
}

function bar(value: number, most: number): string {
  return "█".repeat(most > 0 ? Math.round((value / most) * BAR_WIDTH) : 0);
}

function percent(share: number): string {
  return `${Math.round(share * 10_000) / 100} %`;
}
