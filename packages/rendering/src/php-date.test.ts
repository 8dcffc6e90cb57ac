import assert from "node:assert/strict";
import { test } from "node:test";
import { readDateShift, shifted } from "./date-shift.ts";
import { formatPhpDate } from "./php-date.ts";
import { zonedTime } from "./zoned-time.ts";

function format(letters: string, date: string, timeZone = "UTC"): string {
  return formatPhpDate(letters, zonedTime(Date.parse(date), timeZone));
}

for (const [letters, expected] of [
  ["d D j l N S w z", "03 Tue 3 Tuesday 2 rd 2 33"],
  ["W F m M n t L o Y y", "06 February 02 Feb 2 28 0 2026 2026 26"],
  ["a A g G h H i s", "pm PM 3 15 03 15 07 09"],
  ["e T P O U", "UTC UTC +00:00 +0000 1770131229"],
  ["c", "2026-02-03T15:07:09+00:00"],
  ["r", "Tue, 03 Feb 2026 15:07:09 +0000"],
  ["\\Y\\\\Y - {}<é\\", "Y\\2026 - {}<é"],
  ["BuvIpXxZ", "BuvIpXxZ"],
])
  test(`the date format ${letters} of PHP gives ${expected}`, () =>
    assert.equal(format(letters as string, "2026-02-03T15:07:09Z"), expected));

test("weeks of ISO 8601 belong to the year of their Thursday", () => {
  for (const [date, expected] of [
    ["2021-01-03", "2020-W53-7"],
    ["2021-01-04", "2021-W01-1"],
    ["2019-12-30", "2020-W01-1"],
    ["2024-12-31", "2025-W01-2"],
    ["2026-12-31", "2026-W53-4"],
  ])
    assert.equal(format("o-\\WW-N", date as string), expected);
});

test("days of a year, months and leap years are counted", () => {
  assert.equal(format("z t L", "2024-12-31"), "365 31 1");
  assert.equal(format("z t L", "2100-02-01"), "31 28 0");
  assert.equal(
    ["01", "02", "03", "04", "11", "12", "13", "21", "22", "23", "31"]
      .map((day) => format("jS", `2026-01-${day}`))
      .join(),
    "1st,2nd,3rd,4th,11th,12th,13th,21st,22nd,23rd,31st",
  );
  assert.equal(format("g a", "2026-01-01T00:30:00Z"), "12 am");
  assert.equal(format("h A", "2026-01-01T12:30:00Z"), "12 PM");
});

test("offsets of zones are those of the instant", () => {
  assert.equal(
    format("H:i P O e", "2026-07-01T12:00:00Z", "Europe/Vienna"),
    "14:00 +02:00 +0200 Europe/Vienna",
  );
  assert.equal(format("H:i P T", "2026-01-01T12:00:00Z", "America/New_York"), "07:00 -05:00 EST");
  assert.equal(format("H:i P", "2026-01-01T12:00:00Z", "America/St_Johns"), "08:30 -03:30");
  assert.equal(format("c", "2026-01-01T12:00:00Z", "Asia/Kathmandu"), "2026-01-01T17:45:00+05:45");
});

test("a date is shifted by the calendar of its zone", () => {
  const shift = (text: string, date: string, timeZone = "UTC") => {
    const read = readDateShift(text);
    assert.ok(read, text);
    return formatPhpDate("c", shifted(zonedTime(Date.parse(date), timeZone), read));
  };
  assert.equal(shift("+1 month", "2026-01-31"), "2026-03-03T00:00:00+00:00");
  assert.equal(shift("+1 year", "2024-02-29"), "2025-03-01T00:00:00+00:00");
  assert.equal(shift("-2 weeks", "2026-01-07"), "2025-12-24T00:00:00+00:00");
  assert.equal(shift("+ 90 minutes", "2026-01-01"), "2026-01-01T01:30:00+00:00");
  // The clocks of Vienna go forward on March 29th, 2026.
  assert.equal(shift("+1 day", "2026-03-28T12:00:00Z", "Europe/Vienna"), "2026-03-29T13:00:00+02:00");
  assert.equal(shift("+24 hours", "2026-03-28T12:00:00Z", "Europe/Vienna"), "2026-03-29T14:00:00+02:00");
});

test("a shift is a sign, a number and a unit, of at most 100 years", () => {
  for (const text of ["+100 years", "-1200 months", "+1 day", "+36525 days"])
    assert.ok(readDateShift(text), text);
  for (const text of [
    "",
    "1 day",
    "+1",
    "+1 days ",
    "+1.5 days",
    "+101 years",
    "+99999999 days",
    "+1 second",
    "+ day",
  ])
    assert.equal(readDateShift(text), undefined, text);
});
