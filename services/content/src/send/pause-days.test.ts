import assert from "node:assert/strict";
import { test } from "node:test";
import { dayOfPause, withPausesIn } from "./pause-days.ts";
import { channelsOf, readChoices, rulesOf } from "./preferences.ts";

/** The pause of a rule that a reader chose by days, as moments. */
function pauseOf(from: string, to: string, timeZone: string): (string | undefined)[] {
  const { choices } = readChoices(
    new URLSearchParams({ email_number: "", email_unit: "DAY", email_pause_from: from, email_pause_to: to }),
  );
  const { email } = withPausesIn(rulesOf(choices), timeZone);
  return [email?.pause_from_date, email?.pause_to_date];
}

for (const [timeZone, from, to, first, last] of [
  ["", "2027-03-28", "2027-03-28", "2027-03-28T00:00:00.000Z", "2027-03-28T23:59:59.000Z"],
  ["Mars/Olympus", "2027-03-28", "2027-03-29", "2027-03-28T00:00:00.000Z", "2027-03-29T23:59:59.000Z"],
  // Days of 23 and of 25 hours.
  ["Europe/Berlin", "2027-03-28", "2027-03-28", "2027-03-27T23:00:00.000Z", "2027-03-28T21:59:59.000Z"],
  ["Europe/Berlin", "2027-10-31", "2027-10-31", "2027-10-30T22:00:00.000Z", "2027-10-31T22:59:59.000Z"],
  ["America/New_York", "2027-03-14", "2027-03-14", "2027-03-14T05:00:00.000Z", "2027-03-15T03:59:59.000Z"],
  ["America/New_York", "2027-11-01", "2027-11-07", "2027-11-01T04:00:00.000Z", "2027-11-08T04:59:59.000Z"],
  // Days of 24 hours and a half, and of half an hour less.
  ["Australia/Lord_Howe", "2027-04-04", "2027-04-04", "2027-04-03T13:00:00.000Z", "2027-04-04T13:29:59.000Z"],
  ["Australia/Lord_Howe", "2027-10-03", "2027-10-03", "2027-10-02T13:30:00.000Z", "2027-10-03T12:59:59.000Z"],
  // A day that there was not, as the last and as the first one.
  ["Pacific/Apia", "2011-12-29", "2011-12-29", "2011-12-29T10:00:00.000Z", "2011-12-30T09:59:59.000Z"],
  ["Pacific/Apia", "2011-12-30", "2011-12-31", "2011-12-30T10:00:00.000Z", "2011-12-31T09:59:59.000Z"],
  // Clocks that go from midnight to one o'clock, and from one o'clock back to midnight.
  ["Africa/Cairo", "2027-04-30", "2027-04-30", "2027-04-29T22:00:00.000Z", "2027-04-30T20:59:59.000Z"],
  ["America/Havana", "2027-11-07", "2027-11-07", "2027-11-07T04:00:00.000Z", "2027-11-08T04:59:59.000Z"],
  ["America/New_York", "9999-12-31", "9999-12-31", "9999-12-31T05:00:00.000Z", "9999-12-31T23:59:59.000Z"],
] as const)
  test(`a pause from ${from} to ${to} of a contact in "${timeZone}" lasts from ${first} to ${last}`, () => {
    assert.deepEqual(pauseOf(from, to, timeZone), [first, last]);
  });

test("a rule without a pause stays without one, and a stored pause is shown by the days of the contact", () => {
  assert.deepEqual(pauseOf("", "", "Europe/Berlin"), ["", ""]);
  assert.equal(dayOfPause(null, "Europe/Berlin"), "");
  for (const timeZone of [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Cairo",
  ])
    for (const day of [
      "2027-03-14",
      "2027-03-28",
      "2027-04-04",
      "2027-04-30",
      "2027-10-03",
      "2027-10-31",
      "9999-12-31",
    ]) {
      const [first, last] = pauseOf(day, day, timeZone);
      const { channels } = channelsOf(
        { email: { pauseFromDate: first ?? null, pauseToDate: last ?? null } },
        ["email"],
        timeZone,
      );
      assert.deepEqual([channels.email?.pauseFrom, channels.email?.pauseTo], [day, day], timeZone);
    }
});
