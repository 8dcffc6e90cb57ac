import assert from "node:assert/strict";
import { test } from "node:test";
import { isInRanges } from "./address.ts";
import { machineNetworks } from "./machine-networks.ts";

test("the kept list has the networks of crawlers, and not that of the proxy that loads pictures for readers", () => {
  const known = machineNetworks.parse("known");
  for (const crawler of ["66.249.66.1", "157.55.39.10", "40.77.190.1", "17.241.208.165", "2001:4860:4801::7"])
    assert.equal(isInRanges(crawler, known), true, crawler);
  for (const person of ["66.249.80.1", "66.249.93.7", "17.253.144.10", "93.184.216.34", "2001:db8::1"])
    assert.equal(isInRanges(person, known), false, person);
});

test("own networks stand beside the kept list, or in its place", () => {
  const both = machineNetworks.parse("known, 203.0.113.0/24");
  assert.equal(isInRanges("203.0.113.7", both) && isInRanges("66.249.66.1", both), true);
  const own = machineNetworks.parse("203.0.113.0/24");
  assert.equal(isInRanges("66.249.66.1", own), false);
  assert.deepEqual(machineNetworks.parse(""), []);
});

test("a range that cannot be read is refused with its text", () => {
  assert.throws(() => machineNetworks.parse("known,203.0.113.0"), /203\.0\.113\.0 is not a CIDR range/);
});
