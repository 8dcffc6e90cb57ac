import type { HandOver } from "@tidings/mail/mail-transport";

/** A rate that was learned from refusals: additive increase, multiplicative decrease (Chiu and Jain, 1989). Times are milliseconds since 1970. */
export interface LearnedRate {
  /** Mails in a second before the first refusal. */
  usual: number;
  /** Mails in a second at the latest refusal. */
  perSecond: number;
  halvedAtMs: number;
  refusedAtMs: number;
}

const HALVED_ONCE_IN_MS = 10_000;
const REGAINED_EACH_MS = 60_000;
const REGAINED_PART = 0.1;

/** SQL: the rate of a row of `learned_rates` is the usual one again. */
export const IS_WELL = `per_second + usual * ${REGAINED_PART} * floor(extract(epoch from now() - refused_at) * 1000 / ${REGAINED_EACH_MS}) >= usual`;

/** Mails in a second: each minute without a refusal regains a tenth of what was usual. */
export function rateAt({ usual, perSecond, refusedAtMs }: LearnedRate, nowMs: number): number {
  const minutes = Math.max(0, Math.floor((nowMs - refusedAtMs) / REGAINED_EACH_MS));
  return Math.min(usual, perSecond + usual * REGAINED_PART * minutes);
}

export function isWell(learned: LearnedRate, nowMs: number): boolean {
  return rateAt(learned, nowMs) >= learned.usual;
}

/** The rate after one more refusal: half, down to `floor`. Refusals within 10 s halve it once: mails were on their way already. */
export function afterRefusal(
  before: LearnedRate | undefined,
  { usual, floor }: { usual: number; floor: number },
  nowMs: number,
): LearnedRate {
  const isNew = before === undefined || isWell(before, nowMs);
  if (isNew) return halved(Math.max(usual, 2 * floor), Math.max(usual, 2 * floor), floor, nowMs);
  const perSecond = rateAt(before, nowMs);
  if (nowMs - before.halvedAtMs < HALVED_ONCE_IN_MS) return { ...before, perSecond, refusedAtMs: nowMs };
  return halved(before.usual, perSecond, floor, nowMs);
}

function halved(usual: number, perSecond: number, floor: number, nowMs: number): LearnedRate {
  return { usual, perSecond: Math.max(floor, perSecond / 2), halvedAtMs: nowMs, refusedAtMs: nowMs };
}

/** Enhanced codes about an address or a mailbox (RFC 3463, 3.2 and 3.3): they say nothing about other mails to the domain. */
const ABOUT_MAILBOX = /^4\.[12]\./;
const SERVICE_NOT_AVAILABLE = 421;

/** Says whether a refusal for now concerns the recipient's domain, or the server and so all mails; undefined where it teaches nothing. */
export function refusedFor(handOver: HandOver): "domain" | "server" | undefined {
  if (handOver.state === "away") return handOver.code === SERVICE_NOT_AVAILABLE ? "server" : undefined;
  if (handOver.state !== "refused" || handOver.isForGood || handOver.by === "sender") return undefined;
  return ABOUT_MAILBOX.test(handOver.text) ? undefined : "domain";
}
