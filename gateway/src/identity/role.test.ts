import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Role } from "@tidings/proto/tidings/identity/v1/role";
import {
  ADMINISTRATOR_ROLE,
  as,
  type IdentityScene,
  isFault,
  json,
  mask,
  openIdentityScene,
  refuses,
} from "../testing/identity-scene.ts";

let scene: IdentityScene;
before(async () => {
  scene = await openIdentityScene();
});
after(() => scene.close());

const permissionsOf = (role: Role | undefined) =>
  role?.rawPermissions && JSON.parse(Buffer.from(role.rawPermissions).toString());

test("a fresh install has the administrator's role and no other", async () => {
  const role = await scene.roles.getRole({ id: ADMINISTRATOR_ROLE }, as(scene.root));
  assert.deepEqual(
    [role.name, role.description, role.isAdmin, role.rawPermissions],
    ["Administrator", "Full system access", true, undefined],
  );
});

test("a role is answered as it was written, and comes to what its rights need", async () => {
  const rawPermissions = json({ "lead:lists": ["editother"], "user:users": [] });
  const { role } = await scene.roles.createRole({ role: { name: "Lists", rawPermissions } }, as(scene.root));
  assert.deepEqual(permissionsOf(role), { "lead:lists": ["editother"] });
  const user = await scene.newUser(role?.id ?? 0);
  assert.deepEqual((await scene.actorOf(user.id)).permissions, {
    "lead:lists": ["viewown", "viewother", "editother"],
    "lead:leads": ["viewown"],
  });
});

test("an unknown permission is named", async () => {
  for (const [permissions, name] of [
    [{ "lead:leads": ["fly"] }, '"lead:leads:fly"'],
    [{ "moon:rocks": ["view"] }, '"moon:rocks"'],
    [{ "lead:leads": [{ toString: 1 }] }, '"lead:leads:?"'],
  ] as const) {
    const rawPermissions = json(permissions);
    const attempt = scene.roles.createRole({ role: { name: "Odd", rawPermissions } }, as(scene.root));
    await assert.rejects(attempt, (error: Error) => error.message.includes(name));
  }
});

test("no permissions are null, however they are written", async () => {
  for (const rawPermissions of [json({}), json([]), json({ "lead:leads": [] })]) {
    const { role } = await scene.roles.createRole({ role: { name: "None", rawPermissions } }, as(scene.root));
    assert.equal(role?.rawPermissions, undefined);
  }
});

test("permissions are replaced as a whole, and the same ones again are no change", async () => {
  const id = await scene.newRole({ "lead:leads": ["viewown"], "api:access": ["full"] });
  const patch = async (permissions: object) => {
    const change = { id, role: { rawPermissions: json(permissions) }, updateMask: mask("raw_permissions") };
    return (await scene.roles.updateRole(change, as(scene.root))).role;
  };
  const same = await patch({ "api:access": ["full"], "lead:leads": ["viewown"] });
  assert.equal(same?.dateModified, undefined);
  assert.deepEqual(permissionsOf(await patch({ "stage:stages": ["view"] })), { "stage:stages": ["view"] });
});

test("a name that is missing and a permission that does not exist are refused", async () => {
  const bad = { name: " ", rawPermissions: json({ "lead:leads": ["everything"] }) };
  await assert.rejects(
    scene.roles.createRole({ role: bad }, as(scene.root)),
    refuses("name", "rawPermissions"),
  );
  const long = { name: "x".repeat(192) };
  await assert.rejects(scene.roles.createRole({ role: long }, as(scene.root)), refuses("name"));
});

test("a user cannot make a role with more rights than their own", async () => {
  const manager = await scene.newActor({ "user:roles": ["full"], "lead:leads": ["viewother"] });
  const create = (role: object) => scene.roles.createRole({ role: { name: "Made", ...role } }, as(manager));
  const { role } = await create({ rawPermissions: json({ "lead:leads": ["viewown"] }) });
  const beyond = json({ "lead:leads": ["editown"] });
  await assert.rejects(create({ rawPermissions: beyond }), isFault("PERMISSION_DENIED"));
  await assert.rejects(create({ isAdmin: true }), isFault("PERMISSION_DENIED"));
  const edit = { id: role?.id ?? 0, role: { rawPermissions: beyond }, updateMask: mask("raw_permissions") };
  await assert.rejects(scene.roles.updateRole(edit, as(manager)), isFault("PERMISSION_DENIED"));
});

test("a user cannot edit or delete a role with more rights than their own, not even to take rights from it", async () => {
  const manager = await scene.newActor({ "user:roles": ["full"] });
  const id = await scene.newRole({ "lead:leads": ["viewown"] });
  for (const [role, path] of [
    [{ name: "Lowered" }, "name"],
    [{ rawPermissions: json({}) }, "raw_permissions"],
  ] as const) {
    const edit = { id, role, updateMask: mask(path) };
    await assert.rejects(scene.roles.updateRole(edit, as(manager)), isFault("PERMISSION_DENIED"));
  }
  await assert.rejects(scene.roles.deleteRole({ id }, as(manager)), isFault("PERMISSION_DENIED"));
  await scene.roles.deleteRole({ id }, as(scene.root));
});

test("a role with users stays, alone and in a batch", async () => {
  const [used, unused] = [await scene.newRole({}), await scene.newRole({})];
  await scene.newUser(used);
  await assert.rejects(scene.roles.deleteRole({ id: used }, as(scene.root)), isFault("ROLE_HAS_USERS"));
  const { statuses } = await scene.roles.batchDeleteRoles({ ids: [used, unused] }, as(scene.root));
  assert.deepEqual(
    statuses.map(({ error }) => error?.code),
    [9, undefined],
  );
});

test("the audit holds what became of a role", async () => {
  const id = await scene.newRole({ "api:access": ["full"] });
  const change = { id, role: { rawPermissions: json({}) }, updateMask: mask("raw_permissions") };
  await scene.roles.updateRole(change, as(scene.root));
  await scene.roles.deleteRole({ id }, as(scene.root));
  const rows = await scene.execute(
    "select action, details from audit where object_type = 'role' and object_id = $1 order by id",
    [id],
  );
  assert.deepEqual(
    rows.map(({ action }) => action),
    ["create", "update", "delete"],
  );
  assert.deepEqual(JSON.parse(rows[1]?.details ?? ""), {
    raw_permissions: [{ "api:access": ["full"] }, null],
  });
});

test("roles are searched by name, description and being an administrator's", async () => {
  const { role } = await scene.roles.createRole(
    { role: { name: "Keeper of hedgehogs", description: "Prickly" } },
    as(scene.root),
  );
  const search = async (text: string) => {
    const { roles } = await scene.roles.listRoles({ query: { search: text, pageSize: 100 } }, as(scene.root));
    return roles.map(({ id }) => id);
  };
  for (const text of [
    "hedgehog",
    "prickly",
    "name:hedgehog",
    '+name:"keeper of hedgehogs"',
    `ids:${role?.id}`,
  ])
    assert.deepEqual(await search(text), [role?.id], text);
  assert.deepEqual(await search("+name:hedgehog"), []);
  assert.deepEqual(await search("is:admin"), [ADMINISTRATOR_ROLE]);
  assert.ok(!(await search("!is:admin")).includes(ADMINISTRATOR_ROLE));
});
