import assert from "node:assert/strict";
import { test } from "node:test";
import { differencesOf, type Mailing } from "./mail-account.ts";

const whole: Mailing = {
  chosen: 4,
  unknownMax: 1,
  rows: [
    { address: "a@example.org", state: "sent" },
    { address: "b@example.org", state: "unknown" },
    { address: "c@example.org", state: "failed" },
    { address: "d@example.org", state: "suppressed" },
  ],
  journal: ["a@example.org"],
};
const [sent, unknown, failed, suppressed] = whole.rows as [Row, Row, Row, Row];
type Row = Mailing["rows"][number];

test("a mailing has no difference where each mail came as often as its row allows", () => {
  assert.deepEqual(differencesOf(whole), []);
  assert.deepEqual(differencesOf({ ...whole, journal: ["a@example.org", "b@example.org"] }), []);
});

test("an address that got the mail twice is a difference, whatever its row says", () => {
  for (const address of ["a@example.org", "b@example.org"]) {
    const journal = ["a@example.org", address, address];
    assert.ok(differencesOf({ ...whole, journal }).includes("1 addresses got the mail twice"), address);
  }
});

test("a sent mail that never came, and a mail that came without being sent, are differences", () => {
  assert.deepEqual(differencesOf({ ...whole, journal: [] }), ["1 mails are sent and never came"]);
  for (const address of ["c@example.org", "d@example.org"])
    assert.deepEqual(differencesOf({ ...whole, journal: ["a@example.org", address] }), [
      "1 mails came and are not sent",
    ]);
  assert.deepEqual(differencesOf({ ...whole, journal: ["a@example.org", "e@example.org"] }), [
    "1 addresses have no row",
  ]);
});

test("a contact without a row, an address with two rows and a row without a final state are differences", () => {
  assert.deepEqual(differencesOf({ ...whole, chosen: 5 }), ["1 contacts have no row"]);
  assert.deepEqual(differencesOf({ ...whole, rows: [...whole.rows, failed] }), [
    "1 rows are of an address that has another row",
  ]);
  const waiting = { ...suppressed, state: "waiting" };
  assert.deepEqual(differencesOf({ ...whole, rows: [sent, unknown, failed, waiting] }), [
    "1 rows are not decided",
  ]);
});

test("more unknown mails than may be are a difference, which has their reasons", () => {
  assert.deepEqual(differencesOf({ ...whole, unknownMax: 0 }), [
    "1 mails are unknown besides the 0 that may be (no reason)",
  ]);
});
