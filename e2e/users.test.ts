import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { latestEvent } from "./bus.ts";
import { type Answer, createClient } from "./client.ts";
import { make, newPerson, PASSWORD, personBody } from "./people.ts";
import { query } from "./query.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";

const stack = await startTestStack({ replicas: { gateway: 2 }, env: { gateway: { LOG_LEVEL: "trace" } } });
after(() => stack.stop());
const { api } = stack;
const onSecond = (login: { username: string; password: string }) =>
  createClient(stack.gateways[1]?.baseUrl ?? "", login);
const WITHIN = { timeoutMs: 5_000 };

function assertError({ status, body, text }: Answer, expected: number, message: RegExp): void {
  assert.equal(status, expected, text);
  assert.equal(body.errors[0]?.code, expected);
  assert.match(body.errors[0]?.message ?? "", message);
}

test("a signed-in user sees themselves, without members that are empty", async () => {
  const person = await newPerson(stack, {});
  const { status, body } = await person.api("GET", "users/self");
  assert.equal(status, 200);
  const self = body as unknown as Record<string, { id: number }>;
  assert.deepEqual(Object.keys(self).toSorted(), [
    "email",
    "firstName",
    "id",
    "lastActive",
    "lastLogin",
    "lastName",
    "locale",
    "role",
    "timezone",
    "username",
  ]);
  assert.deepEqual([self.id, self.role?.id], [person.id, person.roleId]);
});

test("roles and owners are listed by name", async () => {
  const role = await make(api, "roles", "role", { name: "Lamplighters" });
  await make(api, "users", "user", personBody(role.id, { firstName: "Wick", lastName: "Trimmer" }));
  const list = async (path: string) => JSON.parse((await api("GET", path)).text);
  assert.deepEqual(await list("users/list/roles?filter=lamplight"), [{ id: role.id, name: "Lamplighters" }]);
  const owners = await list("contacts/list/owners?filter=wick%20trim&limit=5");
  assert.deepEqual(owners.map(Object.keys), [["id", "firstName", "lastName"]]);
  assert.deepEqual(await list("contacts/list/owners?filter=wick&start=1"), []);
  assertError(await api("GET", "contacts/list/owners?limit=many"), 400, /limit/);
});

