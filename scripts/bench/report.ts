import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, hostname, loadavg } from "node:os";
import type { CampaignMembers } from "./campaign-members.ts";
import type { DeliveryLatency } from "./delivery-latency.ts";
import type { HeaderCost } from "./header-cost.ts";
import type { ListLatency } from "./list-latency.ts";
import type { Round } from "./measure.ts";
import type { Change, KeptResult } from "./regressions.ts";
import type { SegmentBuild, SegmentReaction } from "./segment-speed.ts";
import type { SerialPart } from "./serial.ts";
import type { SignInCost } from "./sign-in-cost.ts";
import { median } from "./statistics.ts";
import type { ScrapeCost, TelemetryCost } from "./telemetry-cost.ts";

/** One line of the table. */
export interface Line {
  name: string;
  title: string;
  ours: Round;
  bare: Round;
  /** Our requests per second as a share of the bare server's. */
  ratio: number;
  /** CPU of a request as a multiple of the bare server's, round by round. */
  costs: number[];
  goal: number;
  /** The most that p99 / p50 of ours may be. */
  spreadGoal?: number;
}

export interface Surroundings {
  machine: string;
  node: string;
  postgres: string;
  /** Its `shared_buffers`. */
  buffers: string;
  processor: string;
  cores: number;
  /** The load of the machine in the last minute, our own work included. */
  loadAverage: number;
  contacts: number;
  /** Contacts that came through the API, and how long that took. */
  loaded: number;
  loadSeconds: number;
  secondsPerRound: number;
}

export function surroundings(
  measured: Pick<
    Surroundings,
    "postgres" | "buffers" | "contacts" | "loaded" | "loadSeconds" | "secondsPerRound"
  >,
): Surroundings {
  const processor = cpus()[0]?.model ?? "unknown processor";
  return {
    machine: hostname(),
    node: process.version,
    processor,
    cores: availableParallelism(),
    loadAverage: loadavg()[0] ?? 0,
    ...measured,
  };
}

export function printHeader(about: Surroundings): void {
  console.log(`
autocannon 9 in the bench process, on the same machine: ${about.cores} cores (${about.processor}), load ${about.loadAverage.toFixed(1)}
Node ${about.node}, Postgres ${about.postgres} with fsync on and ${about.buffers} of buffers; 16 connections, batches 4; median of 3 rounds of ${about.secondsPerRound} s in turn
${about.contacts} contacts, 19 of 28 fields filled; ${about.loaded} through POST contacts/batch/new in ${about.loadSeconds.toFixed(1)} s (${Math.round(about.loaded / about.loadSeconds)}/s)
x = our requests per second / those of a bare node:http + pg server; CPU = microseconds a request, all server processes and Postgres
`);
  console.log(
    row(["", "req/s", "p50 ms", "p99 ms", "CPU us", "bare", "p50", "p99", "CPU us", "x", "goal", ""]),
  );
}

export function printLine({ title, ours, bare, ratio, goal, spreadGoal }: Line): void {
  const spread = ours.p99 / ours.p50;
  const note = spreadGoal ? `p99/p50 ${spread.toFixed(1)}, goal <= ${spreadGoal}` : "";
  console.log(
    row([title, ...figures(ours), ...figures(bare), ratio.toFixed(2), `>= ${goal.toFixed(2)}`, note]),
  );
}

/** Milliseconds of p95 against those of the bare statements. */
export function printListLatencies(latencies: ListLatency[]): void {
  console.log(
    `\n${row(["GET a list, with total", "p50 ms", "p95 ms", "SQL p50", "SQL p95", "x", "goal", ""])}`,
  );
  for (const { name, ours, raw } of latencies) {
    const cells = [ours.p50, ours.p95, raw.p50, raw.p95].map((milliseconds) => milliseconds.toFixed(1));
    console.log(row([name, ...cells, (ours.p95 / raw.p95).toFixed(2), "<= 2.00", "or p95 < 50 ms"]));
  }
}

/** CPU of the gateway alone. */
export function printSignInCosts(costs: SignInCost[]): void {
  console.log(`\n${row(["GET one contact, gateway only", "CPU us", "open", "x", "goal", ""])}`);
  for (const { name, cpu, openCpu } of costs) {
    const cells = [cpu.toFixed(0), openCpu.toFixed(0), (cpu / openCpu).toFixed(2), "<= 1.10"];
    console.log(row([`by ${name}`, ...cells, "open = a gateway that lets everybody in"]));
  }
}

