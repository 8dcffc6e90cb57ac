import { type ZonedTime, zoneName } from "./zoned-time.ts";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAY_MS = 86_400_000;

const LETTERS = new Map<string, (time: ZonedTime) => string | number>([
  ["d", ({ local }) => twoDigits(local.getUTCDate())],
  ["D", (time) => dayName(time).slice(0, 3)],
  ["j", ({ local }) => local.getUTCDate()],
  ["l", (time) => dayName(time)],
  ["N", ({ local }) => local.getUTCDay() || 7],
  ["S", ({ local }) => ordinalSuffix(local.getUTCDate())],
  ["w", ({ local }) => local.getUTCDay()],
  ["z", ({ local }) => dayOfYear(local)],
  ["W", ({ local }) => twoDigits(Math.floor(dayOfYear(thursdayOfWeek(local)) / 7) + 1)],
  ["F", (time) => monthName(time)],
  ["m", ({ local }) => twoDigits(local.getUTCMonth() + 1)],
  ["M", (time) => monthName(time).slice(0, 3)],
  ["n", ({ local }) => local.getUTCMonth() + 1],
  ["t", ({ local }) => new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + 1, 0)).getUTCDate()],
  ["L", ({ local }) => (new Date(Date.UTC(local.getUTCFullYear(), 1, 29)).getUTCMonth() === 1 ? 1 : 0)],
  ["o", ({ local }) => thursdayOfWeek(local).getUTCFullYear()],
  ["Y", ({ local }) => String(local.getUTCFullYear()).padStart(4, "0")],
  ["y", ({ local }) => twoDigits(local.getUTCFullYear() % 100)],
  ["a", ({ local }) => (local.getUTCHours() < 12 ? "am" : "pm")],
  ["A", ({ local }) => (local.getUTCHours() < 12 ? "AM" : "PM")],
  ["g", ({ local }) => local.getUTCHours() % 12 || 12],
  ["G", ({ local }) => local.getUTCHours()],
  ["h", ({ local }) => twoDigits(local.getUTCHours() % 12 || 12)],
  ["H", ({ local }) => twoDigits(local.getUTCHours())],
  ["i", ({ local }) => twoDigits(local.getUTCMinutes())],
  ["s", ({ local }) => twoDigits(local.getUTCSeconds())],
  ["e", ({ timeZone }) => timeZone],
  ["T", ({ instant, timeZone }) => zoneName(instant, timeZone, "short")],
  ["P", ({ offsetMs }) => offset(offsetMs, ":")],
  ["O", ({ offsetMs }) => offset(offsetMs, "")],
  ["U", ({ instant }) => Math.floor(instant / 1_000)],
  ["c", (time) => formatPhpDate("Y-m-d\\TH:i:sP", time)],
  ["r", (time) => formatPhpDate("D, d M Y H:i:s O", time)],
]);

/**
 * Formats a time as PHP's `date` does, in English: letters stand for parts of the date, a backslash keeps the next
 * character, and other characters stay (https://www.php.net/manual/en/datetime.format.php). Letters for fractions of
 * seconds, Swatch time and daylight saving (B, u, v, I, p, X, x, Z) stay as they are.
 */
export function formatPhpDate(format: string, time: ZonedTime): string {
  let text = "";
  for (let index = 0; index < format.length; index += 1) {
    const character = format.charAt(index);
    if (character === "\\") {
      index += 1;
      text += format.charAt(index);
    } else text += LETTERS.get(character)?.(time) ?? character;
  }
  return text;
}

function dayName({ local }: ZonedTime): string {
  return DAYS[local.getUTCDay()] ?? "";
}

function monthName({ local }: ZonedTime): string {
  return MONTHS[local.getUTCMonth()] ?? "";
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

function ordinalSuffix(day: number): string {
  if (day >= 11 && day <= 13) return "th";
  return ["th", "st", "nd", "rd"][day % 10] ?? "th";
}

/** January 1st is 0. */
function dayOfYear(date: Date): number {
  const yearStart = new Date(date);
  yearStart.setUTCMonth(0, 1);
  return Math.round((date.getTime() - yearStart.getTime()) / DAY_MS);
}

/** Weeks begin on Monday and belong to the year of their Thursday (ISO 8601). */
function thursdayOfWeek(date: Date): Date {
  return new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * DAY_MS);
}

function offset(offsetMs: number, separator: string): string {
  const minutes = Math.floor(Math.abs(offsetMs) / 60_000);
  const sign = offsetMs < 0 ? "-" : "+";
  return `${sign}${twoDigits(Math.floor(minutes / 60))}${separator}${twoDigits(minutes % 60)}`;
}
