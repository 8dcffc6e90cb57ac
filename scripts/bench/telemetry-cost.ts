import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "@tidings/embedded/free-port";
import { processes } from "../processes.ts";
import { cpuMicroseconds } from "./cpu-time.ts";
import { loadContacts } from "./load-contacts.ts";
import { measure, type Target, untilQuiet } from "./measure.ts";
import { median } from "./statistics.ts";
import { startTemporaryStack } from "./temporary-stack.ts";
import { workloads } from "./workloads.ts";

/** The share of requests that is traced, as the SDK reads it. */
const SHARES = { "not traced": undefined, "1 % traced": "0.01", "100 % traced": "1" };
type Setting = keyof typeof SHARES;

export interface TelemetryCost {
  /** The title of the workload. */
  title: string;
  setting: Setting;
  /** Microseconds of CPU a request, all processes, Postgres and NATS. */
  cpu: number;
  /** As a multiple of that without traces, round by round: the median, the least and the most. */
  ratio: number;
  least: number;
  most: number;
}

export interface ScrapeCost {
  /** Milliseconds of CPU a second that a stack takes of which nobody wants anything. */
  idle: number;
  /** The same while somebody is known to scrape, without the scrapes themselves. */
  watched: number;
  /** Milliseconds of CPU that a scrape of all processes takes. */
  scrape: number;
}

const ROUNDS = 5;
const CONTACTS = 5_000;
const WINDOW_MS = 20_000;
/** A scrape within a second of another one gets the same values. */
const SCRAPE_EVERY_MS = 1_100;

interface Measured {
  target: Target;
  opsPorts: number[];
}

/** Measures the cost of traces for a request, in rounds in turn of stacks that trace differently, and the cost of a scrape. */
export async function measureTelemetryCost(
  seconds: number,
): Promise<{ traces: TelemetryCost[]; scrapes: ScrapeCost }> {
  await using cleanup = new AsyncDisposableStack();
  const sink = createServer((request, response) => request.on("end", () => response.end()).resume());
  await once(sink.listen(0, "127.0.0.1"), "listening");
  cleanup.defer(() => void sink.close());
  const endpoint = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const stacks = new Map<Setting, Measured>();
  for (const [setting, share] of Object.entries(SHARES) as [Setting, string | undefined][]) {
    const { measured, stop } = await startOne(share, endpoint);
    cleanup.defer(stop);
    stacks.set(setting, measured);
  }
  const { target, opsPorts } = stacks.get("not traced") as Measured;
  const scrapes = await measureScrapes(target, opsPorts);
  const traces: TelemetryCost[] = [];
  for (const name of ["get", "patch"]) traces.push(...(await measureTraces(name, stacks, seconds)));
  return { traces, scrapes };
}

async function startOne(share: string | undefined, endpoint: string) {
  const tracing = share
    ? {
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: share,
      }
    : {};
  const ports = await Promise.all(processes.map(async ({ name }) => [name, await freePort()] as const));
  const own = await startTemporaryStack({
    env: Object.fromEntries(ports.map(([name, port]) => [name, { ...tracing, OPS_PORT: String(port) }])),
  });
  const authorization = `Basic ${Buffer.from(`admin:${own.password}`).toString("base64")}`;
  const pids = processes.map(({ name }) => own.stack.process(name).pid);
  const target = {
    url: own.baseUrl,
    headers: { authorization },
    pids: [...pids, own.natsPid, own.postgres.pid],
  };
  await loadContacts(target, own.postgres.url, CONTACTS);
  return { measured: { target, opsPorts: ports.map(([, port]) => port) }, stop: own.stop };
}

async function measureTraces(
  name: string,
  stacks: Map<Setting, Measured>,
  seconds: number,
): Promise<TelemetryCost[]> {
  const workload = workloads.find((one) => one.name === name);
  if (!workload) throw new Error(`There is no workload ${name}`);
  const { connections, title } = workload;
  const cpus = new Map<Setting, number[]>();
  // The first round warms up.
  for (let round = -1; round < ROUNDS; round += 1)
    for (const [setting, { target }] of stacks) {
      const load = { connections, seconds, request: () => workload.request(CONTACTS) };
      const { cpu } = await measure(target, load);
      if (round >= 0) cpus.set(setting, [...(cpus.get(setting) ?? []), cpu]);
    }
  const plain = cpus.get("not traced") ?? [];
  return [...cpus].map(([setting, all]) => {
    const ratios = all.map((cpu, round) => cpu / (plain[round] ?? Number.NaN));
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
    return { title, setting, cpu: median(all), ratio: median(ratios), least, most };
  });
}

async function measureScrapes({ pids }: Target, opsPorts: number[]): Promise<ScrapeCost> {
  const cpuMs = async (work: () => Promise<void>) => {
    await untilQuiet(pids);
    const before = cpuMicroseconds(pids);
    const startedAt = performance.now();
    await work();
    const seconds = (performance.now() - startedAt) / 1_000;
    return { all: (cpuMicroseconds(pids) - before) / 1_000, seconds };
  };
  const nothing = () => pause(WINDOW_MS);
  const scrapeAll = async () => {
    const texts = opsPorts.map((port) =>
      fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text()),
    );
    await Promise.all(texts);
  };
  const idle = await cpuMs(nothing);
  await scrapeAll();
  const watched = await cpuMs(nothing);
  let count = 0;
  const scraped = await cpuMs(async () => {
    for (const until = performance.now() + WINDOW_MS; performance.now() < until; count += 1) {
      await scrapeAll();
      await pause(SCRAPE_EVERY_MS);
    }
  });
  const watchedRate = watched.all / watched.seconds;
  return {
    idle: idle.all / idle.seconds,
    watched: watchedRate,
    scrape: (scraped.all - watchedRate * scraped.seconds) / count,
  };
}
