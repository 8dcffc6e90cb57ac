import type { Feedback, FeedbackKind } from "./feedback.ts";

const TEXT_LENGTH_MAX = 1_000;
const HASH = /^<?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:@|>?$)/i;
/** Seconds since 1970 stay below it until the year 5138, milliseconds are above it since 1973. */
const SECONDS_MAX = 100_000_000_000;

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text or number as a text that the database can keep; empty for any other value. */
export function wordsOf(value: unknown): string {
  const text = typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
  return text
    .slice(0, TEXT_LENGTH_MAX)
    .replace(/[\p{Cc}\p{Cs}]+/gu, " ")
    .trim();
}

/** The name of a send in its Message-ID, or alone. Undefined for the Message-ID of a mail that is none of ours. */
export function hashOf(...values: unknown[]): string | undefined {
  for (const value of values) {
    const [, hash] = HASH.exec(wordsOf(value)) ?? [];
    if (hash) return hash.toLowerCase();
  }
  return undefined;
}

interface Written {
  id: unknown;
  hash: string | undefined;
  address: unknown;
  /** Seconds or milliseconds since 1970, or ISO 8601. */
  at: unknown;
  code?: unknown;
  text?: unknown;
}

/** The event of an item, in a list of one. Undefined where it has no time, or names no mail. */
export function feedbackOf(kind: FeedbackKind, written: Written): Feedback[] | undefined {
  const at = timeOf(written.at);
  const address = wordsOf(written.address);
  if (at === undefined || (written.hash === undefined && address === "")) return undefined;
  const { hash } = written;
  const id = wordsOf(written.id);
  return [{ kind, id, hash, address, at, code: codeOf(written.code), text: wordsOf(written.text) }];
}

export function timeOf(value: unknown): number | undefined {
  const text = wordsOf(value);
  const number = /^\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Number(text) : undefined;
  const ms = number === undefined ? Date.parse(text) : number < SECONDS_MAX ? number * 1_000 : number;
  return Number.isFinite(ms) ? Math.round(ms) : undefined;
}

function codeOf(value: unknown): number | undefined {
  const text = wordsOf(value);
  return /^[2-5]\d\d$/.test(text) ? Number(text) : undefined;
}

const STATUS = /\b([245]\.\d{1,3}\.\d{1,3})\b/;

/**
 * The kind of a bounce after which the provider tries no more, by the enhanced status code (RFC 3463) in one of its texts: a policy
 * (5.7.x) blocks the sender, a length (5.2.3, 5.3.4) or form (5.6.x) the one mail, a full mailbox (5.2.2) and what was refused for now (4.x.x) may take a later mail.
 */
export function kindOfBounce(...texts: unknown[]): FeedbackKind {
  const [status = ""] = texts.flatMap((text) => STATUS.exec(wordsOf(text))?.[1] ?? []);
  if (/^5\.(?:[67]\.|2\.3$|3\.4$)/.test(status)) return "blocked";
  return status.startsWith("4.") || status === "5.2.2" ? "soft" : "hard";
}
