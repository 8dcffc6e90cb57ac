import assert from "node:assert/strict";
import { after, test } from "node:test";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { ensureAdministrator } from "../identity/administrator.ts";
import { openPrincipals } from "../identity/principals.ts";
import { loginThrottle } from "../limits/login-throttle.ts";
import { keepNames } from "../testing/oauth-scene.ts";
import { openCredentials } from "./credentials.ts";

const testDatabase = await createTestDatabase();
const database = openDatabase({ url: testDatabase.url("identity"), log: createLog("identity", "silent") });
after(async () => {
  await database.close();
  await testDatabase.drop();
});
const PASSWORD = "correct horse";
const ensure = (username: string, password: string) =>
  ensureAdministrator(database, createOutbox(), { username, password });
await ensure("Ada", PASSWORD);

const open = () => openCredentials(database, openPrincipals(database), loginThrottle(undefined));
const basic = (login: string, password: string) => Buffer.from(`${login}:${password}`).toString("base64");
/** An attempt that nobody counts. */
const from = (clientIp: string) => ({
  clientIp,
  deadlineMs: Date.now() + 5_000,
  count: async () => undefined,
});
const isRefused = (error: unknown) => error instanceof Fault && error.code === Code.UNAUTHENTICATED;
const execute = (text: string, values: unknown[] = []) =>
  database.query({ text }, values, backgroundDeadline());

test("the administrator signs in by name or address, in any case", async () => {
  const credentials = await open();
  for (const login of ["Ada", "ADA", "ada@localhost", "Ada@LocalHost"]) {
    const actor = await credentials.verifyBasic(basic(login, PASSWORD), from("1.1.1.1"));
    assert.deepEqual([actor.kind, actor.admin, actor.name], ["user", true, "Admin User"]);
  }
});

test("a wrong password, an unknown user and an unpublished one are refused in the same words", async () => {
  await execute(`insert into users (username, email, first_name, last_name, password_hash, role_id, is_published)
    select 'gone', 'gone@x', 'A', 'B', password_hash, role_id, false from users where username = 'Ada'`);
  await keepNames(execute, "gone");
  const credentials = await open();
  const texts = new Set<string>();
  for (const [login, password] of [
    ["Ada", "wrong"],
    ["nobody", PASSWORD],
    ["gone", PASSWORD],
    ["", ""],
    ["Ada", ""],
  ] as const) {
    await assert.rejects(credentials.verifyBasic(basic(login, password), from("1.1.1.1")), (error: Fault) => {
      texts.add(`${error.reason} ${error.message}`);
      return isRefused(error);
    });
  }
  assert.equal(texts.size, 1);
});

test("text that is no Basic value, and characters no name has, are refused and nothing worse", async () => {
  const credentials = await open();
  for (const value of [
    "",
    "!!!",
    Buffer.from("no colon").toString("base64"),
    basic("a\0b", "c"),
    Buffer.from([255, 58, 254]).toString("base64"),
  ])
    await assert.rejects(credentials.verifyBasic(value, from("1.1.1.1")), isRefused);
});

test("verified credentials are recalled as the same actor; no others are", async () => {
  const credentials = await open();
  assert.equal(credentials.recallBasic(basic("Ada", PASSWORD)), undefined);
  const first = await credentials.verifyBasic(basic("Ada", PASSWORD), from("1.1.1.1"));
  assert.equal(credentials.recallBasic(basic("Ada", PASSWORD)), first);
  assert.equal(credentials.recallBasic(basic("Ada", `${PASSWORD}x`)), undefined);
});

test("a user who was unpublished, or lost a right, is known as such within five seconds without a new password check", async () => {
  await execute(`insert into roles (name, permissions) values ('Viewer', '{"lead:leads": ["full"]}')`);
  await execute(`insert into users (username, email, first_name, last_name, password_hash, role_id)
    select 'leaver', 'leaver@x', 'Lea', 'Ver', password_hash, (select id from roles where name = 'Viewer')
    from users where username = 'Ada'`);
  await keepNames(execute, "leaver");
  const credentials = await open();
  const encoded = basic("leaver", PASSWORD);
  let counted = 0;
  const attempt = { ...from("1.1.1.1"), count: async () => void counted++ };
  const now = async () => credentials.recallBasic(encoded) ?? credentials.verifyBasic(encoded, attempt);
  assert.deepEqual((await now()).permissions, { "lead:leads": ["full"] });
  await execute(`update roles set permissions = '{"lead:leads": ["viewown"]}' where name = 'Viewer'`);
  const limit = { timeoutMs: 5_000 };
  await eventually(
    async () => assert.deepEqual((await now()).permissions, { "lead:leads": ["viewown"] }),
    limit,
  );
  assert.equal(counted, 1);
  await execute("update users set is_published = false where username = 'leaver'");
  await eventually(() => assert.rejects(now(), isRefused), limit);
});

