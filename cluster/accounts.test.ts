import assert from "node:assert/strict";
import { test } from "node:test";
import { account } from "./accounts.ts";
import type { Ledger } from "./load.ts";

const NOW = { timeoutMs: 0 };
const ledger: Ledger = {
  name: "load",
  kept: new Map([
    ["load-1@example.com", { id: 1, points: 1, uncertainPoints: 0 }],
    ["load-2@example.com", { id: 2, points: 1, uncertainPoints: 1 }],
  ]),
  uncertain: new Set(["load-3@example.com"]),
};
const both = [contact(1, 1), contact(2, 1)];
const once = [
  [1, "a"],
  [2, "b"],
] as const;
const whole = { kept: 2, lost: 0, doubled: 0, untold: 0, toldTwice: 0, repeated: 0 };

function contact(id: number, points: number, address = id) {
  return { id, points, fields: { all: { email: `load-${address}@example.com` } } };
}

/** The account of these contacts, and of deliveries with one contact each. */
function accountOf(contacts: object[], deliveries: readonly (readonly [id: number, delivery: string])[]) {
  const api = async () => ({ status: 200, body: { contacts } });
  const told = () =>
    new Map(
      [...Map.groupBy(deliveries, ([id]) => id)].map(([id, some]) => [
        id,
        some.map(([, delivery]) => delivery),
      ]),
    );
  return account(api, ledger, { told }, NOW);
}

test("a contact that exists once and was delivered once is neither lost nor doubled", async () => {
  assert.deepEqual(await accountOf(both, once), whole);
});

test("a contact that is gone, or has fewer points than were given, is lost", async () => {
  assert.deepEqual(await accountOf([contact(1, 1)], once), { ...whole, lost: 1 });
  assert.deepEqual(await accountOf([contact(1, 0), contact(2, 1)], once), { ...whole, lost: 1 });
});

test("a second contact, or a point that nobody gave, is doubled; one that may have been given is not", async () => {
  assert.deepEqual(await accountOf([...both, contact(4, 0, 1)], once), { ...whole, doubled: 1 });
  assert.deepEqual(await accountOf([contact(1, 2), contact(2, 2)], once), { ...whole, doubled: 1 });
});

test("a creation that was not answered may have happened, once", async () => {
  assert.deepEqual(await accountOf([...both, contact(3, 0)], once), whole);
  assert.deepEqual(await accountOf([...both, contact(3, 0), contact(5, 0, 3)], once), {
    ...whole,
    doubled: 1,
  });
});

test("a delivery that never came is missed, one under another id is a second one, one under its id is not", async () => {
  assert.deepEqual(await accountOf(both, [[1, "a"]]), { ...whole, untold: 1 });
  assert.deepEqual(await accountOf(both, [...once, [1, "c"]]), { ...whole, toldTwice: 1 });
  assert.deepEqual(await accountOf(both, [...once, [1, "a"]]), { ...whole, repeated: 1 });
});
