import assert from "node:assert/strict";
import { test } from "node:test";
import type { HandOver } from "@tidings/mail/mail-transport";
import { afterRefusal, isWell, type LearnedRate, rateAt, refusedFor } from "./learned-rate.ts";
import { putOff } from "./put-off.ts";
import { domainOf, readDomainRates, readRate } from "./rate.ts";
import { recentMails } from "./recent.ts";
import { emptySlice, partsOf, SLICE_MS } from "./slice.ts";

test("rates are read by second, minute and hour, and a reason why one cannot be read repeats nothing of it", () => {
  assert.deepEqual(["50/s", " 30/m ", "1.5/h"].map(readRate), [50, 0.5, 1.5 / 3_600]);
  for (const text of ["secret", "50", "0/s", "-1/s", "1e3/s", "50/d", "100001/s", "5/s/s", ""]) {
    const read = readRate(text);
    assert.ok(typeof read === "object" && !read.problem.includes("secret"), text);
  }
  const rates = readDomainRates(["Bücher.example=5/s", "example.org = 30/m"]);
  assert.deepEqual(
    rates,
    new Map([
      ["xn--bcher-kva.example", 5],
      ["example.org", 0.5],
    ]),
  );
  for (const items of [
    ["example.org"],
    ["=5/s"],
    ["a b=5/s"],
    ["a.example=5/s=6/s"],
    ["a.example=5/s", "A.example=1/s"],
  ])
    assert.ok("problem" in readDomainRates(items), items.join());
  assert.deepEqual(["a@Bücher.example", '"a@b"@example.org ', "a@sub.example.org"].map(domainOf), [
    "xn--bcher-kva.example",
    "example.org",
    "sub.example.org",
  ]);
});

test("a slice gives its tokens until it ends, and the next one is larger when it ended early", () => {
  const slice = emptySlice();
  assert.equal(slice.use(0), false);
  assert.equal(slice.wanted(3, 25, 0), 3);
  slice.fill(8, 0);
  const used = Array.from({ length: 10 }, () => slice.use(10)).filter(Boolean);
  assert.equal(used.length, 8);
  assert.equal(slice.wanted(1, 25, 10), 16);
  assert.equal(slice.wanted(1, 5, 10), 5);
  assert.equal(slice.wanted(1, 25, SLICE_MS), 1);
  slice.giveBack();
  assert.equal(slice.use(SLICE_MS - 1), true);
  slice.giveBack();
  assert.equal(slice.use(SLICE_MS), false);
  for (const perSecond of [1 / 3_600, 1, 10, 1_000]) {
    const { sliceMax, burst, spared } = partsOf(perSecond);
    assert.ok(spared >= 1 && sliceMax >= 1 && burst === sliceMax + spared && burst <= perSecond + 2);
  }
});

/** Mails to one domain that are all due at once, claimed every 250 ms by a process that asks a budget; when each of them went. */
function sentOver(mails: number, perSecond: number, untilMs: number): number[] {
  const { burst, spared } = partsOf(perSecond);
  const line = { nextMs: 0, lastMs: 0 };
  const dues = Array.from({ length: mails }, () => 0);
  const sent: number[] = [];
  let tokens = burst;
  for (let nowMs = 1; nowMs < untilMs; nowMs += 250) {
    tokens = Math.min(burst, tokens + perSecond / 4);
    for (const [index, due] of dues.entries()) {
      if (due > nowMs) continue;
      if (tokens - spared >= 1) {
        tokens -= 1;
        dues[index] = Number.POSITIVE_INFINITY;
        sent.push(nowMs);
      } else {
        const tokenAtMs = nowMs + ((1 + spared - tokens) / perSecond) * 1_000;
        dues[index] = putOff(line, { nowMs, tokenAtMs, perSecond });
      }
    }
  }
  return sent;
}

test("mails that are put off go at the rate of their domain, neither faster nor much slower", () => {
  for (const perSecond of [0.1, 1, 1.7, 20]) {
    const sent = sentOver(1_000, perSecond, 40_000);
    const most = 40 * perSecond + partsOf(perSecond).burst;
    assert.ok(
      sent.length <= most && sent.length >= 0.85 * 40 * perSecond - 1,
      `${sent.length} at ${perSecond}/s`,
    );
  }
});

const MINUTE = 60_000;
const limits = { usual: 40, floor: 1 / 60 };
const refusedTimes = (timesMs: number[], before?: LearnedRate) =>
  timesMs.reduce<LearnedRate | undefined>((learned, nowMs) => afterRefusal(learned, limits, nowMs), before);

test("a refused domain gets half of what was usual, once in 10 s, a tenth more each minute, and no less than one mail in a minute", () => {
  const rateAfter = (timesMs: number[], atMs: number) => {
    const learned = refusedTimes(timesMs);
    return learned && [rateAt(learned, atMs), isWell(learned, atMs)];
  };
  assert.deepEqual(rateAfter([0, 1, 9_999], 9_999), [20, false]);
  assert.deepEqual(rateAfter([0, 10_000], 10_000), [10, false]);
  assert.deepEqual(rateAfter([0], MINUTE - 1), [20, false]);
  assert.deepEqual(rateAfter([0], MINUTE), [24, false]);
  // A refusal that halves nothing begins the minute anew.
  assert.deepEqual(rateAfter([0, 9_000], MINUTE), [20, false]);
  assert.deepEqual(rateAfter([0, 2 * MINUTE], 2 * MINUTE), [14, false]);
  assert.deepEqual(rateAfter([0], 5 * MINUTE), [40, true]);
  assert.deepEqual(rateAfter([0, 5 * MINUTE], 5 * MINUTE), [20, false]);
  const often = Array.from({ length: 50 }, (_, index) => index * 10_000);
  assert.deepEqual(rateAfter(often, 490_000), [1 / 60, false]);
});

test("refusals for now teach about the domain, or about the server where it takes no connection, unless they name a mailbox", () => {
  const refused = (code: number, text: string, members = {}): HandOver => ({
    ...{ state: "refused", by: "recipient", code, text, isForGood: false },
    ...members,
  });
  const away = (code: number | undefined): HandOver => ({
    state: "away",
    isRefusedSignIn: false,
    code,
    text: "",
  });
  const taught = [
    ...[refused(421, "4.7.0 slow down"), refused(451, "try later"), refused(450, "4.2.1 mailbox busy")],
    ...[refused(452, "4.1.1 no mailbox"), refused(550, "5.7.1 no", { isForGood: true })],
    ...[refused(451, "4.7.1 no", { by: "sender" }), away(421), away(454), away(undefined)],
  ].map(refusedFor);
  assert.deepEqual(taught, [
    ...["domain", "domain", undefined, undefined, undefined, undefined],
    ...["server", undefined, undefined],
  ]);
});

test("the usual rate of a domain is what it got within the last 10 to 20 s", () => {
  const recent = recentMails();
  for (let nowMs = 0; nowMs < 25_000; nowMs += 100) recent.note("a.example", nowMs);
  assert.ok(Math.abs(recent.perSecond("a.example", 25_000) - 10) < 0.1);
  assert.equal(recent.perSecond("b.example", 25_000), 0);
  assert.equal(recent.perSecond("a.example", 60_000), 0);
  recent.note("a.example", 60_000);
  assert.equal(recent.perSecond("a.example", 60_000), 1);
});
