import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import fc from "fast-check";
import { holds } from "./compare-in-memory.ts";
import { FilterProblem } from "./filter.ts";
import { safePattern } from "./pattern.ts";

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log: createLog("contact", "silent") });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

async function isMatch(text: string, pattern: string): Promise<boolean> {
  const statement = { text: "select $1::text ~* $2::text as is_match" };
  const [row] = await database.query(statement, [text, safePattern(pattern)], Date.now() + 10_000);
  const isMatch = row?.is_match === "t";
  const value = { text, kind: "text" } as const;
  assert.equal(holds(value, "regexp", pattern, 0), isMatch, "in memory as in Postgres");
  return isMatch;
}

describe("common patterns keep their usual meaning", () => {
  const cases: [pattern: string, matching: string[], others: string[]][] = [
    ["^a.c$", ["abc", "ABC"], ["abcd", "ac"]],
    ["colou?r", ["my color", "COLOUR"], ["colur"]],
    ["(red|green) apple", ["a green apple"], ["a blue apple"]],
    ["(?:ab){2,3}$", ["abab", "ababab"], ["ab"]],
    ["^\\d{3}-\\d{4}$", ["555-1234"], ["5555-123"]],
    ["\\bcat\\b", ["a cat sat"], ["concatenate"]],
    ["[^@]+@example\\.(com|org)$", ["ada@example.org"], ["ada@example.net"]],
    ["[a-c]+x", ["abcx"], ["dx"]],
    ["[]x]", ["]", "x"], ["y"]],
    ["[[:digit:]_-]", ["7", "_", "-"], ["a"]],
    ["a{2}?b", ["aab"], ["ab"]],
    ["\\$5\\.00", ["$5.00"], ["5500"]],
    ["[äöü]", ["schön"], ["schon"]],
    ["a}b]", ["a}b]"], ["ab"]],
  ];
  for (const [pattern, matching, others] of cases) {
    test(pattern, async () => {
      for (const text of matching) assert.equal(await isMatch(text, pattern), true, text);
      for (const text of others) assert.equal(await isMatch(text, pattern), false, text);
    });
  }
});

describe("refused with a reason", () => {
  const patterns = [
    "(a)\\1",
    "^(a+)(a+)(a+)\\1\\2\\3$",
    "a(?=b)",
    "(?!a)b",
    "(?<=a)b",
    "(?i)abc",
    "***:(?i)x",
    "*a",
    "a**",
    "^*",
    "a{1001}",
    "(x{255}){255}",
    "(?:(?:(?:x{0,20}){0,20}){0,20})y",
    "(?:.?){255}(?:.?){255}(?:.?){255}(?:.?){200}q",
    "(?:a*b*){255}q",
    "(?:a|){200}(?:b|){200}q",
    "(?:(?:a?){20}){20}q",
    "[[:<:]]word",
    "[z-a]",
    "[a",
    "(a",
    "a)",
    "a\\",
    "\\x41",
    "\\A",
    "a{3,2}",
    `${"(".repeat(5_000)}a${")".repeat(5_000)}`,
    "a".repeat(10_000),
  ];
  for (const pattern of patterns) {
    test(pattern.slice(0, 40), () => {
      assert.throws(() => safePattern(pattern), FilterProblem);
    });
  }
});

test("whatever is let through is valid to the database, and quick", async () => {
  const piece = fc.constantFrom(
    ..."ab.^$|()[]{}*+?-\\,1059 :=!<ä",
    "(?:",
    "[^",
    "[a-z]",
    "{2,5}",
    "\\d",
    "\\b",
    "[[:alpha:]]",
    "(a+)+",
  );
  const text = `${"a".repeat(2_000)}!`;
  const accepted: string[] = [];
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
      try {
        accepted.push(safePattern(pieces.join("")));
      } catch (error) {
        assert.ok(error instanceof FilterProblem);
      }
    }),
    { numRuns: 3_000 },
  );
  assert.ok(accepted.length > 100, `only ${accepted.length} patterns were accepted`);
  for (const pattern of accepted) {
    const statement = { text: "select $1::text ~* $2::text as is_match" };
    await database.query(statement, [text, pattern], Date.now() + 5_000).catch((error) => {
      throw new Error(`${pattern}: ${error.cause ?? error}`);
    });
  }
});
