import { LRUCache } from "lru-cache";

/** An instant as the clocks of a time zone show it. */
export interface ZonedTime {
  /** Milliseconds since the epoch. */
  instant: number;
  timeZone: string;
  offsetMs: number;
  /** The local date and time, in the UTC fields of a date. */
  local: Date;
}

const OFFSET = /([+-])(\d\d):(\d\d)(?::(\d\d))?/;
const DAY_MS = 86_400_000;
/** A formatter takes longer to make than to use. */
const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: 500 });

/** The instant in a time zone of the IANA database. Throws RangeError for another name: see `knownTimeZone`. */
export function zonedTime(instant: number, timeZone: string): ZonedTime {
  const offsetMs = readOffset(zoneName(instant, timeZone, "longOffset"));
  return { instant, timeZone, offsetMs, local: new Date(instant + offsetMs) };
}

/**
 * The instant at which clocks of a time zone show a local time, given in the UTC fields of a date. The earlier one where they show it twice. A time that they
 * skip is as much later as they are set forward, which in Pacific/Apia was a whole day. So does PHP, and so does Temporal ("compatible").
 */
export function instantOf(local: number, timeZone: string): number {
  const offsetAt = (instant: number) => zonedTime(instant, timeZone).offsetMs;
  const before = local - offsetAt(local - DAY_MS);
  const after = local - offsetAt(local + DAY_MS);
  const shown = [before, after].filter((instant) => instant + offsetAt(instant) === local);
  return shown.length > 0 ? Math.min(...shown) : before;
}

/** The name of a time zone at an instant: `GMT+02:00` (longOffset), or `EST` where an abbreviation is known (short). */
export function zoneName(instant: number, timeZone: string, style: "longOffset" | "short"): string {
  const parts = formatter("en-US", { timeZone, timeZoneName: style }).formatToParts(instant);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** A formatter of dates, kept for the next call. Throws RangeError for an unknown locale or time zone. */
export function formatter(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, options]);
  const kept = formatters.get(key) ?? new Intl.DateTimeFormat(locale, options);
  formatters.set(key, kept);
  return kept;
}

/** The time zone when Intl knows it, and UTC otherwise: contacts have any text in that field. */
export function knownTimeZone(name: string): string {
  try {
    return formatter("en-US", { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return "UTC";
    throw error;
  }
}

/** A BCP 47 tag of a locale such as `de_AT`, and `en` for a text that is no locale. */
export function knownLocale(name: string): string {
  try {
    return Intl.getCanonicalLocales(name.replaceAll("_", "-"))[0] ?? "en";
  } catch (error) {
    if (error instanceof RangeError) return "en";
    throw error;
  }
}

function readOffset(name: string): number {
  const [, sign, hours, minutes, seconds = "0"] = OFFSET.exec(name) ?? [];
  const offsetMs = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds)) * 1_000;
  return sign === "-" ? -offsetMs : offsetMs;
}
