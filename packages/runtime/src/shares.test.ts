import assert from "node:assert/strict";
import { test } from "node:test";
import { sharesByAddress } from "./shares.ts";

test("an address takes its share of the places and leaves the others, and all of them are given back", () => {
  const shares = sharesByAddress({ inAll: 3, perAddress: 2 });
  for (let round = 0; round < 3; round += 1) {
    const taken = ["a", "a", "a", "b", "c"].filter((address) => shares.take(address) === undefined);
    assert.deepEqual(taken, ["a", "a", "b"]);
    for (const address of taken) shares.giveBack(address);
  }
});
