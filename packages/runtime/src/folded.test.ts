import assert from "node:assert/strict";
import { test } from "node:test";
import { folded } from "./folded.ts";

test("texts that differ in case alone are folded to the same text, in every alphabet", () => {
  for (const [one, other] of [
    ["ADA@Example.COM", "ada@example.com"],
    ["ΟΛΥΜΠΟΣ", "ολυμπος"],
    ["ΟΛΥΜΠΟΣ", "Ολυμποσ"],
    ["ÉCOLE", "e\u0301cole"],
    ["ＡＤＡ", "ada"],
    [" Ada ", "ada"],
  ] as const)
    assert.equal(folded(one), folded(other), `${one} ${other}`);
});

test("different names are folded to different texts", () => {
  assert.notEqual(folded("adm\u0130n"), folded("admin"));
  assert.notEqual(folded("straße"), folded("strase"));
});

test("folding again changes nothing", () => {
  for (const text of ["\u0130", "ΣΣ ς", "ﬁ", "\u212b", "ǅ"])
    assert.equal(folded(folded(text)), folded(text), text);
});
