import assert from "node:assert/strict";
import { test } from "node:test";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { Fault } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { permissionTable } from "./permission-table.ts";
import { holds, isWithin, type Permissions, readPermissions, withNeeded } from "./permissions.ts";

const rights = (permissions: Permissions) => ({ admin: false, permissions });
const actorOf = (permissions: Permissions): Actor => ({
  kind: "user",
  id: 1,
  name: "",
  ...rights(permissions),
});
const administrator = { admin: true, permissions: {} };

test("permissions of a role are read as lists and as keyed objects, without doubles and empty lists", () => {
  const sent = { "lead:leads": ["viewown", "viewown"], "email:emails": { 0: "full" }, "user:users": [] };
  assert.deepEqual(readPermissions(sent), {
    permissions: { "lead:leads": ["viewown"], "email:emails": ["full"] },
  });
  assert.deepEqual(readPermissions({}), { permissions: {} });
  assert.deepEqual(readPermissions([]), { permissions: {} });
});

test("a group, resource or action that does not exist is refused, and so is another form", () => {
  for (const sent of [
    { "lead:nothing": ["view"] },
    { "lead:leads": ["view"] },
    { "lead:leads": ["publishown"] },
    { "user:users": ["viewown"] },
    { "lead:leads": "full" },
    { "lead:leads": [["full"]] },
    { "lead:leads": null },
    { constructor: ["full"] },
    ["lead:leads"],
    "lead:leads:full",
    null,
  ])
    assert.ok("problem" in readPermissions(sent), JSON.stringify(sent));
});

const needs: [Permissions, Permissions][] = [
  [{ "lead:leads": ["editother"] }, { "lead:leads": ["viewown", "viewother", "editother"] }],
  [{ "lead:leads": ["create"] }, { "lead:leads": ["viewown", "create"] }],
  [{ "lead:leads": ["viewother"] }, { "lead:leads": ["viewown", "viewother"] }],
  [{ "lead:leads": ["deleteother"] }, { "lead:leads": ["viewown", "viewother", "editother", "deleteother"] }],
  [
    { "email:emails": ["publishown"] },
    { "email:emails": ["viewown", "publishown"], "email:categories": ["view"] },
  ],
  [{ "user:users": ["edit"] }, { "user:users": ["view", "edit"] }],
  [{ "user:users": ["delete"] }, { "user:users": ["view", "edit", "delete"] }],
  [{ "stage:stages": ["full"] }, { "stage:stages": ["full"], "stage:categories": ["view"] }],
  [{ "lead:lists": ["viewown"] }, { "lead:lists": ["viewown"], "lead:leads": ["viewown"] }],
  [{ "lead:fields": ["view"] }, { "lead:fields": ["view"], "lead:leads": ["viewown"] }],
  [{ "form:export": ["enable"] }, { "form:export": ["enable"] }],
];

for (const [sent, stored] of needs) {
  test(`${JSON.stringify(sent)} brings what it needs`, () => {
    const sorted = Object.entries(withNeeded(sent)).map(([base, actions]) => [base, actions.toSorted()]);
    const wanted = Object.entries(stored).map(([base, actions]) => [base, actions.toSorted()]);
    assert.deepEqual(Object.fromEntries(sorted), Object.fromEntries(wanted));
  });
}

test("the rights that a right needs are added once and suffice", () => {
  for (const [base, actions] of permissionTable)
    for (const action of actions) {
      const once = withNeeded({ [base]: [action] });
      assert.deepEqual(withNeeded(once), once);
    }
});

test("holding a right is what the routes make of it", () => {
  const verbs = {
    view: Verb.VIEW,
    create: Verb.CREATE,
    edit: Verb.EDIT,
    delete: Verb.DELETE,
    publish: Verb.PUBLISH,
  };
  for (const [base, actions] of permissionTable)
    for (const held of actions) {
      const permissions = { [base]: [held] };
      for (const [verb, value] of Object.entries(verbs)) {
        if (!actions.includes(verb) && !actions.includes(`${verb}own`)) continue;
        const reached = reach(actorOf(permissions), base, value);
        assert.equal(
          holds(rights(permissions), `${base}:${verb}`),
          reached !== "none",
          `${base} ${held} ${verb}`,
        );
        if (verb === "create") continue;
        assert.equal(holds(rights(permissions), `${base}:${verb}own`), reached !== "none");
        assert.equal(holds(rights(permissions), `${base}:${verb}other`), reached === "all");
      }
    }
});

test("full is every right of its resource and of no other", () => {
  const held = rights({ "lead:leads": ["full"] });
  for (const action of permissionTable.get("lead:leads") ?? [])
    assert.ok(holds(held, `lead:leads:${action}`), action);
  assert.equal(holds(held, "lead:lists:viewown"), false);
});

test("an administrator holds every right there is, and no other", () => {
  for (const [base, actions] of permissionTable)
    for (const action of actions) assert.ok(holds(administrator, `${base}:${action}`));
  assert.throws(() => holds(administrator, "lead:nothing:view"), /lead:nothing:view/);
});

test("a permission that does not exist is refused by its name", () => {
  for (const name of [
    "",
    "lead",
    "lead:leads",
    "lead:leads:",
    "lead:leads:publish",
    "lead:leads:full:more",
    "lead:fields:editown",
    "constructor:constructor:view",
    "a:b:c",
  ])
    assert.throws(
      () => holds(rights({}), name),
      (error) => error instanceof Fault && error.reason === "PERMISSION_UNKNOWN",
    );
});

test("a role is within another when each of its rights is", () => {
  const within = (inner: Permissions, outer: Permissions) => isWithin(rights(inner), rights(outer));
  assert.ok(within({}, {}));
  assert.ok(within({ "lead:leads": ["viewown", "editown"] }, { "lead:leads": ["viewother", "editother"] }));
  assert.ok(within({ "lead:leads": ["deleteother", "full"] }, { "lead:leads": ["full"] }));
  assert.ok(!within({ "lead:leads": ["viewother"] }, { "lead:leads": ["viewown"] }));
  assert.ok(!within({ "lead:leads": ["full"] }, { "lead:leads": ["viewother", "editother", "create"] }));
  assert.ok(!within({ "lead:leads": ["viewown"] }, { "lead:lists": ["full"] }));
  assert.ok(isWithin(administrator, administrator));
  assert.ok(isWithin(rights({ "api:access": ["full"] }), administrator));
  assert.ok(!isWithin(administrator, rights({ "lead:leads": ["full"] })));
});
