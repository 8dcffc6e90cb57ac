import { row } from "../report.ts";
import type { SendingMemory } from "./attachment-memory.ts";
import type { BesideBroadcast } from "./beside-broadcast.ts";
import type { Choosing } from "./choosing.ts";
import type { Claims } from "./claims.ts";
import type { DirectSends } from "./direct-sends.ts";
import type { HandOvers } from "./hand-over.ts";
import type { WaysBack } from "./ways-back.ts";

const GROWTH_MAX_MB = 80;

export function printHandOvers({ mails, htmlLength, ours, loop, costs, parts }: HandOvers): void {
  console.log(
    `\n${row(["mails against nodemailer's pool", "ours", "loop", "x", "goal", "", `${mails} mails a round, HTML of ${htmlLength} octets`])}`,
  );
  const rates = [ours.perSecond, loop.perSecond].map((rate) => rate.toFixed(0));
  console.log(
    row([
      ...["mails a second", ...rates, (ours.perSecond / loop.perSecond).toFixed(2), ">= 2.00", ""],
      "from the request to the last one in the sink",
    ]),
  );
  const cpu = [ours.cpu, loop.cpu].map((microseconds) => microseconds.toFixed(0));
  const rounds = costs.map((cost) => cost.toFixed(2)).join(", ");
  console.log(
    row([
      ...["CPU us of a mail", ...cpu, (ours.cpu / loop.cpu).toFixed(2), "<= 0.80", ""],
      `all processes until nothing follows; by rounds ${rounds}`,
    ]),
  );
  const octets = [ours.octets, loop.octets].map((count) => count.toFixed(0));
  console.log(row(["octets of a mail", ...octets, (ours.octets / loop.octets).toFixed(2), "", "", ""]));
  console.log(parts.map(({ name, cpu }) => `${name} ${cpu.toFixed(0)}`).join(", "));
}

export function printChoosing(choosing: Choosing[]): void {
  console.log(`\n${row(["recipients of a segment", "ms", "SQL ms", "x", "goal", ""])}`);
  const goals = ["<= 2.50", "<= 2.00"];
  for (const [index, { name, count, oursMs, rawMs }] of choosing.entries()) {
    const cells = [oursMs.toFixed(0), rawMs.toFixed(0), (oursMs / rawMs).toFixed(2), goals[index] ?? ""];
    console.log(row([name, ...cells, `${count} contacts; SQL: one statement with the same rows`]));
  }
}

export function printDirectSends(sends: DirectSends[]): void {
  console.log(`\n${row(["from a request to the sink", "p50 ms", "p99 ms", "goal", ""])}`);
  for (const { name, mails, p50, p99, goalMs } of sends)
    console.log(row([name, p50.toFixed(1), p99.toFixed(1), `< ${goalMs}`, `p99; ${mails} mails`]));
}

export function printBesideBroadcast(results: BesideBroadcast[]): void {
  console.log(
    `\n${row(["beside a broadcast at full rate", "p50 ms", "p99 ms", "alone", "p99", "x", "goal", ""])}`,
  );
  for (const { name, alone, beside } of results) {
    const cells = [beside.p50, beside.p99, alone.p50, alone.p99].map((figure) => figure.toFixed(1));
    const failed = `${beside.failures} of ${beside.answers + beside.failures} failed`;
    console.log(row([name, ...cells, (beside.p99 / alone.p99).toFixed(2), "<= 3.00", failed]));
  }
}

export function printSendingMemory(processes: SendingMemory[]): void {
  console.log(`\n${row(["MB, mails with 200 kB attached", "rest", "most", "after", "goal", ""])}`);
  for (const { name, atRest, most, after } of processes) {
    const cells = [atRest, most, after].map((megabytes) => megabytes.toFixed(0));
    console.log(row([name, ...cells, `<= ${atRest + GROWTH_MAX_MB}`, ""]));
  }
}

export function printWaysBack({ hit, open, click }: WaysBack): void {
  console.log(`\n${row(["readers against hits", "per s", "p99 ms", "CPU us", "x", "goal", ""])}`);
  for (const [name, { requestsPerSecond, p99, cpu }] of Object.entries({ hit, open, click })) {
    const cells = [requestsPerSecond.toFixed(0), p99.toFixed(1), cpu.toFixed(0)];
    const ratio = (requestsPerSecond / hit.requestsPerSecond).toFixed(2);
    console.log(row([`${name}s`, ...cells, ...(name === "hit" ? ["", ""] : [ratio, ">= 0.90"]), ""]));
  }
}

export function printClaims(claims: Claims[]): void {
  console.log(`\n${row(["a claim of 200 sends", "p50 ms", "p95 ms", "x", "goal", ""])}`);
  const [few] = claims;
  for (const { rows, p50, p95 } of claims) {
    const ratio = few && few.rows !== rows ? [(p50 / few.p50).toFixed(2), "<= 1.20"] : ["", ""];
    console.log(
      row([`among ${rows} rows`, p50.toFixed(2), p95.toFixed(2), ...ratio, "half of them waiting"]),
    );
  }
}
