import { row } from "../report.ts";
import type { SegmentReaction } from "../segment-speed.ts";
import { median } from "../statistics.ts";
import type { BesideReads } from "./beside-reads.ts";
import type { Downloads } from "./downloads.ts";
import type { HitCost } from "./hit-cost.ts";
import type { AmongHits } from "./many-hits.ts";

export function printHitCost({ hit, get, parts }: HitCost): void {
  console.log(`\n${row(["CPU of all processes", "us", "GET us", "x", "goal", ""])}`);
  const cells = [hit.toFixed(0), get.toFixed(0), (hit / get).toFixed(2), "<= 2.00"];
  console.log(row(["a hit, until nothing follows", ...cells, "against GET one contact, in turn"]));
  console.log(parts.map(({ name, cpu }) => `${name} ${cpu.toFixed(0)}`).join(", "));
}

export function printDownloads({ ours, bare, cpu, bareCpu, memory }: Downloads): void {
  console.log(
    `\n${row(["16 downloads of 100 MB at once", "MB/s", "CPU ms", "bare", "CPU ms", "x", "goal", ""])}`,
  );
  const cells = [ours, cpu, bare, bareCpu].map((figure) => figure.toFixed(0));
  const seen = memory.map(({ name, before, most }) => `${name} ${before} to ${most} MB`).join(", ");
  console.log(row(["an asset", ...cells, (ours / bare).toFixed(2), ">= 0.70", seen]));
}

export function printHitToMember({ changes, p50, p99 }: SegmentReaction): void {
  console.log(`\n${row(["a hit reaches its segment", "p50 ms", "p99 ms", ""])}`);
  console.log(
    row([
      "the contact is a member",
      p50.toFixed(0),
      p99.toFixed(0),
      `goal p99 < 2000 ms, ${changes} hits at 500/s`,
    ]),
  );
}

export function printBesideReads({ alone, beside, hits, drainSeconds, memory }: BesideReads): void {
  console.log(
    `\n${row(["1,000 hits/s beside mixed reads", "p50 ms", "p99 ms", "alone", "p99", "x", "goal", ""])}`,
  );
  const cells = [beside.p50, beside.p99, alone.p50, alone.p99].map((figure) => figure.toFixed(1));
  const ratio = (beside.p99 / alone.p99).toFixed(2);
  const failed = `${beside.failures} of ${beside.answers + beside.failures} failed`;
  console.log(row(["the API", ...cells, ratio, "<= 2.00", failed]));
  const answered = `${hits.answers} hits answered, ${hits.failures} failed`;
  console.log(row(["the hits", hits.p50.toFixed(1), hits.p99.toFixed(1), "", "", "", "", answered]));
  console.log(row(["s until all is projected", drainSeconds.toFixed(1), "", "", "", "", "<= 5.0", ""]));
  for (const { name, megabytes } of memory) {
    const tenth = Math.ceil(megabytes.length / 10);
    const [first, last] = [median(megabytes.slice(tenth, 3 * tenth)), median(megabytes.slice(-2 * tenth))];
    const most = Math.max(...megabytes);
    const cells = [first, last, most].map((figure) => figure.toFixed(0));
    console.log(
      row([
        `MB of ${name}`,
        ...cells,
        "",
        "",
        "<= 200",
        "in the second and third tenth, at the end, at most",
      ]),
    );
  }
}

export function printManyHits(results: AmongHits[]): void {
  console.log(`\n${row(["among many hits", "CPU us", "p50 ms", "hits/s", "its p50", "p95 ms", ""])}`);
  for (const { hits, devices, hit, p50, p95 } of results) {
    const cells = [hit.cpu.toFixed(0), hit.p50.toFixed(1), hit.requestsPerSecond.toFixed(0)];
    const name = `${hits} hits`;
    console.log(
      row([
        name,
        ...cells,
        p50.toFixed(2),
        p95.toFixed(2),
        `${devices} devices; then the latest ten of a contact`,
      ]),
    );
  }
  const [few, many] = results;
  if (!few || !many) return;
  const cells = [many.hit.cpu / few.hit.cpu, many.hit.p50 / few.hit.p50].map((ratio) => ratio.toFixed(2));
  const page = [many.p50 / few.p50, many.p95 / few.p95].map((ratio) => ratio.toFixed(2));
  console.log(row(["x", ...cells, "", ...page, "goal <= 1.20"]));
}