test("a sign-in notes when it was", async () => {
  const credentials = await open();
  await credentials.verifyBasic(basic("Ada", PASSWORD), from("1.1.1.1"));
  const [row] = await execute(`select last_login > now() - interval '1 minute' as login,
    last_active > now() - interval '1 minute' as active from users where username = 'Ada'`);
  assert.deepEqual([row?.login, row?.active], ["t", "t"]);
});

test("a right and a wrong password are noted in the audit with who tried from where, and without the password", async () => {
  const credentials = await open();
  await assert.rejects(credentials.verifyBasic(basic("Ada", "not-this-one"), from("9.9.9.9")), isRefused);
  await credentials.verifyBasic(basic("Ada", PASSWORD), from("9.9.9.9"));
  const rows = await execute(
    `select action, actor_id, details from audit where client_ip = '9.9.9.9' order by id`,
  );
  assert.deepEqual(
    rows.map(({ action, actor_id, details }) => [action, actor_id, JSON.parse(details ?? "")]),
    [
      ["login_failed", null, { login: "Ada" }],
      ["login", "1", { login: "Ada" }],
    ],
  );
});

test("an outage of the database locks nobody out who tried all the time", async (t) => {
  const proxy = await startProxy(testDatabase.url("identity"));
  const proxied = openDatabase({ url: proxy.url, log: createLog("identity", "silent") });
  t.after(async () => {
    await proxied.close();
    await proxy.stop();
  });
  const credentials = await openCredentials(proxied, openPrincipals(proxied), loginThrottle(undefined));
  const attempt = () => credentials.verifyBasic(basic("Ada", PASSWORD), from("2.2.2.2"));
  proxy.goDown();
  for (let count = 0; count < 30; count += 1)
    await assert.rejects(attempt(), (error: Fault) => error.code === Code.UNAVAILABLE);
  proxy.recover();
  await eventually(async () => assert.equal((await attempt()).name, "Admin User"), { timeoutMs: 5_000 });
});

test("a request that waited for another's look-up fails when its own time is over, and does not begin one of its own", async (t) => {
  const proxy = await startProxy(testDatabase.url("identity"));
  const proxied = openDatabase({ url: proxy.url, log: createLog("identity", "silent") });
  t.after(async () => {
    await proxied.close();
    await proxy.stop();
  });
  const credentials = await openCredentials(proxied, openPrincipals(proxied), loginThrottle(undefined));
  await credentials.verifyBasic(basic("Ada", PASSWORD), from("3.3.3.3"));
  proxy.goDeaf();
  let counted = 0;
  const deadlineMs = Date.now() + 300;
  const attempt = { ...from("3.3.3.3"), deadlineMs, count: async () => void counted++ };
  const attempts = Array.from({ length: 3 }, () => credentials.verifyBasic(basic("Ada", PASSWORD), attempt));
  const answers = await Promise.allSettled(attempts);
  assert.ok(answers.every(({ status }) => status === "rejected"));
  assert.equal(counted, 0);
  assert.ok(Date.now() - deadlineMs < 2_500, "one look-up and the time in which its silence is noticed");
});

test("a refusal is never remembered", async () => {
  const credentials = await open();
  await assert.rejects(credentials.verifyBasic(basic("late", PASSWORD), from("1.1.1.1")), isRefused);
  await execute(`insert into users (username, email, first_name, last_name, password_hash, role_id)
    select 'late', 'late@x', 'Late', 'Comer', password_hash, role_id from users where username = 'Ada'`);
  await keepNames(execute, "late");
  assert.equal((await credentials.verifyBasic(basic("late", PASSWORD), from("1.1.1.1"))).name, "Late Comer");
});

test("a client that signs in sixty times at once is not refused, and is counted once", async () => {
  const credentials = await open();
  let counted = 0;
  const count = async () => {
    counted += 1;
  };
  const signIns = Array.from({ length: 60 }, () =>
    credentials.verifyBasic(basic("Ada", PASSWORD), { ...from("1.1.1.1"), count }),
  );
  const results = await Promise.allSettled(signIns);
  assert.equal(results.filter(({ status }) => status === "rejected").length, 0);
  assert.equal(counted, 1);
});

test("concurrent wrong passwords are tried no more often than successive ones", async () => {
  const credentials = await open();
  const guesses = Array.from({ length: 30 }, (_, index) =>
    credentials.verifyBasic(basic("Ada", `guess ${index}`), from("9.9.9.9")),
  );
  const results = await Promise.allSettled(guesses);
  const tried = results.filter((result) => result.status === "rejected" && isRefused(result.reason));
  assert.ok(tried.length <= 6, `${tried.length} were tried`);
});

test("two gateways that start at once make one administrator, with the password of the last start", async () => {
  await Promise.all(["first pass", "first pass"].map((password) => ensure("Root", password)));
  await ensure("ROOT", "second pass");
  const rows = await execute("select count(*) as count from users where lower(username) = 'root'");
  assert.equal(rows[0]?.count, "1");
  const credentials = await open();
  assert.ok(await credentials.verifyBasic(basic("root", "second pass"), from("1.1.1.1")));
  await assert.rejects(credentials.verifyBasic(basic("root", "first pass"), from("1.1.1.1")), isRefused);
});
