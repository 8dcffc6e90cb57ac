import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { segmentScene } from "../../testing/segment-scene.ts";

/**
 * Segments against a plain reading of their rules, over contacts and filters made at random. Whatever happens to the
 * contacts, members are exactly those that the rules name.
 */
interface Person {
  city: string | null;
  position: string | null;
  points: number;
  attribution: number | null;
  born: string | null;
}

interface Rule {
  glue: "and" | "or";
  field: string;
  operator: string;
  filter: unknown;
}

let scene: Awaited<ReturnType<typeof segmentScene>>;
before(async () => {
  scene = await segmentScene();
  await scene.addField("born", "date");
});
after(() => scene.close());

const CITIES = ["Rome", "rome", "Oslo", "New York", "100% Rome", "a_b"];
const DATES = ["2024-01-31", "2024-02-29", "1999-12-31"];

const person: fc.Arbitrary<Person> = fc.record({
  city: fc.option(fc.constantFrom(...CITIES)),
  position: fc.option(fc.constantFrom("Baker", "Cook", "cook")),
  points: fc.integer({ min: -2, max: 3 }),
  attribution: fc.option(fc.constantFrom(0, 1.5, 2, 30)),
  born: fc.option(fc.constantFrom(...DATES)),
});

const glue = fc.constantFrom("and", "or") as fc.Arbitrary<"and" | "or">;
const rule = (field: string, operators: string[], filter: fc.Arbitrary<unknown>): fc.Arbitrary<Rule> =>
  fc.record({ glue, field: fc.constant(field), operator: fc.constantFrom(...operators), filter });

const TEXT = ["=", "!=", "like", "!like", "startsWith", "endsWith", "contains"];
const ORDER = ["=", "!=", "gt", "gte", "lt", "lte"];
const texts = fc.constantFrom(...CITIES, "o", "%om%", "k", "_");
const anyRule = fc.oneof(
  rule("city", TEXT, texts),
  rule("position", TEXT, fc.constantFrom("baker", "ok", "Coo")),
  rule("city", ["in", "!in"], fc.uniqueArray(fc.constantFrom(...CITIES), { minLength: 1, maxLength: 3 })),
  rule("city", ["empty", "!empty"], fc.constant("")),
  rule("points", ORDER, fc.integer({ min: -2, max: 3 })),
  rule("attribution", [...ORDER, "empty", "!empty"], fc.constantFrom(0, 1.5, 2)),
  rule("attribution", ["between", "!between"], fc.constantFrom([0, 2], [1, 30], [3, 1])),
  rule("born", ["=", "!=", "gt", "gte", "lt", "lte", "empty"], fc.constantFrom(...DATES)),
);

function holds(value: string | number | null, { operator, filter }: Rule): boolean {
  const isText = typeof value === "string";
  if (operator.startsWith("!") && operator !== "!empty")
    return !holds(value, { operator: operator.slice(1) || "=", filter, glue: "and", field: "" });
  if (operator === "empty") return value === null;
  if (operator === "!empty") return value !== null;
  if (value === null) return false;
  const left = isText ? value.toLowerCase() : value;
  const right = typeof filter === "string" ? filter.toLowerCase() : (filter as number);
  const part = String(right);
  const text = String(left);
  switch (operator) {
    case "=":
      return left === right;
    case "gt":
      return left > right;
    case "gte":
      return left >= right;
    case "lt":
      return left < right;
    case "lte":
      return left <= right;
    case "like":
      return part.includes("%") ? wildcards(part).test(text) : text.includes(part);
    case "startsWith":
      return text.startsWith(part);
    case "endsWith":
      return text.endsWith(part);
    case "contains":
      return text.includes(part);
    case "in":
      return (filter as string[]).some((option) => option.toLowerCase() === left);
    case "between": {
      const [low = 0, high = 0] = filter as number[];
      return Number(left) >= low && Number(left) <= high;
    }
    default:
      throw new Error(operator);
  }
}

function wildcards(pattern: string): RegExp {
  const source = pattern.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`^${source.replaceAll("%", ".*").replaceAll("_", ".")}$`);
}

function isMember(candidate: Person, rules: Rule[]): boolean {
  const holdsFor = (each: Rule) => holds(candidate[each.field as keyof Person], each);
  // Equal values of one field that follow each other by `or` are one alternative.
  const groups: Rule[][][] = [];
  for (const [index, each] of rules.entries()) {
    const group = groups.at(-1);
    const alternatives = group?.at(-1);
    const before = rules[index - 1];
    const continues =
      index > 1 &&
      [each, before].every((one) => one?.glue === "or" && one.operator === "=") &&
      each.field === before?.field;
    if (continues && alternatives && group?.length === 1) alternatives.push(each);
    else if (!group || each.glue === "or") groups.push([[each]]);
    else group.push([each]);
  }
  return groups.some((group) => group.every((alternatives) => alternatives.some(holdsFor)));
}

const values = ({ points: _points, ...others }: Person) => others;

test("members are those whom the rules name, after builds and after every change", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(person, { minLength: 5, maxLength: 12 }),
      fc.array(fc.array(anyRule, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(), person), { maxLength: 8 }),
      async (people, definitions, edits) => {
        await scene.query("delete from contacts");
        await scene.query("delete from segments");
        const current = new Map<number, Person>();
        for (const each of people)
          current.set(await scene.addContact(values(each), { points: each.points }), each);
        const ids: number[] = [];
        for (const rules of definitions) ids.push((await scene.addSegment(rules)).id);

        const check = async (when: string) => {
          for (const [index, rules] of definitions.entries()) {
            const expected = [...current].filter(([, each]) => isMember(each, rules)).map(([id]) => id);
            assert.deepEqual(
              await scene.members(ids[index] ?? 0),
              expected,
              `${when}: ${JSON.stringify(rules)}`,
            );
          }
        };
        await scene.build();
        await scene.newEvents();
        await check("built");

        for (const [pick, change] of edits) {
          const id = [...current.keys()][pick % current.size] ?? 0;
          const points = current.get(id)?.points ?? 0;
          const blanked = Object.fromEntries(
            Object.entries(values(change)).map(([name, value]) => [name, value ?? ""]),
          );
          await scene.editContact(id, blanked);
          current.set(id, { ...change, points });
        }
        await scene.follow();
        await check("followed");
      },
    ),
    { numRuns: 40 },
  );
});
