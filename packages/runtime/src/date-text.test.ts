import assert from "node:assert/strict";
import { test } from "node:test";
import { readDateText } from "./date-text.ts";

/** A Wednesday. */
const NOW = Date.parse("2024-05-15T10:20:30.000Z");

const read = (text: string) => {
  const date = readDateText(text, NOW);
  return date && new Date(date.milliseconds).toISOString();
};

for (const [text, expected] of [
  ["2024-05-01", "2024-05-01T00:00:00.000Z"],
  ["2024-05-01 10:30", "2024-05-01T10:30:00.000Z"],
  ["2024-05-01 10:30:15", "2024-05-01T10:30:15.000Z"],
  ["2024-05-01T10:30:15Z", "2024-05-01T10:30:15.000Z"],
  ["2024-05-01T10:30:15.250+02:00", "2024-05-01T08:30:15.250Z"],
  ["2024-05-01T10:30:15+0200", "2024-05-01T08:30:15.000Z"],
  ["2024-05-01t10:30:15z", "2024-05-01T10:30:15.000Z"],
  ["2024-05-01T10:30:15+02", "2024-05-01T08:30:15.000Z"],
  ["0001-01-01", "0001-01-01T00:00:00.000Z"],
  ["1815-12-10 08:00", "1815-12-10T08:00:00.000Z"],
  ["@-62135596800", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31 23:59:59", "9999-12-31T23:59:59.000Z"],
  ["Mon, 15 Aug 2005 15:52:01 +0000", "2005-08-15T15:52:01.000Z"],
  ["15 Aug 2005 15:52:01 +0200", "2005-08-15T13:52:01.000Z"],
  ["1 May 2024", "2024-05-01T00:00:00.000Z"],
  ["May 1, 2024", "2024-05-01T00:00:00.000Z"],
  ["@0", "1970-01-01T00:00:00.000Z"],
  ["@1714559415", "2024-05-01T10:30:15.000Z"],
  ["now", "2024-05-15T10:20:30.000Z"],
  ["today", "2024-05-15T00:00:00.000Z"],
  ["Midnight", "2024-05-15T00:00:00.000Z"],
  ["tomorrow", "2024-05-16T00:00:00.000Z"],
  ["yesterday", "2024-05-14T00:00:00.000Z"],
  ["tomorrow 14:00", "2024-05-16T14:00:00.000Z"],
  ["+1 day", "2024-05-16T10:20:30.000Z"],
  ["-2 weeks", "2024-05-01T10:20:30.000Z"],
  ["+3 hours", "2024-05-15T13:20:30.000Z"],
  ["2 days ago", "2024-05-13T10:20:30.000Z"],
  ["next monday", "2024-05-20T00:00:00.000Z"],
] as const)
  test(`"${text}" is ${expected}`, () => assert.equal(read(text), expected));

for (const text of [
  "01-05-2024",
  "13-05-2024",
  "05/01/2024",
  "1.5.2024",
  "5",
  "12",
  "1.5",
  "0",
  "20240501",
  "",
  "10:30",
  "may",
  "may 2024",
  "2024-02-31",
  "31 Feb 2024",
  "2024-13-01",
  "0000-12-31",
  "0001-01-01T00:00+01:00",
  "@-62135596801",
  "@253402300800",
  "2024-05-01T25:00",
  "2024-05-01 and more",
  "0000-00-00",
  "@99999999999999",
  "constructor",
  "a".repeat(100_000),
])
  test(`"${text.slice(0, 30)}" is no date`, () => assert.equal(read(text), undefined));

test("a text that depends on the day it is read is marked as relative", () => {
  const relative = ["today", "now", "+1 day", "next monday", "2 days ago"];
  assert.ok(relative.every((text) => readDateText(text, NOW)?.isRelative));
  const absolute = ["2024-05-01", "1 May 2024", "@0", "Mon, 15 Aug 2005 15:52:01 +0000"];
  assert.ok(absolute.every((text) => readDateText(text, NOW)?.isRelative === false));
});

test("a date is read alike in whatever time zone the process runs, also on days on which its clocks change", (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  const texts = [
    ...["2027-03-28 02:30", "28 Mar 2027 02:30", "March 14, 2027 02:30", "3 Oct 2027 02:15", "30 Dec 2011"],
    ...[
      "Sun, 28 Mar 2027 02:30:00 +0000",
      "31 Oct 2027 01:30",
      "today",
      "tomorrow",
      "tomorrow 02:30",
      "yesterday",
    ],
    ...["now", "+1 day", "-2 days", "+1 month", "next week", "3 hours ago", "midnight"],
  ];
  // Around changes in Berlin, New York and on Lord Howe Island.
  const moments = ["2027-03-27T23:30", "2027-03-14T06:45", "2027-10-02T15:20", "2027-04-03T14:50"];
  const readAll = () =>
    moments.flatMap((moment) => texts.map((text) => readDateText(text, Date.parse(`${moment}:00Z`))));
  process.env.TZ = "UTC";
  const expected = readAll();
  for (const zone of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]) {
    process.env.TZ = zone;
    assert.equal(new Intl.DateTimeFormat().resolvedOptions().timeZone, zone);
    assert.deepEqual(readAll(), expected, zone);
  }
});
