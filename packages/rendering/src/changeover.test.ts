import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readDateShift, shifted } from "./date-shift.ts";
import { formatFieldDate, formatToday } from "./format-date.ts";
import { formatPhpDate } from "./php-date.ts";
import { instantOf, zonedTime } from "./zoned-time.ts";

/** Days on which the clocks of a time zone change, and one that it skipped. */

const ZONES = [
  ...["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana"],
  ...["America/St_Johns", "Africa/Cairo", "Pacific/Kwajalein", "Asia/Kathmandu", "UTC"],
];

for (const [timeZone, instant, local] of [
  // Berlin: 02:00 is followed by 03:00, and 03:00 by 02:00.
  ["Europe/Berlin", "2027-03-28T00:59:59Z", "2027-03-28T01:59:59+01:00"],
  ["Europe/Berlin", "2027-03-28T01:00:00Z", "2027-03-28T03:00:00+02:00"],
  ["Europe/Berlin", "2027-10-31T00:59:59Z", "2027-10-31T02:59:59+02:00"],
  ["Europe/Berlin", "2027-10-31T01:00:00Z", "2027-10-31T02:00:00+01:00"],
  ["America/New_York", "2027-03-14T06:59:59Z", "2027-03-14T01:59:59-05:00"],
  ["America/New_York", "2027-03-14T07:00:00Z", "2027-03-14T03:00:00-04:00"],
  ["America/New_York", "2027-11-07T05:59:59Z", "2027-11-07T01:59:59-04:00"],
  ["America/New_York", "2027-11-07T06:00:00Z", "2027-11-07T01:00:00-05:00"],
  // Lord Howe Island moves its clocks by half an hour.
  ["Australia/Lord_Howe", "2027-04-03T14:59:59Z", "2027-04-04T01:59:59+11:00"],
  ["Australia/Lord_Howe", "2027-04-03T15:00:00Z", "2027-04-04T01:30:00+10:30"],
  ["Australia/Lord_Howe", "2027-10-02T15:29:59Z", "2027-10-03T01:59:59+10:30"],
  ["Australia/Lord_Howe", "2027-10-02T15:30:00Z", "2027-10-03T02:30:00+11:00"],
  // Samoa had no December 30th in 2011.
  ["Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29T23:59:59-10:00"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31T00:00:00+14:00"],
] as const)
  test(`at ${instant} a mail to a contact in ${timeZone} has the local time ${local}`, () => {
    const settings = { now: Date.parse(instant), timeZone, locale: "en" };
    assert.equal(formatToday({ format: "c", shift: undefined }, settings), local);
    const field = formatFieldDate(instant, "date", { ...settings, formats: { date: "c" } });
    assert.equal(field, local);
    // A date without a time of day is the same day everywhere.
    const day = formatFieldDate(local.slice(0, 10), "date", { ...settings, formats: { date: "Y-m-d" } });
    assert.equal(day, local.slice(0, 10));
  });

for (const [timeZone, from, shift, expected] of [
  ["Europe/Berlin", "2027-03-27T12:00:00+01:00", "+1 day", "2027-03-28T12:00:00+02:00"],
  ["Europe/Berlin", "2027-03-27T02:30:00+01:00", "+1 day", "2027-03-28T03:30:00+02:00"],
  ["Europe/Berlin", "2027-10-30T02:30:00+02:00", "+1 day", "2027-10-31T02:30:00+02:00"],
  ["Europe/Berlin", "2027-11-01T02:30:00+01:00", "-1 day", "2027-10-31T02:30:00+02:00"],
  ["America/New_York", "2027-03-13T02:30:00-05:00", "+1 day", "2027-03-14T03:30:00-04:00"],
  ["America/New_York", "2027-03-13T23:30:00-05:00", "+1 day", "2027-03-14T23:30:00-04:00"],
  ["America/New_York", "2027-11-06T01:30:00-04:00", "+1 day", "2027-11-07T01:30:00-04:00"],
  ["America/New_York", "2027-11-06T12:00:00-04:00", "+24 hours", "2027-11-07T11:00:00-05:00"],
  ["Australia/Lord_Howe", "2027-10-02T02:15:00+10:30", "+1 day", "2027-10-03T02:45:00+11:00"],
  ["Australia/Lord_Howe", "2027-04-03T01:45:00+11:00", "+1 day", "2027-04-04T01:45:00+11:00"],
  ["Australia/Lord_Howe", "2027-03-28T12:00:00+11:00", "+1 week", "2027-04-04T12:00:00+10:30"],
  ["Pacific/Apia", "2011-12-29T05:00:00-10:00", "+1 day", "2011-12-31T05:00:00+14:00"],
  ["Pacific/Apia", "2011-12-29T23:30:00-10:00", "+1 day", "2011-12-31T23:30:00+14:00"],
  ["Pacific/Apia", "2011-12-29T05:00:00-10:00", "+2 days", "2011-12-31T05:00:00+14:00"],
  ["Pacific/Apia", "2011-11-30T12:00:00-10:00", "+1 month", "2011-12-31T12:00:00+14:00"],
] as const)
  test(`${shift} from ${from} in ${timeZone} is ${expected}, as in PHP`, () => {
    const read = readDateShift(shift);
    assert.ok(read);
    assert.equal(formatPhpDate("c", shifted(zonedTime(Date.parse(from), timeZone), read)), expected);
  });

test("a local time is that instant at which its zone shows it first, or as much later as the clocks skipped", () => {
  const instants = fc.date({
    min: new Date("1971-01-01"),
    max: new Date("2037-12-31"),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(instants, fc.constantFrom(...ZONES), (date, timeZone) => {
      const instant = date.getTime();
      const local = zonedTime(instant, timeZone).local.getTime();
      const found = instantOf(local, timeZone);
      assert.ok(found <= instant);
      assert.equal(zonedTime(found, timeZone).local.getTime(), local);
      // Whatever the clocks skip, a later local time is no earlier instant.
      assert.ok(instantOf(local + 1_800_000, timeZone) >= found);
    }),
    { numRuns: 3_000 },
  );
});
