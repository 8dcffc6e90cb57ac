import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { type User, UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { columnsOf } from "@tidings/resource/columns";
import {
  ADMINISTRATOR_ROLE,
  as,
  type IdentityScene,
  isFault,
  json,
  mask,
  openIdentityScene,
  refuses,
  STRONG,
  userInit,
} from "../testing/identity-scene.ts";

let scene: IdentityScene;
before(async () => {
  scene = await openIdentityScene();
});
after(() => scene.close());

const MANAGES_USERS = { "user:users": ["full"] };
const roleOf = ({ role }: User) => JSON.parse(Buffer.from(role ?? "null").toString());

test("the table has a column for each stored field, and those that are nobody's business", async () => {
  const rows = await scene.execute(
    "select column_name from information_schema.columns where table_name = 'users' and table_schema = 'identity'",
  );
  const expected = [...columnsOf(UserSchema).map(({ name }) => name), "version", "password_hash"];
  assert.deepEqual(rows.map((row) => row.column_name).toSorted(), expected.toSorted());
});

test("a new user is published, shows the role and can sign in", async () => {
  const id = await scene.newRole({ "lead:leads": ["viewown"] });
  const user = await scene.newUser(id);
  assert.equal(user.isPublished, true);
  assert.equal(user.onlineStatus, "offline");
  assert.deepEqual(Object.keys(roleOf(user)), [
    "id",
    "name",
    "description",
    "isAdmin",
    "rawPermissions",
    "createdByUser",
    "modifiedByUser",
  ]);
  assert.equal(roleOf(user).id, id);
  assert.deepEqual((await scene.actorOf(user.id)).permissions, { "lead:leads": ["viewown"] });
});

test("everything that is missing is named at once", async () => {
  await assert.rejects(
    scene.users.createUser({ user: {} }, as(scene.root)),
    refuses("username", "firstName", "lastName", "email", "role", "plainPassword"),
  );
});

test("a role is given by its id, also within an object; none, an unknown and an unpublished one are refused", async () => {
  const hidden = await scene.newRole({});
  await scene.roles.updateRole(
    { id: hidden, role: { isPublished: false }, updateMask: mask("is_published") },
    as(scene.root),
  );
  const roleId = await scene.newRole({});
  const { user } = await scene.users.createUser(
    { user: userInit(0, { role: json({ id: roleId }) }) },
    as(scene.root),
  );
  assert.equal(user?.roleId, roleId);
  const attempt = (role: unknown) =>
    scene.users.createUser({ user: userInit(0, { role: json(role) }) }, as(scene.root));
  for (const role of [null, "", 0.5, -1, [], { name: "x" }, "1 or 1=1", 2_000_000_000, hidden])
    await assert.rejects(attempt(role), refuses("role"), JSON.stringify(role));
  await assert.rejects(attempt(null), /A role must be chosen for this user\./);
  await assert.rejects(attempt(2_000_000_000), /This value is not valid\./);
});

test("a password that is missing, not repeated, weak, made of the user's names or too long is refused", async () => {
  const attempt = (plainPassword: unknown) =>
    scene.users.createUser(
      {
        user: userInit(ADMINISTRATOR_ROLE, { username: "quillfeather", plainPassword: json(plainPassword) }),
      },
      as(scene.root),
    );
  for (const [password, confirm, text] of [
    [undefined, undefined, /required/],
    ["", "", /required/],
    [["array"], ["array"], /required/],
    [STRONG, `${STRONG} `, /do not match/],
    [STRONG, undefined, /do not match/],
    ["password1", "password1", /Please enter a stronger password\. Your password must use/],
    ["quillfeather", "quillfeather", /stronger/],
    [STRONG.repeat(20), STRONG.repeat(20), /256 bytes/],
    ["é".repeat(129), "é".repeat(129), /256 bytes/],
  ] as const) {
    await assert.rejects(attempt({ password, confirm }), (error: Error) => {
      assert.match(error.message, text);
      return refuses("plainPassword")(error);
    });
  }
  await assert.rejects(attempt("text"), refuses("plainPassword"));
});

test("a password is in no answer and in no event", async () => {
  const secret = "Cobalt-Harmonica-77";
  const user = await scene.newUser(ADMINISTRATOR_ROLE, {
    plainPassword: json({ password: secret, confirm: secret }),
  });
  assert.equal(user.plainPassword, undefined);
  const [row] = await scene.execute("select password_hash from users where id = $1", [user.id]);
  assert.match(row?.password_hash ?? "", /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  const events = await scene.execute("select encode(payload, 'escape') as text from outbox");
  const audit = await scene.execute("select details::text as text from audit");
  for (const { text } of [...events, ...audit]) {
    assert.ok(!text?.includes(secret));
    assert.ok(!text?.includes("$argon2"));
  }
});

test("a username and an email address belong to one user, whatever their case", async () => {
  const { username, email } = await scene.newUser(ADMINISTRATOR_ROLE);
  const attempt = (members: object) =>
    scene.users.createUser({ user: userInit(ADMINISTRATOR_ROLE, members) }, as(scene.root));
  await assert.rejects(attempt({ username: ` ${username.toUpperCase()}` }), /Username is already in use/);
  await assert.rejects(attempt({ email: email.toUpperCase() }), /Email is already in use/);
  await assert.rejects(attempt({ username, email }), refuses("username", "email"));
  const other = await scene.newUser(ADMINISTRATOR_ROLE);
  const change = { id: other.id, user: { email: email.toUpperCase() }, updateMask: mask("email") };
  await assert.rejects(scene.users.updateUser(change, as(scene.root)), refuses("email"));
});

test("the first of two users with one name in a batch is made, and the other items are not harmed", async () => {
  const twin = userInit(ADMINISTRATOR_ROLE);
  const requests = [
    twin,
    { ...userInit(ADMINISTRATOR_ROLE), username: twin.username },
    userInit(ADMINISTRATOR_ROLE),
  ];
  const { users, statuses } = await scene.users.batchCreateUsers(
    { requests: requests.map((user) => ({ user })) },
    as(scene.root),
  );
  assert.deepEqual(
    statuses.map(({ created, error }) => [created, error !== undefined]),
    [
      [true, false],
      [false, true],
      [true, false],
    ],
  );
  assert.equal(users[0]?.username, twin.username);
});

test("two users who take one name at the same time: one gets it, the other an error", async () => {
  const email = "contested@example.com";
  const attempts = [1, 2, 3].map(() =>
    scene.users.createUser({ user: userInit(ADMINISTRATOR_ROLE, { email }) }, as(scene.root)),
  );
  const outcomes = await Promise.allSettled(attempts);
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  for (const outcome of outcomes)
    if (outcome.status === "rejected") assert.ok(refuses("email")(outcome.reason));
});

test("an edit changes no username, and no password unless it sends one", async () => {
  const user = await scene.newUser(ADMINISTRATOR_ROLE);
  const passwordOf = () => scene.execute("select password_hash from users where id = $1", [user.id]);
  const before = await passwordOf();
  for (const paths of [["username", "position"], ["*"]]) {
    const { plainPassword: _, ...sent } = userInit(ADMINISTRATOR_ROLE, { position: paths.join() });
    const { user: edited } = await scene.users.updateUser(
      { id: user.id, user: sent, updateMask: mask(...paths) },
      as(scene.root),
    );
    assert.equal(edited?.username, user.username);
    assert.equal(edited?.position, paths.join());
  }
  assert.deepEqual(await passwordOf(), before);
});

const ANOTHER = "Cerulean-Lantern-77";
const passwordJson = (members: object = {}) => json({ password: ANOTHER, confirm: ANOTHER, ...members });
const openSessionOf = (userId: number) =>
  scene.execute("insert into sessions (hash, user_id) values (md5(random()::text), $1)", [userId]);
const openGrantOf = (userId: number) =>
  scene.execute(
    `with client as (insert into oauth_clients (random_id, name, redirect_uris, grants, is_public)
       values (gen_random_uuid()::text, 'app', '{}', '{}', true) returning id)
     insert into oauth_grants (client_id, user_id) select id, $1 from client`,
    [userId],
  );
const openOf = async (userId: number) => {
  const [row] = await scene.execute(
    `select (select count(*) from sessions where user_id = $1) as sessions,
       (select count(*) from oauth_grants where user_id = $1 and revoked_at is null) as grants`,
    [userId],
  );
  return [Number(row?.sessions), Number(row?.grants)];
};

test("a new password ends everything that was let in by the old one, by an edit or by itself", async () => {
  const user = await scene.newUser(ADMINISTRATOR_ROLE);
  const changes = [
    () =>
      scene.users.updateUser(
        {
          id: user.id,
          user: userInit(ADMINISTRATOR_ROLE, { plainPassword: passwordJson() }),
          updateMask: mask("plain_password"),
        },
        as(scene.root),
      ),
    () => scene.users.changePassword({ id: user.id, plainPassword: passwordJson() }, as(scene.root)),
  ];
  for (const change of changes) {
    await openSessionOf(user.id);
    await openGrantOf(user.id);
    assert.deepEqual(await openOf(user.id), [1, 1]);
    await change();
    assert.deepEqual(await openOf(user.id), [0, 0]);
  }
});

test("one's own password is changed with the present one only, and not guessed", async () => {
  const self = await scene.newActor({});
  const change = (members: object) =>
    scene.users.changePassword({ id: self.id ?? 0, plainPassword: passwordJson(members) }, as(self));
  await assert.rejects(change({}), refuses("plainPassword"));
  for (let count = 0; count < 5; count += 1)
    await assert.rejects(change({ current: "wrong" }), refuses("plainPassword"));
  await assert.rejects(change({ current: "wrong" }), /Too many/);
});

test("others' passwords and sessions are changed by who may edit users and do all that they may", async () => {
  const user = await scene.newUser(ADMINISTRATOR_ROLE);
  const manager = await scene.newActor(MANAGES_USERS);
  const nobody = await scene.newActor({});
  for (const actor of [manager, nobody]) {
    const change = { id: user.id, plainPassword: passwordJson() };
    await assert.rejects(scene.users.changePassword(change, as(actor)));
    await assert.rejects(scene.users.endSessions({ id: user.id }, as(actor)));
  }
  await openSessionOf(user.id);
  const { sessions } = await scene.users.endSessions({ id: user.id }, as(scene.root));
  assert.deepEqual([sessions, await openOf(user.id)], [1, [0, 0]]);
  const audit = await scene.execute(
    "select action from audit where object_type = 'user' and object_id = $1 order by id",
    [String(user.id)],
  );
  assert.equal(audit.at(-1)?.action, "end_sessions");
});

test("nobody's username is another one's address, in any case or form of its letters", async () => {
  const first = await scene.newUser(ADMINISTRATOR_ROLE, { email: "Taken.Name@Example.com" });
  const attempt = (members: object) =>
    scene.users.createUser({ user: userInit(ADMINISTRATOR_ROLE, members) }, as(scene.root));
  await assert.rejects(attempt({ username: "taken.name@example.com" }), refuses("username"));
  await assert.rejects(attempt({ email: `${first.username}`, username: "someone-else" }));
  await assert.rejects(attempt({ username: "ｔaken.name@example.com" }), refuses("username"));
});

test("PATCH gives another role, PUT keeps the one there is", async () => {
  const [first, second] = [await scene.newRole({}), await scene.newRole({})];
  const { id } = await scene.newUser(first);
  const change = async (role: unknown, ...paths: string[]) => {
    const user = userInit(0, { role: json(role) });
    return (await scene.users.updateUser({ id, user, updateMask: mask(...paths) }, as(scene.root))).user
      ?.roleId;
  };
  assert.equal(await change(second, "role"), second);
  assert.equal(await change(first, "*"), second);
  assert.equal(await change(first, "position"), second);
  await assert.rejects(change(null, "role"), refuses("role"));
});

test("a user cannot give a role with more rights than their own", async () => {
  const manager = await scene.newActor({ ...MANAGES_USERS, "lead:leads": ["viewother", "editown"] });
  const within = await scene.newRole({ "lead:leads": ["viewown"] });
  const beyond = await scene.newRole({ "lead:leads": ["editother"] });
  const create = (role: number) => scene.users.createUser({ user: userInit(role) }, as(manager));
  const { user } = await create(within);
  assert.ok(user);
  await assert.rejects(create(beyond), isFault("PERMISSION_DENIED"));
  await assert.rejects(create(ADMINISTRATOR_ROLE), isFault("PERMISSION_DENIED"));
  for (const id of [user.id, manager.id ?? 0]) {
    const promotion = { id, user: { role: json(beyond) }, updateMask: mask("role") };
    await assert.rejects(scene.users.updateUser(promotion, as(manager)), isFault("PERMISSION_DENIED"));
  }
});

test("a user cannot edit or delete a user with more rights", async () => {
  const manager = await scene.newActor(MANAGES_USERS);
  const { id } = await scene.newUser(await scene.newRole({ "lead:leads": ["viewown"] }));
  const edit = { id, user: { position: "Under" }, updateMask: mask("position") };
  await assert.rejects(scene.users.updateUser(edit, as(manager)), isFault("PERMISSION_DENIED"));
  await assert.rejects(scene.users.deleteUser({ id }, as(manager)), isFault("PERMISSION_DENIED"));
  const { statuses } = await scene.users.batchDeleteUsers({ ids: [id] }, as(manager));
  assert.equal(statuses[0]?.error?.code, 7);
  await scene.users.getUser({ id }, as(manager));
});

test("each verb asks for its own right", async () => {
  const { id } = await scene.newUser(await scene.newRole({}));
  const attempts = {
    view: (call: ReturnType<typeof as>) => scene.users.getUser({ id }, call),
    create: async (call: ReturnType<typeof as>) =>
      scene.users.createUser({ user: userInit(await scene.newRole({})) }, call),
    edit: (call: ReturnType<typeof as>) =>
      scene.users.updateUser({ id, user: { position: "B" }, updateMask: mask("position") }, call),
  };
  const rights = { view: ["view"], create: ["create", "view"], edit: ["edit", "view"] };
  for (const [held, verbs] of Object.entries(rights)) {
    const actor = await scene.newActor({ "user:users": [held] });
    for (const [verb, attempt] of Object.entries(attempts)) {
      if (verbs.includes(verb)) await attempt(as(actor));
      else await assert.rejects(attempt(as(actor)), isFault("PERMISSION_DENIED"), `${held} ${verb}`);
    }
  }
});

test("PUT of a missing user needs the right to create", async () => {
  const roleId = await scene.newRole({});
  const put = { id: 2_000_000_000, user: userInit(roleId), updateMask: mask("*"), allowMissing: true };
  const editor = await scene.newActor({ "user:users": ["edit"] });
  await assert.rejects(scene.users.updateUser(put, as(editor)), isFault("PERMISSION_DENIED"));
  assert.equal((await scene.users.updateUser(put, as(scene.root))).created, true);
});

test("a user cannot delete themselves", async () => {
  const manager = await scene.newActor(MANAGES_USERS);
  await assert.rejects(scene.users.deleteUser({ id: manager.id ?? 0 }, as(manager)), isFault("SELF"));
  await scene.users.deleteUser({ id: manager.id ?? 0 }, as(scene.root));
});

test("a change has one event, without secrets, and with the version of the row", async () => {
  const user = await scene.newUser(ADMINISTRATOR_ROLE, { firstName: "Grace" });
  const change = { id: user.id, user: { lastName: "Hopper" }, updateMask: mask("last_name") };
  await scene.users.updateUser(change, as(scene.root));
  await scene.users.updateUser(change, as(scene.root));
  await scene.users.deleteUser({ id: user.id }, as(scene.root));
  const rows = await scene.execute(
    `select subject, aggregate_version, encode(payload, 'base64') as payload from outbox
     where subject like 'tidings.identity.user.%' and aggregate_id = $1 order by id`,
    [user.id],
  );
  assert.deepEqual(
    rows.map(({ subject, aggregate_version }) => [subject, aggregate_version]),
    [
      ["tidings.identity.user.created", "1"],
      ["tidings.identity.user.updated", "2"],
      ["tidings.identity.user.deleted", "3"],
    ],
  );
  const names = rows.map(({ payload }) => {
    const { id, firstName, lastName } = fromBinary(UserSchema, Buffer.from(payload ?? "", "base64"));
    return [id, firstName, lastName];
  });
  assert.deepEqual(names, [
    [user.id, "Grace", "Lovelace"],
    [user.id, "Grace", "Hopper"],
    [user.id, "Grace", "Hopper"],
  ]);
});

test("the audit knows who did what to a user, and nothing of what was refused", async () => {
  const manager = await scene.newActor({ ...MANAGES_USERS, "lead:leads": ["viewown"] });
  const [first, second] = [await scene.newRole({}), await scene.newRole({ "lead:leads": ["viewown"] })];
  const { id } = await scene.newUser(first);
  const patch = (user: object, ...paths: string[]) =>
    scene.users.updateUser({ id, user, updateMask: mask(...paths) }, as(manager));
  await patch({ role: json(second), position: "Analyst" }, "role", "position");
  await patch({ position: "Analyst" }, "position");
  await assert.rejects(patch({ email: "wrong" }, "email"));
  await scene.users.deleteUser({ id }, as(manager));
  const rows = await scene.execute(
    `select action, actor_id, details from audit where object_type = 'user' and object_id = $1 order by id`,
    [id],
  );
  assert.deepEqual(
    rows.map(({ action, actor_id }) => [action, Number(actor_id)]),
    [
      ["create", scene.root.id],
      ["update", manager.id],
      ["delete", manager.id],
    ],
  );
  assert.deepEqual(JSON.parse(rows[1]?.details ?? ""), {
    role_id: [first, second],
    position: [null, "Analyst"],
  });
});

test("a signed-in user sees themselves; an app without a user has no id", async () => {
  const actor = await scene.newActor({});
  assert.equal((await scene.users.getSelf({}, as(actor))).id, actor.id);
  const app = { ...actor, kind: "client" as const, id: null };
  await assert.rejects(scene.users.getSelf({}, as(app)), isFault("NOT_FOUND"));
});

test("owners and roles are listed by name, published ones only, a page at a time", async () => {
  const roleId = await scene.newRole({});
  for (const [lastName, isPublished] of [
    ["Zeta 2", true],
    ["Zeta 1", true],
    ["Zeta 3", false],
  ] as const)
    await scene.newUser(roleId, { firstName: "Owner", lastName, isPublished });
  const owners = async (request: object) =>
    (await scene.users.listOwners({ limit: 30, ...request }, as(scene.root))).owners.map(
      ({ firstName, lastName }) => `${firstName} ${lastName}`,
    );
  assert.deepEqual(await owners({ filter: "owner zeta" }), ["Owner Zeta 1", "Owner Zeta 2"]);
  assert.deepEqual(await owners({ filter: "owner zeta", start: 1 }), ["Owner Zeta 2"]);
  assert.deepEqual(await owners({ filter: "owner zeta", limit: 1 }), ["Owner Zeta 1"]);
  assert.deepEqual(await owners({ filter: "%" }), []);
  const { roles } = await scene.users.listUserRoles({ filter: "administr", limit: 30 }, as(scene.root));
  assert.deepEqual(
    roles.map(({ id, name }) => [id, name]),
    [[1, "Administrator"]],
  );
});

test("owners are for who may view contacts, roles for who may view users", async () => {
  const viewer = await scene.newActor({ "lead:leads": ["viewown"] });
  const manager = await scene.newActor({ "user:users": ["view"] });
  const request = { limit: 1 };
  await scene.users.listOwners(request, as(viewer));
  await scene.users.listUserRoles(request, as(manager));
  await assert.rejects(scene.users.listOwners(request, as(manager)), isFault("PERMISSION_DENIED"));
  await assert.rejects(scene.users.listUserRoles(request, as(viewer)), isFault("PERMISSION_DENIED"));
});

test("users are searched by their names, address, position, role and state", async () => {
  const { role } = await scene.roles.createRole({ role: { name: "Beekeepers" } }, as(scene.root));
  const { id } = await scene.newUser(role?.id ?? 0, {
    username: "apis",
    firstName: "Melissa",
    lastName: "Imker",
    email: "honey@hive.example",
    position: "Queen",
    isPublished: false,
  });
  const search = async (text: string) => {
    const { users } = await scene.users.listUsers({ query: { search: text, pageSize: 100 } }, as(scene.root));
    return users.map((user) => user.id);
  };
  for (const text of [
    "hive",
    "name:lissa",
    "name:mker",
    "email:hive",
    "position:quee",
    "role:keeper",
    "+role:beekeepers",
    "username:pis",
    "is:inactive name:melissa",
    "is:unpublished name:melissa",
    `ids:${id}`,
  ])
    assert.deepEqual(await search(text), [id], text);
  for (const text of [
    "+role:keeper",
    "is:active name:melissa",
    "is:admin name:melissa",
    "!name:melissa hive",
  ])
    assert.deepEqual(await search(text), [], text);
  assert.ok((await search("is:admin")).includes(scene.root.id ?? 0));
});
