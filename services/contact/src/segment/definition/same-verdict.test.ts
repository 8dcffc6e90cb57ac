import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { compileSql } from "@tidings/database/compile-sql";
import { type Filter, FilterProblem, type FilterValue } from "@tidings/filters/filter";
import { type MatchedContact, matches } from "@tidings/filters/matches";
import { kindOf, OPERATORS, operatorsOf, type ValueKind } from "@tidings/filters/operators";
import fc from "fast-check";
import { sql } from "kysely";
import { currentRows } from "../../contact/read.ts";
import type { FieldCatalogue } from "../../field/catalogue.ts";
import { withCustomValues } from "../../field/values.ts";
import { type ContactRow, doNotContactOf } from "../../rows/contact.ts";
import { segmentScene } from "../../testing/segment-scene.ts";
import { midnight } from "./definitions.ts";
import { compileFilters } from "./predicate.ts";

/** Segments ask filters in SQL, dynamic content and campaigns in memory: the verdict has to be the same. */

let scene: Awaited<ReturnType<typeof segmentScene>>;
let catalogue: FieldCatalogue;
let contacts: ContactRow[];

const TEXTS = [
  "Rome",
  "rome",
  "New York",
  "100% Rome",
  "ÄÖÜ straße",
  "a_b",
  "a\\b",
  "x|y",
  "42",
  "Σίσυφος",
  " ",
];
const DATES = ["1990-02-28", "1985-12-31", "2024-02-29", "2024-05-01"];
const MOMENTS = ["2024-05-01 10:30:00", "2024-05-01 00:00:00", "1999-12-31 23:59:59"];
const FIELDS: Record<string, [type: string, values: unknown[]]> = {
  note: ["text", TEXTS],
  long: ["textarea", TEXTS],
  size: ["number", [0, 42, 38.5, -1, 1_000_000]],
  vip: ["boolean", [true, false]],
  born: ["date", DATES],
  seen: ["datetime", MOMENTS],
  colors: ["multiselect", ["red", "red|blue", "green"]],
};

before(async () => {
  scene = await segmentScene();
  await scene.addField("note", "text");
  await scene.addField("long", "textarea");
  await scene.addField("size", "number", { scale: 1 });
  await scene.addField("vip", "boolean", { yes: "Yes", no: "No" });
  await scene.addField("born", "date");
  await scene.addField("seen", "datetime");
  await scene.addField("colors", "multiselect", { list: ["red", "blue", "green"] });
  const ids: number[] = [];
  for (let index = 0; index < 40; index += 1) {
    const values = Object.entries(FIELDS).flatMap(([name, [, all]], position) => {
      const value = all[(index * (position + 3)) % (all.length + 2)];
      return value === undefined ? [] : [[name, value]];
    });
    const city = TEXTS[index % (TEXTS.length + 1)];
    const tags = [[], ["vip"], ["vip", "new"]][index % 3];
    const doNotContact = index % 4 === 0 ? [{ channel: "email", reason: 1 + (index % 3) }] : [];
    const added = { points: index * 7 - 20, tags, doNotContact };
    ids.push(await scene.addContact({ ...Object.fromEntries(values), ...(city && { city }) }, added));
  }
  catalogue = await scene.services.catalogues.latest();
  const rows = await currentRows(scene.services.database, ids, Date.now() + 20_000);
  contacts = [...rows.values()].map((row) => withCustomValues(row, catalogue.contact));
});
after(() => scene.close());

const COLUMNS: Record<string, ValueKind> = {
  date_added: "date",
  date_identified: "date",
  last_active: "datetime",
  date_modified: "datetime",
  points: "number",
  owner_id: "number",
};

function inMemory(row: ContactRow): MatchedContact {
  const ids = (row.tag_ids ?? "{}").slice(1, -1);
  return {
    value(name) {
      const field = catalogue.contact.byAlias.get(name);
      const kind = field ? kindOf(field.type) : COLUMNS[name];
      return kind && { text: row[name] ?? null, kind };
    },
    tagIds: new Set(ids === "" ? [] : ids.split(",").map(Number)),
    doNotContact: new Map(
      Object.entries(doNotContactOf(row)).map(([channel, { reason }]) => [channel, reason]),
    ),
  };
}

