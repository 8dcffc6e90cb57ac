import { readDateText } from "@tidings/runtime/date-text";
import { shifted } from "./date-shift.ts";
import { formatPhpDate } from "./php-date.ts";
import type { TodayToken } from "./token.ts";
import { formatter, knownLocale, knownTimeZone, type ZonedTime, zonedTime } from "./zoned-time.ts";

export type DateStyle = "date" | "time" | "datetime";

/** How dates are written for a contact. */
export interface DateSettings {
  /** Now, in milliseconds since the epoch. */
  now: number;
  /** The time zone of the contact; UTC is used for an unknown one. */
  timeZone: string;
  /** The locale of the contact, such as `de_AT`; English is used for an unknown one. */
  locale: string;
  /** Formats of PHP by style. A style without one is written as its locale does: `May 1, 2024`. */
  formats?: Partial<Record<DateStyle, string>>;
}

const STYLES: Record<DateStyle, Intl.DateTimeFormatOptions> = {
  date: { dateStyle: "long" },
  time: { timeStyle: "short" },
  datetime: { dateStyle: "long", timeStyle: "short" },
};

/** The value of `{today}` in the time zone of the contact. */
export function formatToday(token: TodayToken, settings: DateSettings): string {
  const { format, shift } = token;
  return formatOnce(settings, `${format} ${JSON.stringify(shift)}`, () => today(token, settings));
}

/** Dates that were formatted with these settings. Formatting takes 10 us, and a text may have thousands of dates. */
const formatted = new WeakMap<DateSettings, Map<string, string>>();

function formatOnce(settings: DateSettings, key: string, format: () => string): string {
  const known = formatted.get(settings) ?? new Map<string, string>();
  formatted.set(settings, known);
  const text = known.get(key) ?? format();
  known.set(key, text);
  return text;
}

function today({ format, shift }: TodayToken, settings: DateSettings): string {
  const now = zonedTime(settings.now, knownTimeZone(settings.timeZone));
  const time = shift ? shifted(now, shift) : now;
  return isStyle(format) ? inStyle(format, time, settings) : formatPhpDate(format, time);
}

/**
 * Formats the value of a contact's field. A day without a time of day is the same day in every zone. A text that is not a
 * date, or that means another date tomorrow, stays as it is.
 */
export function formatFieldDate(text: string, style: DateStyle, settings: DateSettings): string {
  return formatOnce(settings, `${style} of ${text}`, () => fieldDate(text, style, settings));
}

function fieldDate(text: string, style: DateStyle, settings: DateSettings): string {
  const date = readDateText(text, settings.now);
  if (!date || date.isRelative) return text;
  const timeZone = date.hasTime ? knownTimeZone(settings.timeZone) : "UTC";
  return inStyle(style, zonedTime(date.milliseconds, timeZone), settings);
}

function inStyle(style: DateStyle, time: ZonedTime, { formats, locale }: DateSettings): string {
  const format = formats?.[style];
  if (format !== undefined) return formatPhpDate(format, time);
  const options = { ...STYLES[style], timeZone: time.timeZone };
  return formatter(knownLocale(locale), options).format(time.instant);
}

function isStyle(format: string): format is DateStyle {
  return format === "date" || format === "time" || format === "datetime";
}
