import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "@tidings/rpc/fault";
import { parseSearch, type SearchNode } from "./search.ts";

/** A search as it was understood, in prefix notation. */
function read(node: SearchNode): string {
  const sign = node.negated ? "!" : "";
  if (node.kind === "group") return `${sign}(${[node.joiner, ...node.nodes.map(read)].join(" ")})`;
  return `${sign}${node.strict ? "+" : ""}${node.command ? `${node.command}:` : ""}${node.text}`;
}

const readings: [search: string, meaning: string][] = [
  ["", "(and)"],
  ["Ada", "(and ada)"],
  ["ada lovelace", "(and ada lovelace)"],
  ["a or b c", "(or a b c)"],
  ["a b or c", "(and a b c)"],
  ["a and b", "(and a b)"],
  ['"some words" x', "(and some words x)"],
  ["!a", "(and !a)"],
  ["+a +!b !+c", "(and +a !+b !+c)"],
  ["city:rome", "(and city:rome)"],
  ["!city:rome", "(and !city:rome)"],
  ["city:!rome", "(and !city:rome)"],
  ["city:+rome", "(and +city:rome)"],
  ["!city:!rome", "(and city:rome)"],
  ["city:", "(and)"],
  ['city:"new york"', "(and city:new york)"],
  ["(a or b) c", "(and (or a b) c)"],
  ["!(a b)", "(and !(and a b))"],
  ["tag:(a or b)", "(and (or tag:a tag:b))"],
  ["<b>bold</b>", "(and bold)"],
  ["a) b", "(and a)"],
  ["order", "(and order)"],
];

for (const [search, meaning] of readings) {
  test(`search ${JSON.stringify(search)} is read as ${meaning}`, () => {
    assert.equal(read(parseSearch(search)), meaning);
  });
}

for (const [name, search] of [
  ["too long", "x".repeat(1_001)],
  ["too deep", "(".repeat(20)],
  ["of too many terms", "a ".repeat(60)],
] as const) {
  test(`a search that is ${name} is refused`, () => {
    assert.throws(() => parseSearch(search), Fault);
  });
}
