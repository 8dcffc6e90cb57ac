import { setTimeout as pause } from "node:timers/promises";
import autocannon, { type Request } from "autocannon";
import { cpuMicroseconds } from "./cpu-time.ts";
import { percentile } from "./statistics.ts";

/** A server under load: where it is and which processes do its work, Postgres included. */
export interface Target {
  url: string;
  headers: Record<string, string>;
  pids: number[];
}

export interface Round {
  requestsPerSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Microseconds of CPU a request, the work that follows the answers included. */
  cpu: number;
}

export interface Load {
  connections: number;
  seconds: number;
  request(): Request;
  /** Ends when all that follows from the answers is done: the CPU of that counts as well. */
  settled?: (() => Promise<void>) | undefined;
  /** The rate is that of requests with all that follows from them, not that of answers. */
  isCountedSettled?: boolean | undefined;
  /** Redirects are what is asked for. */
  isRedirected?: boolean | undefined;
}

const QUIET_SAMPLE_MS = 200;
/** Below this share of one core there is only idle polling left. */
const QUIET_SHARE = 0.15;
const QUIET_LIMIT_MS = 15_000;

const ANSWER_LIMIT_SECONDS = 30;

/** One round of load, longer where a machine gives no answer within it. Throws when any answer is not a 2xx, or no redirect where those are asked for. */
export async function measure(target: Target, load: Load): Promise<Round> {
  const latencies: number[] = [];
  const cpuBefore = cpuMicroseconds(target.pids);
  const startedAt = performance.now();
  const run = autocannon({
    url: target.url,
    connections: load.connections,
    duration: load.seconds,
    sampleInt: 100,
    timeout: ANSWER_LIMIT_SECONDS,
    requests: [{ setupRequest: () => withHeaders(load.request(), target.headers) }],
  });
  let lastAt = startedAt;
  const failures = new Map<number, number>();
  const isExpected = (status: number) => Math.floor(status / 100) === (load.isRedirected ? 3 : 2);
  run.on("response", (_client, status: number, _bytes, milliseconds: number) => {
    latencies.push(milliseconds);
    if (!isExpected(status)) failures.set(status, 1 + (failures.get(status) ?? 0));
    lastAt = performance.now();
  });
  const { errors, timeouts } = await run;
  if (latencies.length + errors + timeouts === 0) {
    if (load.seconds > ANSWER_LIMIT_SECONDS) throw new Error(`${target.url}: no answer in ${load.seconds} s`);
    await untilQuiet(target.pids);
    return measure(target, { ...load, seconds: load.seconds * 2 });
  }
  if (errors + timeouts + failures.size > 0) {
    throw new Error(
      `${target.url}: ${latencies.length} answers, ${errors} errors, ${timeouts} time-outs, unexpected: ${[...failures].map(([status, count]) => `${count} of ${status}`)}`,
    );
  }
  await load.settled?.();
  if (load.isCountedSettled) lastAt = performance.now();
  await untilQuiet(target.pids);
  const cpu = cpuMicroseconds(target.pids) - cpuBefore;
  const sorted = Float64Array.from(latencies).sort();
  return {
    requestsPerSecond: latencies.length / ((lastAt - startedAt) / 1000),
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    cpu: cpu / latencies.length,
  };
}

/** Waits until the work that the requests left behind (events, webhooks) is done: it is not to burden what comes next. */
export async function untilQuiet(pids: number[]): Promise<void> {
  const giveUpAt = Date.now() + QUIET_LIMIT_MS;
  while (Date.now() < giveUpAt) {
    const before = cpuMicroseconds(pids);
    await pause(QUIET_SAMPLE_MS);
    if (cpuMicroseconds(pids) - before < QUIET_SAMPLE_MS * 1000 * QUIET_SHARE) return;
  }
}

function withHeaders(request: Request, headers: Record<string, string>): Request {
  const type = request.body === undefined ? {} : { "content-type": "application/json" };
  return { ...request, headers: { ...headers, ...type, ...request.headers } };
}
