import assert from "node:assert/strict";
import { test } from "node:test";
import { isAllowedAddress, literalAddress, parseRanges, receiverUrl } from "./address.ts";

const LOOPBACK_SPELLINGS = [
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0x7f000001/",
  "http://0177.0.0.1/",
  "http://127.1/",
  "http://１２７.０.０.１/",
  "http://①②⑦.⓪.⓪.①/",
  "http://127。0。0。1/",
  "http://127.0.0.1./",
  "http://localhost/",
  "http://LOCALHOST./",
  "http://deep.localhost/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
];

const SPECIAL_ADDRESSES = [
  "0.0.0.0",
  "10.0.0.1",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "192.0.0.1",
  "192.0.2.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::7f00:1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "3fff::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "ff02::1",
];

test("every spelling of this machine's address is seen through", () => {
  for (const text of LOOPBACK_SPELLINGS) {
    const literal = literalAddress(receiverUrl(text)?.hostname ?? "");
    assert.ok(literal && !isAllowedAddress(literal, []), text);
  }
});

test("every special range is refused", () => {
  for (const address of SPECIAL_ADDRESSES) assert.equal(isAllowedAddress(address, []), false, address);
});

test("public addresses are allowed", () => {
  for (const address of ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:1.1.1.1"]) {
    assert.equal(isAllowedAddress(address, []), true, address);
  }
});

test("the operator opens ranges, and nothing beside them", () => {
  const { ranges, invalid } = parseRanges(["127.0.0.1/32", "fd00::/8", "nonsense"]);
  assert.deepEqual(invalid, ["nonsense"]);
  assert.equal(isAllowedAddress("127.0.0.1", ranges), true);
  assert.equal(isAllowedAddress("::ffff:127.0.0.1", ranges), true);
  assert.equal(isAllowedAddress("fd00:ec2::254", ranges), true);
  assert.equal(isAllowedAddress("127.0.0.2", ranges), false);
  assert.equal(isAllowedAddress("::1", ranges), false);
});

test("only http and https URLs without credentials are receivers", () => {
  const refused = [
    "",
    "example.com",
    "//example.com",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "http://user:pass@example.com/",
    "http://user@example.com/",
    "http://[::1",
    "http://exa mple.com/",
    `http://example.com/${"x".repeat(2_048)}`,
  ];
  for (const text of refused) assert.equal(receiverUrl(text), undefined, text);
  assert.equal(receiverUrl("https://example.com/path?query=1")?.hostname, "example.com");
});
