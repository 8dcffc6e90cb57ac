import { casual } from "chrono-node/en";

/** A moment that a text names. */
export interface ReadDate {
  /** Since the epoch. */
  milliseconds: number;
  /** Without a time of day it is the beginning of that day in UTC. */
  hasTime: boolean;
  /** Depends on when it is read: `today`, `+1 day`. */
  isRelative: boolean;
}

/** The format that a text without a date should have had. */
export const DATE_FORMS =
  'not a date: YYYY-MM-DD with or without HH:MM[:SS], ISO 8601, RFC 2822, "@" and seconds since 1970, or words such as today, now, +1 day';

const LENGTH_MAX = 60;
/** The years 1 to 9999, which ISO 8601, Postgres and protobuf's Timestamp have in common. Date.UTC takes the year 1 for 1901. */
const EARLIEST = Date.parse("0001-01-01T00:00:00Z");
const LATEST = Date.UTC(10_000, 0, 1) - 1;
const ISO = /^(\d{4}-\d\d-\d\d)(?:[ t](\d\d:\d\d)(:\d\d)?(\.\d{1,9})?(z|[+-]\d\d(?::?\d\d)?)?)?$/i;
const EPOCH = /^@(-?\d{1,12})$/;
/** Digits joined by these are a date of which nobody can say what is the day and what the month. */
const AMBIGUOUS = /\d[./-]\d/;
/** A distance keeps the time of day it is counted from. */
const DISTANCE = /^(?:[+-]\s?\d|in )| ago$|^(?:next|last) (?:week|month|year)$/;

/**
 * Reads a date in one of the forms that mean the same to everybody (DATE_FORMS); without a zone it is UTC. Undefined for
 * all others: `01-05-2024` and `5` are none.
 */
export function readDateText(sent: string, now = Date.now()): ReadDate | undefined {
  const text = sent.trim();
  if (text.length > LENGTH_MAX) return undefined;
  const date = readIso(text) ?? readEpoch(text) ?? readWords(text.toLowerCase(), now);
  return date && date.milliseconds >= EARLIEST && date.milliseconds <= LATEST ? date : undefined;
}

/** The moment alone. */
export function parseDateText(text: string): number | undefined {
  return readDateText(text)?.milliseconds;
}

/** ISO 8601 in its extended form, and with a blank for the T. */
function readIso(text: string): ReadDate | undefined {
  const [, day, time, seconds = ":00", fraction = "", zone = "Z"] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  const isDay = new Date(`${day}T00:00:00Z`);
  // A 31st of February would be the 2nd of March.
  if (Number.isNaN(isDay.getTime()) || !isDay.toISOString().startsWith(day)) return undefined;
  const offset = /^[+-]\d\d$/.test(zone)
    ? `${zone}:00`
    : zone.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2").toUpperCase();
  const milliseconds = Date.parse(`${day}T${time ?? "00:00"}${seconds}${fraction}${offset}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return { milliseconds, hasTime: time !== undefined, isRelative: false };
}

function readEpoch(text: string): ReadDate | undefined {
  const seconds = EPOCH.exec(text)?.[1];
  return seconds === undefined
    ? undefined
    : { milliseconds: Number(seconds) * 1_000, hasTime: true, isRelative: false };
}

/** RFC 2822, months by name, and words relative to now. All of the text has to be understood. */
function readWords(text: string, now: number): ReadDate | undefined {
  if (!/\p{L}/u.test(text) || AMBIGUOUS.test(text)) return undefined;
  if (text === "midnight") return readWords("today", now);
  const [found, ...others] = casual.parse(text, { instant: new Date(now), timezone: "UTC" });
  if (!found || others.length > 0 || found.text.length !== text.length || found.end) return undefined;
  const { start } = found;
  const isAbsolute = start.isCertain("month") && start.isCertain("year") && /\b(19|2\d)\d\d\b/.test(text);
  if (start.isCertain("month") && !start.isCertain("day") && !DISTANCE.test(text)) return undefined;
  const isDistance = DISTANCE.test(text);
  const hasTime = start.isCertain("hour") || isDistance;
  const at = start.date().getTime();
  return { milliseconds: hasTime ? at : beginningOfDay(at), hasTime, isRelative: !isAbsolute };
}

function beginningOfDay(milliseconds: number): number {
  return new Date(milliseconds).setUTCHours(0, 0, 0, 0);
}
