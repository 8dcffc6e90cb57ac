import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { as, type IdentityScene, isFault, mask, openIdentityScene } from "../testing/identity-scene.ts";

let scene: IdentityScene;
before(async () => {
  scene = await openIdentityScene();
});
after(() => scene.close());

const check = async (userId: number, permissions: string[], actor = scene.root) =>
  (await scene.users.checkPermissions({ userId, permissions }, as(actor))).held;

test("the rights of the target user are answered, not those of who asks", async () => {
  const { id } = await scene.newActor({ "lead:leads": ["editother"] });
  assert.deepEqual(await check(id ?? 0, ["lead:leads:viewother", "lead:leads:deleteown"]), {
    "lead:leads:viewother": true,
    "lead:leads:deleteown": false,
  });
});

test("an administrator holds everything", async () => {
  assert.deepEqual(await check(scene.root.id ?? 0, ["plugin:plugins:manage"]), {
    "plugin:plugins:manage": true,
  });
});

test("a user who cannot sign in, or whose role is unpublished, holds nothing", async () => {
  const roleId = await scene.newRole({ "api:access": ["full"] });
  const { id } = await scene.newUser(roleId);
  const { id: unpublished } = await scene.newUser(roleId, { isPublished: false });
  const answer = async (userId: number) => (await check(userId, ["api:access:full"]))["api:access:full"];
  assert.deepEqual([await answer(id), await answer(unpublished)], [true, false]);
  const change = { id: roleId, role: { isPublished: false }, updateMask: mask("is_published") };
  await scene.roles.updateRole(change, as(scene.root));
  assert.equal(await answer(id), false);
});

test("everybody asks about themselves, and about others who may view users", async () => {
  const nobody = await scene.newActor({});
  const viewer = await scene.newActor({ "user:users": ["view"] });
  const target = nobody.id ?? 0;
  assert.deepEqual(await check(target, ["user:users:view"], nobody), { "user:users:view": false });
  assert.deepEqual(await check(target, ["user:users:view"], viewer), { "user:users:view": false });
  await assert.rejects(check(viewer.id ?? 0, ["user:users:view"], nobody), isFault("PERMISSION_DENIED"));
});

test("an empty question, an unknown user and an unknown permission have errors of their own", async () => {
  const id = scene.root.id ?? 0;
  await assert.rejects(check(id, []), /At least one permission must be submitted\./);
  await assert.rejects(check(2_000_000_000, ["lead:leads:create"]), isFault("NOT_FOUND"));
  await assert.rejects(check(id, ["lead:leads:create", "a:b:c"]), isFault("PERMISSION_UNKNOWN"));
});
