import { setTimeout as pause } from "node:timers/promises";
import { Gauge, register } from "prom-client";
import { watchEventLoop } from "./event-loop.ts";
import type { Log } from "./log.ts";

/** The present value of one gauge. */
export interface Reading {
  gauge: Gauge;
  value: number;
  labels?: Record<string, string>;
}

/** Something that is asked how it stands whenever somebody scrapes, and at no other time. */
export interface Source {
  /** A word of the program: `outbox`. */
  name: string;
  /** Sources that ask the same are read in turn, and hold up no others: `database`. */
  asks: string;
  /** The gauges that it sets. When it does not answer they have no value, rather than an old one. */
  gauges: Gauge[];
  /** Milliseconds since the epoch: who asks for longer is not waited for. */
  read(deadlineMs: number): Promise<Reading[]>;
}

/** A scrape takes no longer, whatever is away. */
const READ_MS = 2_000;
/** Concurrent scrapes share one answer. */
const CACHED_MS = 1_000;

const sources = new Set<Source>();
/** Sources that have not answered the scrape before: they are not asked again until they have. */
const unanswered = new Set<Source>();
let reading: Promise<void> | undefined;

const answered = new Gauge({
  name: "tidings_scrape_source_up",
  help: "1 when what this process looks up for a scrape could be looked up, 0 when it could not",
  labelNames: ["source"],
});
const duration = new Gauge({
  name: "tidings_scrape_duration_seconds",
  help: "How long it took to look up what is looked up for a scrape",
});

/** Has a source read with each scrape; the function that is returned ends that. */
export function addSource(source: Source): () => void {
  sources.add(source);
  for (const gauge of source.gauges) forget(gauge);
  return () => {
    sources.delete(source);
    for (const gauge of source.gauges) forget(gauge);
    answered.remove({ source: source.name });
  };
}

/** All metrics of this process in the Prometheus text format. */
export async function scrape(log: Log): Promise<string> {
  await refresh(log);
  return register.metrics();
}

/** Gives all metrics their present values, once every source has answered or had its time. */
export async function refresh(log: Log): Promise<void> {
  watchEventLoop();
  reading ??= readAll(log).finally(() => setTimeout(() => (reading = undefined), CACHED_MS).unref());
  await reading;
}

async function readAll(log: Log): Promise<void> {
  const startedAt = performance.now();
  const deadlineMs = Date.now() + READ_MS;
  const groups = Map.groupBy(sources, ({ asks }) => asks);
  await Promise.all(
    [...groups.values()].map(async (group) => {
      for (const source of group) await readSource(source, deadlineMs, log);
    }),
  );
  duration.set((performance.now() - startedAt) / 1_000);
}

async function readSource(source: Source, deadlineMs: number, log: Log): Promise<void> {
  const { name, gauges } = source;
  try {
    const readings = await inTime(source, deadlineMs);
    for (const gauge of gauges) forget(gauge);
    for (const { gauge, value, labels = {} } of readings) gauge.set(labels, value);
    answered.set({ source: name }, 1);
  } catch (error) {
    for (const gauge of gauges) forget(gauge);
    answered.set({ source: name }, 0);
    log.warn({ err: error, source: name }, "a scrape does not tell all");
  }
}

async function inTime(source: Source, deadlineMs: number): Promise<Reading[]> {
  if (unanswered.has(source)) throw new Error("it has not answered an earlier scrape");
  unanswered.add(source);
  const answer = source.read(deadlineMs).finally(() => unanswered.delete(source));
  const patience = new AbortController();
  const late = pause(Math.max(0, deadlineMs - Date.now()), undefined, { signal: patience.signal }).then(
    () => Promise.reject(new Error("it did not answer in time")),
    () => [], // it answered
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    patience.abort();
    answer.catch(() => undefined); // too late to matter
  }
}

/** Without labels a gauge begins as zero, which is a value. */
function forget(gauge: Gauge): void {
  gauge.reset();
  gauge.remove({});
}
