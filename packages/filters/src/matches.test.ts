import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import { checkFilters } from "./check.ts";
import { type Filter, readFilters } from "./filter.ts";
import { type MatchedContact, matches } from "./matches.ts";
import { skippedFilters } from "./skipped.ts";

const contact: MatchedContact = {
  value: (name) => (name === "city" ? { text: "Rome", kind: "text" } : undefined),
  tagIds: new Set([1, 2]),
  doNotContact: new Map([["email", 1]]),
};
const now = Date.UTC(2026, 10, 24, 12);

function filtersFrom(...sent: object[]): Filter[] {
  return readFilters(Buffer.from(JSON.stringify(sent)));
}
const isRome = { field: "city", operator: "=", filter: "rome" };
const unknown = { field: "gone", operator: "=", filter: "x" };

test("filters on fields that contacts do not have, on companies and activities are skipped, and alone they match nobody", () => {
  const company = { ...isRome, object: "company" };
  const hit = { field: "hit_url", object: "behaviors", operator: "!=", filter: "x" };
  for (const skipped of [unknown, company, hit]) {
    assert.equal(matches(filtersFrom(isRome, skipped), contact, now), true);
    assert.equal(matches(filtersFrom(skipped), contact, now), false);
  }
  assert.equal(matches([], contact, now), false);
});

test("a filter whose value cannot be read lets its group fail and no other", () => {
  const bad = { field: "city", operator: "regexp", filter: "(" };
  assert.equal(matches(filtersFrom(bad, isRome), contact, now), false);
  assert.equal(matches(filtersFrom(bad, { ...isRome, glue: "or" }), contact, now), true);
});

test("members of segments are asked where the segments of a contact are known", () => {
  const filters = filtersFrom({ field: "leadlist", operator: "in", filter: [7] });
  assert.equal(matches(filters, contact, now), false);
  assert.equal(matches(filters, { ...contact, segmentIds: new Set([7]) }, now), true);
});

test("tags and do-not-contact are asked by id and reason", () => {
  assert.equal(matches(filtersFrom({ field: "tags", operator: "in", filter: [2, 9] }), contact, now), true);
  assert.equal(matches(filtersFrom({ field: "tags", operator: "!in", filter: [2, 9] }), contact, now), false);
  assert.equal(
    matches(filtersFrom({ field: "dnc_unsubscribed", operator: "=", filter: 1 }), contact, now),
    true,
  );
  assert.equal(matches(filtersFrom({ field: "dnc_bounced", operator: "=", filter: 1 }), contact, now), false);
});

test("names that every object has are no fields of a contact", () => {
  for (const field of ["constructor", "__proto__", "toString"])
    assert.equal(matches(filtersFrom({ field, operator: "!empty" }), contact, now), false);
});

test("each mistake is named with the place of its filter", () => {
  const found = checkFilters("filters", [
    isRome,
    { ...isRome, operator: "date" },
    { ...isRome, glue: "xor" },
    { operator: "=" },
    "text",
  ]);
  assert.deepEqual(
    found.map(({ field }) => field),
    ["filters[1].operator", "filters[2].glue", "filters[3].field", "filters[4]"],
  );
  assert.equal(checkFilters("filters", "x").length, 1);
  assert.equal(checkFilters("filters", Array(101).fill(isRome)).length, 1);
});

test("no pattern and no text of any length holds the event loop", () => {
  const long = { ...contact, value: () => ({ text: "ab".repeat(32_000), kind: "text" as const }) };
  const patterns = [
    { operator: "regexp", filter: "(?:a?b*){60}c" },
    { operator: "regexp", filter: "(a|b|ab)*c" },
    { operator: "like", filter: "%a".repeat(400) },
    { operator: "like", filter: `%${"_".repeat(900)}c` },
  ];
  for (const pattern of patterns) {
    const startedAt = performance.now();
    matches(filtersFrom({ field: "city", ...pattern }), long, now);
    // A backtracking engine would take years.
    assert.ok(performance.now() - startedAt < 5_000, pattern.filter.slice(0, 20));
  }
});

test("filters on companies and on activities are named as skipped, and no others", () => {
  const filter = (object: string, field: string) => ({ object, field, operator: "=", filter: "x" });
  const sent = [
    filter("lead", "city"),
    filter("company", "companycity"),
    filter("behaviors", "hit_url"),
    filter("behaviors", "dnc_bounced"),
    filter("lead", "leadlist"),
  ];
  assert.deepEqual(skippedFilters(sent), [1, 2]);
  assert.deepEqual(skippedFilters("none"), []);
});
