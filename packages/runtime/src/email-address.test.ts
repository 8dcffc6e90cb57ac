import assert from "node:assert/strict";
import { test } from "node:test";
import { asciiAddress, foldedAddress, isEmailAddress } from "./email-address.ts";

test("an address may have an international domain, and no other one that no mail server knows", () => {
  for (const address of [
    "ada@example.org",
    "ada@bücher.example",
    "jürgen@bücher.example",
    "ada@例え.example",
  ])
    assert.ok(isEmailAddress(address), address);
  for (const text of ["ada", "@bücher.example", "ada@bücher", "ada@bü cher.example", "ada@bücher..example"])
    assert.ok(!isEmailAddress(text), text);
  assert.ok(!isEmailAddress(`ada@${"ü".repeat(300)}.example`));
});

test("two spellings of a domain are one address", () => {
  assert.equal(asciiAddress("Grace@Bücher.example"), "Grace@xn--bcher-kva.example");
  assert.equal(asciiAddress("ada@example.org"), "ada@example.org");
  assert.equal(asciiAddress("no address ü"), "no address ü");
  assert.equal(foldedAddress("Grace@BÜCHER.example "), foldedAddress("grace@xn--bcher-kva.example"));
});
