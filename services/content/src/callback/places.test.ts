import assert from "node:assert/strict";
import { test } from "node:test";
import { limitedPlaces } from "./places.ts";

test("an address takes its share of the places and leaves the others, and all of them are given back", () => {
  const places = limitedPlaces({ inAll: 3, perAddress: 2 });
  for (let round = 0; round < 3; round += 1) {
    const taken = ["a", "a", "a", "b", "c"].filter((address) => places.take(address));
    assert.deepEqual(taken, ["a", "a", "b"]);
    for (const address of taken) places.leave(address);
  }
});