const PATTERNS = [
  "^r",
  "e$",
  "(rome|york)",
  "\\d+",
  "[a-z]{3}",
  "^\\w+$",
  "\\s",
  "[[:alpha:]]$",
  "ß",
  "a.b",
  "(?:r?o?)*m",
];
const texts = fc.constantFrom(...TEXTS, "%om%", "r_me%", "%", "", "ROME|new york");
const operandOf: Record<ValueKind, fc.Arbitrary<FilterValue>> = {
  text: fc.oneof(texts, fc.array(texts, { minLength: 1, maxLength: 3 }), fc.string({ maxLength: 4 })),
  options: fc.oneof(
    fc.constantFrom("red", "blue|red", "re"),
    fc.subarray(["red", "blue", "GREEN"], { minLength: 1 }),
  ),
  number: fc.oneof(
    fc.constantFrom<FilterValue>(0, 42, "38.5", -1, "4", "x"),
    fc.tuple(fc.integer({ min: -30, max: 50 }), fc.integer({ min: -30, max: 300 })),
  ),
  boolean: fc.constantFrom<FilterValue>(true, false, "yes", 0, "maybe"),
  date: fc.oneof(
    fc.constantFrom<FilterValue>(
      ...DATES,
      "today",
      "-1 day",
      "this year",
      "last month",
      "birthday",
      "anniversary -1 day",
      "1985-%",
      "none",
    ),
    fc.constant<FilterValue>(["1985-01-01", "1999-01-01"]),
  ),
  datetime: fc.oneof(
    fc.constantFrom<FilterValue>(
      ...MOMENTS,
      "2024-05-01",
      "today",
      "tomorrow",
      "2024-05-01 10",
      "first day of this month",
    ),
    fc.constant<FilterValue>(["2024-01-01", "2024-06-01"]),
  ),
};

const items: [field: string, kind: ValueKind, operators: readonly string[]][] = [
  ...Object.entries(FIELDS).map(([name, [type]]): [string, ValueKind, string[]] => [
    name,
    kindOf(type),
    [...operatorsOf(type)],
  ]),
  ["city", "text", [...operatorsOf("text")]],
  ...Object.entries(COLUMNS).flatMap(([name, kind]): [string, ValueKind, string[]][] =>
    name === "owner_id"
      ? [[name, kind, ["=", "!=", "empty", "!empty"]]]
      : [[name, kind, [...OPERATORS[kind]]]],
  ),
  ["dnc_unsubscribed", "boolean", ["=", "!="]],
  ["dnc_bounced_sms", "boolean", ["=", "!="]],
];

const valueFilter = fc.constantFrom(...items).chain(([field, kind, operators]) =>
  fc.record({
    field: fc.constant(field),
    operator: fc.constantFrom(...operators),
    operand: operandOf[kind],
    pattern: fc.constantFrom(...PATTERNS),
    glue: fc.constantFrom("and" as const, "or" as const),
  }),
);
const tagFilter = fc.record({
  field: fc.constant("tags"),
  operator: fc.constantFrom("in", "!in", "empty", "!empty"),
  operand: fc.subarray([1, 2, 3], { minLength: 1 }),
  pattern: fc.constant(""),
  glue: fc.constantFrom("and" as const, "or" as const),
});
const filters = fc.array(
  fc.oneof({ weight: 8, arbitrary: valueFilter }, { weight: 1, arbitrary: tagFilter }),
  {
    minLength: 1,
    maxLength: 4,
  },
);

test("segments in SQL and contacts in memory have the same verdict on random filters, values, nulls and dates", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(filters, async (drawn) => {
      const all = drawn.map(({ field, operator, operand, pattern, glue }): Filter => {
        const filter: FilterValue = operator.includes("regexp") ? pattern : operand;
        return {
          field,
          operator,
          filter,
          glue,
          object: "lead",
          type: "",
          display: null,
          properties: { filter },
        };
      });
      const now = Date.now();
      const found = contacts.filter((row) => matches(all, inMemory(row), now)).map(({ id }) => Number(id));
      let predicate: ReturnType<typeof compileFilters>;
      try {
        const scope = { catalogue, segments: new Map(), segmentId: undefined, today: midnight(now) };
        predicate = compileFilters(all, scope);
      } catch (error) {
        // A segment with such a filter cannot be made.
        if (error instanceof FilterProblem) return;
        throw error;
      }
      assert.ok(predicate);
      const { text, values } = compileSql(
        sql`select c.id from contacts c where (${predicate.predicate}) is true order by c.id`,
      );
      const rows = await scene.query(text, values);
      compared += 1;
      assert.deepEqual(
        found.toSorted((a, b) => a - b),
        rows.map(({ id }) => Number(id)),
      );
    }),
    { numRuns: 1_500 },
  );
  assert.ok(compared > 500, `${compared} filters were compared`);
});
