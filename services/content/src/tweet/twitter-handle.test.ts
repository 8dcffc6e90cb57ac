import assert from "node:assert/strict";
import { test } from "node:test";
import { twitterHandle } from "./twitter-handle.ts";

test("a handle is read with and without its sign, and from the address of a profile", () => {
  for (const value of [
    "ada_l",
    "@ada_l",
    " @ada_l ",
    "https://twitter.com/ada_l",
    "http://www.x.com/@ada_l/",
    "twitter.com/ada_l",
  ])
    assert.equal(twitterHandle(value), "ada_l", value);
});

test("a value that is no handle names nobody", () => {
  for (const value of [
    "",
    "@",
    "ada l",
    "@ada @bob",
    "https://example.com/ada",
    "ada\n@bob",
    "x".repeat(51),
    "zoë",
  ])
    assert.equal(twitterHandle(value), undefined, value);
});
