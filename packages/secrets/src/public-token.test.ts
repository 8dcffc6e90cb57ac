import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { publicTokens } from "./public-token.ts";
import { generateSecretKey } from "./secret-box.ts";

const key = generateSecretKey("first");
const tokens = publicTokens([key], "unsubscribe");

test("a token gives back any text that was signed, and fits into a URL", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      const token = tokens.sign(text);
      assert.match(token, /^[\w-]*\.[\w-]{22}$/);
      assert.equal(tokens.read(token), Buffer.from(text).toString());
    }),
  );
});

test("a token that is changed anywhere is none", () => {
  const token = tokens.sign("7 email 3");
  for (let index = 0; index < token.length; index += 1)
    for (const other of ["A", "B", "_", ".", ""]) {
      const changed = token.slice(0, index) + other + token.slice(index + 1);
      // The last character of a MAC has two bits that no byte holds.
      const isSame = changed === token || (index === token.length - 1 && sameBytes(changed, token));
      if (!isSame) assert.equal(tokens.read(changed), undefined, changed);
    }
  for (const text of ["", ".", "a", "x".repeat(5_000), `${"A".repeat(3_000)}.${"A".repeat(22)}`])
    assert.equal(tokens.read(text), undefined);
});

test("a token for one purpose is none for another", () => {
  assert.equal(publicTokens([key], "asset").read(tokens.sign("7")), undefined);
});

test("a key is replaced by putting its successor before it", () => {
  const next = generateSecretKey("next");
  const both = publicTokens([next, key], "unsubscribe");
  assert.equal(both.read(tokens.sign("7")), "7");
  assert.equal(publicTokens([next], "unsubscribe").read(both.sign("7")), "7");
  assert.equal(publicTokens([next], "unsubscribe").read(tokens.sign("7")), undefined);
});

function sameBytes(one: string, other: string): boolean {
  const bytes = (token: string) => Buffer.from(token.slice(-22), "base64url").toString("hex");
  return one.length === other.length && bytes(one) === bytes(other);
}
