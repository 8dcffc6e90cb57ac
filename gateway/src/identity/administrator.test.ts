import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOutbox } from "@tidings/messaging/outbox";
import {
  ADMINISTRATOR_ROLE,
  as,
  type IdentityScene,
  isFault,
  json,
  mask,
  openIdentityScene,
  STRONG,
} from "../testing/identity-scene.ts";
import { ensureAdministrator } from "./administrator.ts";

let scene: IdentityScene;
before(async () => {
  scene = await openIdentityScene();
});
after(() => scene.close());

const administrators = async () => {
  const rows = await scene.execute(
    `select u.id from users u join roles r on r.id = u.role_id
     where r.is_admin and r.is_published and u.is_published order by u.id`,
  );
  return rows.map(({ id }) => Number(id));
};
const ensure = (username: string) =>
  ensureAdministrator(scene.database, createOutbox(), { username, password: STRONG });
const id = () => scene.root.id ?? 0;

test("the last administrator is not unpublished, demoted or left with a role that is none", async () => {
  const other = await scene.newRole({});
  const edit = (user: object, path: string) =>
    scene.users.updateUser({ id: id(), user, updateMask: mask(path) }, as(scene.root));
  const editRole = (role: object, path: string) =>
    scene.roles.updateRole({ id: ADMINISTRATOR_ROLE, role, updateMask: mask(path) }, as(scene.root));
  await assert.rejects(edit({ isPublished: false }, "is_published"), isFault("LAST_ADMINISTRATOR"));
  await assert.rejects(edit({ role: json(other) }, "role"), isFault("LAST_ADMINISTRATOR"));
  await assert.rejects(editRole({ isPublished: false }, "is_published"), isFault("LAST_ADMINISTRATOR"));
  await assert.rejects(editRole({ isAdmin: false }, "is_admin"), isFault("LAST_ADMINISTRATOR"));
  assert.deepEqual(await administrators(), [id()]);
});

test("an app that may do everything does not delete the last administrator", async () => {
  const app = { kind: "client" as const, id: null, name: "App", admin: true, permissions: {} };
  await assert.rejects(scene.users.deleteUser({ id: id() }, as(app)), isFault("LAST_ADMINISTRATOR"));
});

test("when two administrators are demoted at the same time, one stays", async () => {
  const role = json(await scene.newRole({}));
  for (let round = 0; round < 5; round += 1) {
    await scene.newUser(ADMINISTRATOR_ROLE);
    const demotions = (await administrators()).map((userId) =>
      scene.users.updateUser({ id: userId, user: { role }, updateMask: mask("role") }, as(scene.root)),
    );
    const outcomes = await Promise.allSettled(demotions);
    const refused = outcomes.filter(({ status }) => status === "rejected");
    assert.equal(refused.length, 1);
    assert.equal((await administrators()).length, 1);
  }
  await ensure("root");
});

test("a start gives the administrator back what was taken, with one event", async () => {
  await scene.newUser(ADMINISTRATOR_ROLE);
  const edit = { id: id(), user: { isPublished: false }, updateMask: mask("is_published") };
  await scene.users.updateUser(edit, as(scene.root));
  const updates = async () =>
    scene.execute(
      "select id from outbox where subject = 'tidings.identity.user.updated' and aggregate_id = $1",
      [id()],
    );
  const before = await updates();
  await ensure("ROOT");
  await ensure("root");
  assert.equal((await updates()).length, before.length + 1);
  assert.ok((await administrators()).includes(id()));
});

test("the administrator may be named by an email address", async () => {
  await ensure("boss@example.com");
  const [row] = await scene.execute("select email from users where username = 'boss@example.com'");
  assert.equal(row?.email, "boss@example.com");
});
