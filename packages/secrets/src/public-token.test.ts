import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { caselessTokens, endingTokens, type PublicTokens, publicTokens } from "./public-token.ts";
import { generateSecretKey } from "./secret-box.ts";
import { type EndingPurpose, type LastingPurpose, TOKEN_PURPOSES } from "./token-purpose.ts";

const HOUR_MS = 3_600_000;

/** Tokens for a purpose of the table, whichever kind it is. */
function tokensFor(keys: string[], purpose: keyof typeof TOKEN_PURPOSES): PublicTokens {
  if (TOKEN_PURPOSES[purpose] === "lasting") return publicTokens(keys, purpose as LastingPurpose);
  const { sign, read } = endingTokens(keys, purpose as EndingPurpose);
  return { sign: (text) => sign(text, Date.now() + HOUR_MS), read };
}

const key = generateSecretKey("first");
const purposes = Object.keys(TOKEN_PURPOSES) as (keyof typeof TOKEN_PURPOSES)[];

for (const purpose of purposes) {
  const tokens = tokensFor([key], purpose);

  test(`a ${purpose} token gives back any text that was signed, and fits into a URL`, () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const token = tokens.sign(text);
        assert.match(token, /^[\w-]*\.[\w-]{22}$/);
        assert.equal(tokens.read(token), Buffer.from(text).toString());
      }),
    );
  });

  test(`a ${purpose} token that is changed anywhere, or cut, is none`, () => {
    const token = tokens.sign("7 email 3");
    for (let index = 0; index < token.length; index += 1) {
      for (const other of ["A", "B", "_", ".", ""]) {
        const changed = token.slice(0, index) + other + token.slice(index + 1);
        // The last character of a MAC has two bits that no byte holds.
        const isSame = changed === token || (index === token.length - 1 && sameBytes(changed, token));
        if (!isSame) assert.equal(tokens.read(changed), undefined, changed);
      }
      assert.equal(tokens.read(token.slice(0, index)), undefined);
    }
    for (const text of ["", ".", "a", "x".repeat(5_000), `${"A".repeat(3_000)}.${"A".repeat(22)}`])
      assert.equal(tokens.read(text), undefined);
  });

  test(`a ${purpose} token is none for another purpose`, () => {
    for (const other of purposes.filter((name) => name !== purpose))
      assert.equal(tokensFor([key], other).read(tokens.sign("7")), undefined, other);
  });

  test(`a ${purpose} token outlives the key that signed new ones, until that key is taken away`, () => {
    const next = generateSecretKey("next");
    const both = tokensFor([next, key], purpose);
    const old = tokens.sign("7");
    assert.equal(both.read(old), "7");
    assert.equal(tokensFor([next], purpose).read(both.sign("7")), "7");
    assert.equal(tokensFor([next], purpose).read(old), undefined);
  });
}

test("a signature is written in one way: another last letter that stands for the same octets is none", () => {
  const tokens = publicTokens([key], "click");
  const token = tokens.sign("7 email 1 1");
  const mac = Buffer.from(token.slice(-22), "base64url");
  const others = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"]
    .map((last) => token.slice(0, -1) + last)
    .filter((other) => other !== token && Buffer.from(other.slice(-22), "base64url").equals(mac));
  assert.equal(others.length, 15);
  for (const other of others) assert.equal(tokens.read(other), undefined);
});

test("an ending token is none once its end has come", () => {
  const tokens = endingTokens([key], "preview");
  assert.equal(tokens.read(tokens.sign("7", Date.now() + HOUR_MS)), "7");
  assert.equal(tokens.read(tokens.sign("7", Date.now())), undefined);
  assert.equal(tokens.read(tokens.sign("7", 0)), undefined);
});

test("a caseless token gives its octets back in upper and lower case, under each key that reads", () => {
  const tokens = caselessTokens([key], "bounce");
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (octets) => {
      const token = tokens.sign(Buffer.from(octets));
      assert.match(token, /^[a-z2-7]+$/);
      for (const written of [token, token.toUpperCase()])
        assert.deepEqual(tokens.read(written), Buffer.from(octets));
    }),
  );
  const token = tokens.sign(Buffer.alloc(16, 7));
  assert.equal(token.length, 45);
  const next = generateSecretKey("next");
  assert.ok(caselessTokens([next, key], "bounce").read(token));
  assert.equal(caselessTokens([next], "bounce").read(token), undefined);
  assert.equal(caselessTokens([key], "unsubscribe").read(token), undefined);
});

test("a caseless token that is changed anywhere, cut or continued is none", () => {
  const tokens = caselessTokens([key], "bounce");
  const token = tokens.sign(Buffer.alloc(16, 7));
  for (let index = 0; index < token.length; index += 1) {
    for (const other of ["a", "b", "7", "1", "-", "", "aa"]) {
      const changed = token.slice(0, index) + other + token.slice(index + 1);
      if (changed !== token) assert.equal(tokens.read(changed), undefined, changed);
    }
  }
  for (const text of ["", "a", "=", `${token}a`, `${token}aaaaaaaa`, "a".repeat(100_000)])
    assert.equal(tokens.read(text), undefined);
});

function sameBytes(one: string, other: string): boolean {
  const bytes = (token: string) => Buffer.from(token.slice(-22), "base64url").toString("hex");
  return one.length === other.length && bytes(one) === bytes(other);
}
