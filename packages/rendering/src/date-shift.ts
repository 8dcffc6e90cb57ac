import { instantOf, type ZonedTime, zonedTime } from "./zoned-time.ts";

/** 100 years in each unit. */
const COUNT_MAX = { minute: 52_596_000, hour: 876_600, day: 36_525, week: 5_217, month: 1_200, year: 100 };
const SHIFT = /^([+-]) ?(\d{1,8}) (minute|hour|day|week|month|year)s?$/;

/** A distance in time, such as `+2 days`. */
export interface DateShift {
  count: number;
  unit: keyof typeof COUNT_MAX;
}

/** Reads `+2 days`, `-1 month`; undefined for other texts and for more than 100 years. */
export function readDateShift(text: string): DateShift | undefined {
  const [, sign, digits, name] = SHIFT.exec(text) ?? [];
  if (name === undefined) return undefined;
  const unit = name as DateShift["unit"];
  const count = Number(`${sign}${digits}`);
  return Math.abs(count) <= COUNT_MAX[unit] ? { count, unit } : undefined;
}

/**
 * Moves a time. Hours and minutes pass on every clock; days and longer units keep the local time of day, as far as there is such a time that day. January 31st
 * and a month is March 3rd, or 2nd in a leap year, as in PHP.
 */
export function shifted(time: ZonedTime, { count, unit }: DateShift): ZonedTime {
  const { instant, timeZone } = time;
  const local = new Date(time.local);
  switch (unit) {
    case "minute":
      return zonedTime(instant + count * 60_000, timeZone);
    case "hour":
      return zonedTime(instant + count * 3_600_000, timeZone);
    case "day":
      local.setUTCDate(local.getUTCDate() + count);
      break;
    case "week":
      local.setUTCDate(local.getUTCDate() + count * 7);
      break;
    case "month":
      local.setUTCMonth(local.getUTCMonth() + count);
      break;
    case "year":
      local.setUTCFullYear(local.getUTCFullYear() + count);
  }
  return zonedTime(instantOf(local.getTime(), timeZone), timeZone);
}
