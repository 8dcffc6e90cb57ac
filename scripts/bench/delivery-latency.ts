import { setTimeout as pause } from "node:timers/promises";
import { type Receiver, startReceiver } from "@tidings/testkit/receiver";
import { callApi } from "./call-api.ts";
import { cpuMicroseconds } from "./cpu-time.ts";
import { type Target, untilQuiet } from "./measure.ts";
import { percentile } from "./statistics.ts";

export interface DeliveryLatency {
  name: string;
  /** The number of events that arrived. */
  events: number;
  /** Edits that the API refused. */
  refused: number;
  /** Milliseconds from the answer of a PATCH to the arrival of its webhook. */
  p50: number;
  p99: number;
  /** Microseconds of CPU for an edit and its webhook; not known when idle. */
  cpu?: number;
  goalMs: number;
}

const TRIGGER = "svc.lead_post_save_update";
const IDLE_EVENTS = 200;
const IDLE_PAUSE_MS = 30;
const RATE = 500;
const TICK_MS = 10;
const WARM_UP_SECONDS = 2;
const DRAIN_LIMIT_MS = 30_000;
/** The mark that an edit writes, so that its webhook is known again. */
const MARK = /"bench-(\d+)"/;

/** From an edit that was answered to its webhook at a receiver in this process, idle and under steady load. */
export async function measureDeliveryLatency(
  target: Target,
  { contacts, seconds }: { contacts: number; seconds: number },
): Promise<DeliveryLatency[]> {
  const receiver = await startReceiver();
  const name = "bench";
  const hook = await callApi(target, "POST", "hooks/new", {
    name,
    webhookUrl: receiver.url,
    triggers: [TRIGGER],
  });
  let edits = 0;
  const edit = async (): Promise<Edit> => {
    edits += 1;
    const number = edits;
    const path = `contacts/${1 + (number % contacts)}/edit`;
    const isAccepted = await callApi(target, "PATCH", path, { fax: markOf(number) }).then(
      () => true,
      () => false,
    );
    return { number, isAccepted, answeredAt: Date.now() };
  };
  try {
    const warmUp = await editSteadily(edit, WARM_UP_SECONDS);
    const idle = await editOneByOne(receiver, edit, warmUp);
    const cpuBefore = cpuMicroseconds(target.pids);
    const steady = await editSteadily(edit, seconds * 2);
    await arrived(receiver, [...warmUp, ...idle, ...steady]);
    await untilQuiet(target.pids);
    const cpu = (cpuMicroseconds(target.pids) - cpuBefore) / steady.length;
    return [
      { name: "webhook after PATCH, idle", ...latencyOf(receiver, idle), goalMs: 250 },
      { name: `webhook after PATCH, ${RATE}/s`, ...latencyOf(receiver, steady), cpu, goalMs: 1_000 },
    ];
  } finally {
    await callApi(target, "DELETE", `hooks/${hook.hook.id}/delete`);
    await receiver.stop();
  }
}

interface Edit {
  number: number;
  isAccepted: boolean;
  answeredAt: number;
}

/** Each edit waits for the webhook of the one before. */
async function editOneByOne(receiver: Receiver, edit: () => Promise<Edit>, before: Edit[]): Promise<Edit[]> {
  const edits: Edit[] = [];
  while (edits.length < IDLE_EVENTS) {
    await arrived(receiver, [...before, ...edits]);
    await pause(IDLE_PAUSE_MS);
    edits.push(await edit());
  }
  return edits;
}

/** However slow the answers are, the edits are sent when they are due. */
async function editSteadily(edit: () => Promise<Edit>, seconds: number): Promise<Edit[]> {
  const edits: Promise<Edit>[] = [];
  const startedAt = performance.now();
  while (edits.length < seconds * RATE) {
    const due = Math.min(seconds, (performance.now() - startedAt) / 1000) * RATE;
    while (edits.length < due) edits.push(edit());
    await pause(TICK_MS);
  }
  return Promise.all(edits);
}

/** Waits for the webhooks of all edits that were accepted. */
async function arrived(receiver: Receiver, edits: Edit[]): Promise<void> {
  const expected = edits.filter(({ isAccepted }) => isAccepted).length;
  await receiver.waitFor(expected, { timeoutMs: DRAIN_LIMIT_MS, intervalMs: 1 });
}

/** A webhook may overtake the answer: that counts as 0. */
function latencyOf(receiver: Receiver, edits: Edit[]) {
  const answeredAt = new Map(edits.map((edit) => [edit.number, edit.answeredAt]));
  const latencies: number[] = [];
  for (const { body, at } of receiver.requests) {
    const answered = answeredAt.get(Number(MARK.exec(body)?.[1]));
    if (answered !== undefined) latencies.push(Math.max(0, at - answered));
  }
  latencies.sort((a, b) => a - b);
  return {
    events: latencies.length,
    refused: edits.filter(({ isAccepted }) => !isAccepted).length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

function markOf(number: number): string {
  return `bench-${number}`;
}
