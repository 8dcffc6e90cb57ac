import type { Limit } from "./limits.ts";
import type { Journeys } from "./plan.ts";
import type { settings } from "./settings.ts";
import { STATUSES } from "./statuses.ts";
import { WINDOWS } from "./windows.ts";

/** The data of k6 at the end (https://grafana.com/docs/k6/latest/results-output/end-of-test/custom-summary/). */
export interface SummaryData {
  metrics: Record<string, Metric>;
  state: { testRunDurationMs: number };
}

interface Metric {
  values: Record<string, number>;
  thresholds?: Record<string, { ok: boolean }>;
}

/** Milliseconds. */
export interface Latency {
  count: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export interface EndpointResult extends Latency {
  endpoint: string;
  /** The share of requests that failed. */
  failed: number;
  limit: Limit;
}

export interface Result {
  profile: string;
  baseUrl: string;
  rate: number;
  /** Contacts that were there besides those of the journeys. */
  contacts: number;
  journeys: string[];
  endedAt: string;
  seconds: number;
  requests: number;
  requestsPerSecond: number;
  iterations: number;
  dropped: number;
  /** The share of checks that failed. */
  checksFailed: number;
  /** How many answers had each status; 0 is no answer. */
  statuses: Record<number, number>;
  endpoints: EndpointResult[];
  /** Latencies that no single answer shows. */
  latencies: (Latency & { name: string; limit: Limit })[];
  /** Latencies of all requests of journeys, window by window. */
  windows: Latency[];
  /** Thresholds that failed, as k6 writes them. */
  failures: string[];
}

/** The numbers of a run, by what they say of the product. */
export function resultOf({ metrics, state }: SummaryData, run: typeof settings, journeys: Journeys): Result {
  const of = (metric: string, value: string) => metrics[metric]?.values[value] ?? 0;
  const latencyOf = (metric: string): Latency => ({
    count: of(metric, "count"),
    p50: rounded(of(metric, "med")),
    p95: rounded(of(metric, "p(95)")),
    p99: rounded(of(metric, "p(99)")),
    max: rounded(of(metric, "max")),
  });
  const limits: Record<string, Limit> = Object.assign(
    {},
    ...Object.values(journeys).map(({ endpoints }) => endpoints),
  );
  return {
    profile: run.profile,
    baseUrl: run.baseUrl,
    rate: run.rate,
    contacts: run.contacts,
    journeys: Object.keys(journeys),
    endedAt: new Date().toISOString(),
    seconds: Math.round(state.testRunDurationMs / 1_000),
    requests: of("http_reqs", "count"),
    requestsPerSecond: rounded(of("http_reqs", "rate")),
    iterations: of("iterations", "count"),
    dropped: of("dropped_iterations", "count"),
    checksFailed: 1 - of("checks", "rate"),
    statuses: Object.fromEntries(
      STATUSES.map((status) => [status, of(`http_reqs{status:${status}}`, "count")]).filter(
        ([, count]) => count,
      ),
    ),
    endpoints: Object.entries(limits).map(([endpoint, limit]) => ({
      endpoint,
      ...latencyOf(`http_req_duration{name:${endpoint}}`),
      failed: of(`http_req_failed{name:${endpoint}}`, "rate"),
      limit,
    })),
    latencies: Object.values(journeys)
      .flatMap(({ latencies }) => latencies)
      .map(({ name, limit }) => ({ name, ...latencyOf(name), limit })),
    windows: Array.from({ length: WINDOWS }, (_, window) => latencyOf(`http_req_duration{window:${window}}`)),
    failures: Object.entries(metrics).flatMap(([metric, { thresholds = {} }]) =>
      Object.entries(thresholds)
        .filter(([, { ok }]) => !ok)
        .map(([expression]) => `${metric}: ${expression}`),
    ),
  };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