test("permissions are checked one or several at a time; faults are named", async () => {
  const person = await newPerson(stack, { "lead:leads": ["viewown"] });
  const check = (permissions: unknown) => api("POST", `users/${person.id}/permissioncheck`, { permissions });
  const names = ["lead:leads:viewown", "lead:leads:viewother", "lead:leads:view"];
  assert.deepEqual((await check(names)).body, {
    "lead:leads:viewown": true,
    "lead:leads:viewother": false,
    "lead:leads:view": true,
  });
  assert.deepEqual((await check("lead:leads:create")).body, { "lead:leads:create": false });
  for (const nothing of [[], "", null, undefined])
    assertError(await check(nothing), 400, /At least one permission must be submitted\./);
  for (const unknown of ["a:b:c", "lead", ["lead:leads:viewown", "x"]])
    assertError(await check(unknown), 403, /"/);
  assertError(await check([["nested"]]), 400, /text/);
  const missing = await api("POST", "users/2000000000/permissioncheck", { permissions: names });
  assertError(missing, 404, /Item was not found\./);
});

test("a role with users is not deleted: 428, and 428 in a batch", async () => {
  const { roleId } = await newPerson(stack, {});
  assertError(await api("DELETE", `roles/${roleId}/delete`), 428, /has users/);
  const { body } = await api("DELETE", `roles/batch/delete?ids=${roleId}`);
  assert.equal(body.errors[0]?.code, 428);
});

test("a signed-in user cannot delete themselves, and the last administrator stays", async () => {
  const self = (await api("GET", "users/self")).body as unknown as { id: number };
  assertError(await api("DELETE", `users/${self.id}/delete`), 403, /yourself/);
  const unpublished = await api("PATCH", `users/${self.id}/edit`, { isPublished: false });
  assertError(unpublished, 409, /last administrator/);
  assertError(await api("PATCH", "roles/1/edit", { isAdmin: 0 }), 409, /last administrator/);
});

test("members that the service alone decides are ignored, and a nested role grants nothing", async () => {
  const role = await make(api, "roles", "role", { name: "Nothing much" });
  const forged = {
    id: 1,
    isAdmin: true,
    passwordHash: "x",
    password: "x",
    lastLogin: "2001-01-01T00:00:00+00:00",
    role: { id: role.id, isAdmin: true, rawPermissions: { "user:users": ["full"] } },
    roleId: 1,
    role_id: 1,
  };
  const user = await make(api, "users", "user", personBody(role.id, forged));
  const after = await api("GET", `roles/${role.id}`);
  assert.notEqual(user.id, 1);
  assert.equal((user.role as { id: number }).id, role.id);
  assert.deepEqual([user.lastLogin, user.passwordHash, user.plainPassword], [null, undefined, undefined]);
  assert.ok(!after.text.includes("user:users"));
});

test("an unpublished user is out, and a changed role in force, on every gateway within five seconds", async () => {
  const person = await newPerson(stack, { "stage:stages": ["view"], "lead:leads": ["full"] });
  const clients = [person.api, onSecond({ username: person.username, password: PASSWORD })];
  for (const client of clients) assert.equal((await client("GET", "contacts")).status, 200);
  // One after the other: a gateway that knows already is not asked again, since refused sign-ins are counted against the name.
  const all = async (status: number) => {
    for (const client of clients)
      await eventually(async () => assert.equal((await client("GET", "contacts")).status, status), WITHIN);
  };
  await api("PATCH", `roles/${person.roleId}/edit`, { rawPermissions: { "stage:stages": ["view"] } });
  await all(403);
  await api("PATCH", `users/${person.id}/edit`, { isPublished: false });
  await all(401);
  await api("PATCH", `users/${person.id}/edit`, { isPublished: true });
  await all(403);
});

test("when two administrators demote each other through two gateways, one stays", async () => {
  const { id: roleId } = await make(api, "roles", "role", { name: "Demoted" });
  const self = (await api("GET", "users/self")).body as unknown as { id: number };
  const other = await make(api, "users", "user", personBody(1));
  const second = onSecond({ username: String(other.username), password: PASSWORD });
  assert.equal((await second("GET", "users/self")).status, 200);
  const answers = await Promise.all([
    second("PATCH", `users/${self.id}/edit`, { role: roleId }),
    api("PATCH", `users/${other.id}/edit`, { role: roleId }),
  ]);
  // The second of them may already find itself without the right to.
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  const rows = await query(
    stack.database,
    "select u.id from identity.users u join identity.roles r on r.id = u.role_id where r.is_admin and u.is_published",
  );
  assert.equal(rows.length, 1);
  // Either of them: the other tests of this file go on as the first administrator.
  await query(stack.database, `update identity.users set role_id = 1 where id = ${self.id}`);
  await eventually(async () => assert.equal((await api("GET", `users/${other.id}`)).status, 200), WITHIN);
});

test("events of users have no secrets", async () => {
  const user = await make(api, "users", "user", personBody(1));
  await eventually(async () => {
    const event = await latestEvent(stack.nats.url, "IDENTITY", "tidings.identity.user.created");
    assert.ok(event.includes(String(user.username)));
    assert.ok(!event.includes(PASSWORD));
  });
  for (const verb of ["updated", "deleted"]) {
    if (verb === "updated") await api("PATCH", `users/${user.id}/edit`, { lastName: "Byron" });
    else await api("DELETE", `users/${user.id}/delete`);
    await eventually(async () => {
      const event = await latestEvent(stack.nats.url, "IDENTITY", `tidings.identity.user.${verb}`);
      assert.ok(event.includes("Byron"));
    });
  }
});

test("no password is ever written to a log", async () => {
  await api("POST", "users/new", personBody(1, { plainPassword: { password: PASSWORD, confirm: "x" } }));
  const logged = ["gateway", "gateway-2"].flatMap(stack.lines.of).join("\n");
  assert.ok(!logged.includes(PASSWORD));
  assert.ok(!logged.includes(ADMINISTRATOR.password));
});