/** CPU of requests with a header that promises something. */
export function printHeaderCosts(costs: HeaderCost[]): void {
  console.log(`\n${row(["all processes, with Postgres", "CPU us", "without", "x", "goal", ""])}`);
  for (const { name, cpu, plainCpu, ratios, goal } of costs) {
    const cells = [cpu.toFixed(0), plainCpu.toFixed(0), median(ratios).toFixed(2), `<= ${goal.toFixed(2)}`];
    console.log(row([name, ...cells, `by rounds ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}`]));
  }
}

/** CPU of requests by how much is traced, and of scrapes. */
export function printTelemetryCosts({
  traces,
  scrapes,
}: {
  traces: TelemetryCost[];
  scrapes: ScrapeCost;
}): void {
  console.log(row(["all processes, with Postgres", "CPU us", "x", "least", "most", ""]));
  for (const { title, setting, cpu, ratio, least, most } of traces) {
    const cells = [cpu.toFixed(0), ratio.toFixed(2), least.toFixed(2), most.toFixed(2), ""];
    console.log(row([`${title}, ${setting}`, ...cells]));
  }
  const { idle, watched, scrape } = scrapes;
  console.log(`
an idle stack takes ${idle.toFixed(1)} ms of CPU a second, and ${watched.toFixed(1)} within two minutes of a scrape;
a scrape of all its processes takes ${scrape.toFixed(1)} ms: each 15 s that is ${(watched - idle + scrape / 15).toFixed(1)} ms a second in all`);
}

export function printSegments(builds: SegmentBuild[], reaction: SegmentReaction): void {
  console.log(`\n${row(["segment of three filters", "ms", "SQL ms", "x", "goal", ""])}`);
  for (const { name, members, oursMs, rawMs } of builds) {
    const cells = [oursMs.toFixed(0), rawMs.toFixed(0), (oursMs / rawMs).toFixed(2), "<= 1.50"];
    console.log(row([name, ...cells, `${members} members`]));
  }
  const { changes, p50, p99 } = reaction;
  console.log(
    row([
      "a change reaches its segment",
      p50.toFixed(0),
      p99.toFixed(0),
      "",
      "",
      `p50, p99; goal p99 < 2000 ms, ${changes} changes at 200/s`,
    ]),
  );
}

export function printCampaignMembers(members: CampaignMembers[]): void {
  console.log(`\n${row(["members of a campaign", "ms", "SQL ms", "x", "per s", ""])}`);
  for (const { name, count, oursMs, rawMs } of members) {
    const perSecond = Math.round((1_000 * count) / oursMs);
    const cells = [oursMs.toFixed(0), rawMs.toFixed(0), (oursMs / rawMs).toFixed(2), String(perSecond)];
    console.log(row([name, ...cells, `${count} contacts; SQL: one statement, with an event of each`]));
  }
}

const BLANKS = ["", "", "", "", "", ""];

export function printLatency({ name, events, refused, p50, p99, cpu, goalMs }: DeliveryLatency): void {
  const note = `p99 goal < ${goalMs} ms, ${events} events${refused ? `, ${refused} edits refused` : ""}`;
  console.log(
    row([name, "", p50.toFixed(1), p99.toFixed(1), cpu ? Math.round(cpu).toString() : "", ...BLANKS, note]),
  );
}

/** CPU of a request against the bare path, then and now. */
export function printChanges(path: string, before: KeptResult, all: Change[]): void {
  console.log(
    `\n${row([`against ${path}`, "before", "now", "change", "noise", `measured on ${before.machine}`])}`,
  );
  for (const { title, before: was, now, noise, verdict } of all) {
    const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
    console.log(
      row([title, was.toFixed(2), now.toFixed(2), percent(now / was - 1), percent(noise), verdict]),
    );
  }
}

export function writeResult(path: string, about: Surroundings, lines: Line[], others: object): void {
  writeFileSync(path, `${JSON.stringify({ ...about, lines, ...others }, null, 2)}\n`);
}

function figures({ requestsPerSecond, p50, p99, cpu }: Round): string[] {
  const rate =
    requestsPerSecond < 100 ? requestsPerSecond.toFixed(1) : Math.round(requestsPerSecond).toString();
  return [rate, p50.toFixed(1), p99.toFixed(1), Math.round(cpu).toString()];
}

export function row(cells: string[]): string {
  const [title = "", ...others] = cells;
  const note = others.pop();
  return `${title.padEnd(32)}${others.map((cell) => cell.padStart(8)).join("")}  ${note}`;
}

/** The parts that more replicas do not make faster. */
export function printSerialParts(parts: SerialPart[]): void {
  console.log("\none at a time in an installation, events a second");
  for (const { name, perSecond } of parts) console.log(`${perSecond.toFixed(0).padStart(7)}  ${name}`);
}
