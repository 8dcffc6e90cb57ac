import { Agent, request as open } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Request } from "autocannon";
import { percentile } from "../statistics.ts";

/** Requests that are sent when they are due, however slow the answers are. */
export interface SteadyLoad {
  url: string;
  perSecond: number;
  seconds: number;
  /** The most that are on their way at once: others wait, and their waiting counts. */
  connections: number;
  request(number: number): Request;
  /** Called with each answer. */
  answered?(number: number): void;
}

export interface SteadyResult {
  /** Milliseconds since each was due. */
  p50: number;
  p99: number;
  answers: number;
  /** Answers that are no 2xx, and requests without one. */
  failures: number;
}

const TICK_MS = 5;

export async function sendSteadily(load: SteadyLoad): Promise<SteadyResult> {
  const { perSecond, seconds, connections } = load;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(load.url);
  const latencies: number[] = [];
  let failures = 0;
  const startedAt = performance.now();
  const send = async (number: number) => {
    const { headers = {}, body, method = "GET", path } = load.request(number);
    const dueAt = startedAt + (number * 1_000) / perSecond;
    const status = await new Promise<number>((resolve) => {
      const outgoing = open({ agent, hostname, port, method, path, headers }, (incoming) => {
        incoming.resume();
        incoming.once("close", () => resolve(incoming.complete ? (incoming.statusCode ?? 0) : 0));
      });
      outgoing.once("error", () => resolve(0));
      outgoing.end(body);
    });
    latencies.push(performance.now() - dueAt);
    if (status < 200 || status > 299) failures += 1;
    else load.answered?.(number);
  };
  const sent: Promise<void>[] = [];
  while (sent.length < perSecond * seconds) {
    const due = Math.min(seconds, (performance.now() - startedAt) / 1_000) * perSecond;
    while (sent.length < due) sent.push(send(sent.length));
    await pause(TICK_MS);
  }
  await Promise.all(sent);
  agent.destroy();
  const sorted = Float64Array.from(latencies).sort();
  return {
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    answers: sorted.length - failures,
    failures,
  };
}
