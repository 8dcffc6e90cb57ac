import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, Fault } from "@tidings/rpc/fault";
import { parseQuery, queryOf } from "./query.ts";

const isBadRequest = (error: unknown) => error instanceof Fault && error.code === Code.INVALID_ARGUMENT;
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));

test("brackets become lists and objects", () => {
  const query = parseQuery("where[0][col]=email&where[0][expr]=eq&ids[]=1&ids[]=2&search=a+b%26c");
  assert.deepEqual(plain(query), { where: [{ col: "email", expr: "eq" }], ids: ["1", "2"], search: "a b&c" });
});

test("a URL without a query has no parameters", () => {
  assert.deepEqual(plain(queryOf("/api/contacts")), {});
  assert.deepEqual(plain(queryOf("/api/contacts?")), {});
});

test("names that every object has are only names", () => {
  const query = parseQuery("constructor=a&__proto__[polluted]=1&hasOwnProperty=b");
  assert.equal(query.constructor, "a");
  assert.equal(({} as { polluted?: string }).polluted, undefined);
});

for (const [what, text] of [
  ["broken percent-encoding", "search=%zz"],
  ["half a percent sign", "search=%"],
  ["percent-encoded bytes that are not UTF-8", "search=%ff"],
  ["NUL", "search=a%00b"],
  ["more nesting than any list needs", `a${"[b]".repeat(20)}=1`],
  ["more parameters than any form has", "a=1&".repeat(3_000)],
] as const) {
  test(`${what} is a bad request`, () => assert.throws(() => parseQuery(text), isBadRequest));
}
