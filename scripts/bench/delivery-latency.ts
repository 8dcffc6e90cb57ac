import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { type Receiver, startReceiver } from "@tidings/testkit/receiver";
import type { Target } from "./measure.ts";
import { percentile } from "./statistics.ts";

export interface DeliveryLatency {
  name: string;
  events: number;
  /** Events a second that were asked for; 0 when one followed the delivery of the other. */
  rate: number;
  /** Milliseconds from the answer of a PATCH to the arrival of its webhook. */
  p50: number;
  p99: number;
  goalMs: number;
}

const TRIGGER = "svc.lead_post_save_update";
const IDLE_EVENTS = 200;
const IDLE_PAUSE_MS = 30;
const RATE = 500;
const TICK_MS = 10;
const DRAIN_LIMIT_MS = 30_000;

/** From an edit that was answered to its webhook at a receiver in this process, idle and under steady load. */
export async function measureDeliveryLatency(
  target: Target,
  { contacts, seconds }: { contacts: number; seconds: number },
): Promise<DeliveryLatency[]> {
  const receiver = await startReceiver();
  const hook = await send(target, "POST", "hooks/new", {
    name: "bench",
    webhookUrl: receiver.url,
    triggers: [TRIGGER],
  });
  try {
    const answers = new Map<string, number>();
    const edit = async (number: number) => {
      await send(target, "PATCH", `contacts/${1 + (number % contacts)}/edit`, { fax: `bench-${number}` });
      answers.set(`bench-${number}`, Date.now());
    };
    const idle = await runIdle(receiver, edit);
    const steady = await runSteady(receiver, edit, seconds * 2);
    const result = (name: string, range: [number, number], rate: number, goalMs: number) => {
      const latencies = latenciesOf(receiver, answers, range);
      const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
      return { name, events: latencies.length, rate, p50, p99, goalMs };
    };
    return [
      result("webhook after PATCH, idle", idle, 0, 250),
      result(`webhook after PATCH, ${RATE}/s`, steady, RATE, 1_000),
    ];
  } finally {
    await send(target, "DELETE", `hooks/${hook.hook.id}/delete`);
    await receiver.stop();
  }
}

type Edit = (number: number) => Promise<void>;

/** One edit at a time. Returns the numbers of the first edit and of the one after the last. */
async function runIdle(receiver: Receiver, edit: Edit): Promise<[number, number]> {
  for (let number = 1; number <= IDLE_EVENTS; number += 1) {
    await edit(number);
    await arrived(receiver, number);
    await pause(IDLE_PAUSE_MS);
  }
  return [1, IDLE_EVENTS + 1];
}

async function runSteady(receiver: Receiver, edit: Edit, seconds: number): Promise<[number, number]> {
  const first = IDLE_EVENTS + 1;
  const edits: Promise<void>[] = [];
  const startedAt = performance.now();
  while (edits.length < seconds * RATE) {
    const due = Math.min(seconds, (performance.now() - startedAt) / 1000) * RATE;
    while (edits.length < due) edits.push(edit(first + edits.length));
    await pause(TICK_MS);
  }
  await Promise.all(edits);
  await arrived(receiver, first + edits.length - 1);
  return [first, first + edits.length];
}

async function arrived(receiver: Receiver, count: number): Promise<void> {
  await eventually(
    () => {
      if (receiver.requests.length < count) {
        throw new Error(`${receiver.requests.length} of ${count} webhooks arrived`);
      }
    },
    { timeoutMs: DRAIN_LIMIT_MS, intervalMs: 1 },
  );
}

/** Ascending. A webhook may overtake the answer: that counts as 0. */
function latenciesOf(
  receiver: Receiver,
  answers: Map<string, number>,
  [first, end]: [number, number],
): number[] {
  const latencies: number[] = [];
  for (const { body, at } of receiver.requests) {
    const mark = /"bench-(\d+)"/.exec(body);
    const number = Number(mark?.[1]);
    if (number < first || number >= end) continue;
    latencies.push(Math.max(0, at - (answers.get(`bench-${number}`) ?? Number.NaN)));
  }
  return latencies.sort((a, b) => a - b);
}

async function send(target: Target, method: string, path: string, body?: object) {
  const response = await fetch(`${target.url}/api/${path}`, {
    method,
    headers: { ...target.headers, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
  return JSON.parse(text);
}
