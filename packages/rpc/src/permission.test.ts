import assert from "node:assert/strict";
import { test } from "node:test";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "./actor.ts";
import type { Reach } from "./call.ts";
import { Fault } from "./fault.ts";
import { permittedCall, reach } from "./permission.ts";

const BASE = "lead:leads";
const actorWith = (actions: string[], members: Partial<Actor> = {}): Actor => ({
  kind: "user",
  id: 1,
  name: "Ada",
  admin: false,
  permissions: { [BASE]: actions },
  ...members,
});

const cases: [string[], keyof typeof Verb, Reach][] = [
  [[], "VIEW", "none"],
  [["viewown"], "VIEW", "own"],
  [["viewother"], "VIEW", "all"],
  [["view"], "VIEW", "all"],
  [["viewown", "viewother"], "VIEW", "all"],
  [["viewother"], "EDIT", "none"],
  [["create"], "CREATE", "all"],
  [["editown"], "EDIT", "own"],
  [["deleteother"], "DELETE", "all"],
  [["publishown"], "PUBLISH", "own"],
  [["editother"], "PUBLISH", "none"],
  [["full"], "VIEW", "all"],
  [["full"], "PUBLISH", "all"],
  [["full"], "INTERNAL", "none"],
  [[], "ANY", "all"],
];

for (const [actions, verb, expected] of cases) {
  test(`[${actions}] reaches ${expected} with ${verb}`, () =>
    assert.equal(reach(actorWith(actions), BASE, Verb[verb]), expected));
}

test("rights on one resource are none on another", () =>
  assert.equal(reach(actorWith(["full"]), "lead:lists", Verb.VIEW), "none"));

test("administrators reach everything but what is internal, processes that alone", () => {
  assert.equal(reach(actorWith([], { admin: true }), BASE, Verb.DELETE), "all");
  assert.equal(reach(actorWith([], { admin: true }), BASE, Verb.INTERNAL), "none");
  const process = actorWith(["full"], { kind: "service", admin: true });
  assert.equal(reach(process, BASE, Verb.INTERNAL), "all");
  for (const verb of [Verb.VIEW, Verb.EDIT, Verb.ANY]) assert.equal(reach(process, BASE, verb), "none");
});

test("a call that the actor may not make at all is refused before its handler", () => {
  const context = { deadlineMs: 1, requestId: "r" };
  const requirement = { base: BASE, verb: Verb.EDIT };
  assert.throws(
    () => permittedCall(requirement, { actor: actorWith(["viewother"]), ...context }),
    (error) => error instanceof Fault && error.reason === "PERMISSION_DENIED",
  );
  const call = permittedCall(requirement, { actor: actorWith(["viewother", "editown"]), ...context });
  assert.deepEqual(
    [call.reach(Verb.VIEW), call.reach(Verb.EDIT), call.reach(Verb.DELETE)],
    ["all", "own", "none"],
  );
});
