import assert from "node:assert/strict";
import { test } from "node:test";
import { addressKey } from "./address-key.ts";

test("IPv4 counts by address", () => assert.equal(addressKey("203.0.113.9"), "203.0.113.9"));

test("IPv6 counts by network: a customer with a /64 has all its addresses", () => {
  for (const address of ["2001:db8::1", "2001:db8:0:0:ffff::1", "2001:0DB8:0000::", "2001:db8::1%eth0"])
    assert.equal(addressKey(address), "2001:db8:0:0::/64", address);
  for (const address of ["2001:db8:0:1::1", "2001:db9::1", "::1", "fe80::1"])
    assert.notEqual(addressKey(address), addressKey("2001:db8::1"), address);
});
