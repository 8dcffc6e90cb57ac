import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startOAuthScene } from "../testing/oauth-scene.ts";
import { PASSWORD } from "../testing/scene.ts";
import { visitorOf } from "../testing/visitor.ts";
import { sessionCookie } from "./session-cookie.ts";

const scene = await startOAuthScene();
after(scene.stop);

test("a sign-in gives another session id than the visitor had, so that nobody can choose it", async () => {
  const person = visitorOf(scene.port);
  await person.get("/oauth/v2/authorize_login");
  const before = person.cookie();
  assert.equal((await person.signIn("admin", PASSWORD)).status, 303);
  assert.notEqual(person.cookie(), before);
  const fixed = visitorOf(scene.port);
  fixed.setCookie(before);
  assert.equal((await fixed.get("/authorisations")).status, 303);
});

test("the cookie is out of reach of scripts and foreign forms, and under https bound to the host", async () => {
  const person = visitorOf(scene.port);
  const { headers } = await person.get("/oauth/v2/authorize_login");
  assert.match(headers.get("set-cookie") ?? "", /^tidings-sid-0=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  let cookie = "";
  sessionCookie(true, 443).renew({ setHeader: (_name: string, value: string) => (cookie = value) } as never);
  assert.match(cookie, /^__Host-sid=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
});

test("a wrong password and an unknown user get the same page, with what was typed but the password", async () => {
  const answers = [];
  for (const [username, password] of [
    ["admin", "wrong-password"],
    ["nobody", "wrong-password"],
  ] as const) {
    const { status, text } = await visitorOf(scene.port).signIn(username, password);
    assert.equal(status, 422);
    assert.ok(text.includes(`value="${username}"`));
    assert.ok(!text.includes("wrong-password"));
    answers.push(text.replaceAll(`value="${username}"`, "").replaceAll(/name="csrf" value="[^"]*"/g, ""));
  }
  assert.equal(answers[0], answers[1]);
});

test("the typed name is shown as text", async () => {
  const { text } = await visitorOf(scene.port).signIn(`"><script>alert(1)</script>`, "x");
  assert.ok(!text.includes("<script>"));
});

test("after many wrong passwords one has to wait", async () => {
  const statuses = [];
  for (let count = 0; count < 9; count += 1)
    statuses.push((await visitorOf(scene.port).signIn("guessed", "x")).status);
  assert.deepEqual([statuses[0], statuses.at(-1)], [422, 429]);
});

test("a sign-in from a foreign page is refused, one without its token is shown again and lets nobody in", async () => {
  const person = visitorOf(scene.port);
  await person.get("/oauth/v2/authorize_login");
  const fields = { _username: "admin", _password: PASSWORD };
  const post = (more: Record<string, string>, headers = {}) =>
    person.post("/oauth/v2/authorize_login_check", { ...fields, ...more }, headers);
  assert.equal((await post({}, { origin: "https://evil.example" })).status, 403);
  const next = "/credentials/new";
  for (const stale of [
    await post({ csrf: "x", next }),
    await visitorOf(scene.port).post("/oauth/v2/authorize_login_check", { ...fields, next }),
  ]) {
    assert.equal(stale.status, 200);
    assert.match(stale.text, /the page was open too long/);
    assert.match(stale.text, /value="admin"/);
    assert.ok(stale.text.includes(`name="next" value="${next}"`));
    assert.ok(!stale.text.includes(PASSWORD));
  }
  assert.equal((await person.get("/authorisations")).status, 303);
  assert.equal((await post({})).status, 303);
});

test("a user who signed in in another tab goes on to the wanted page", async () => {
  const person = visitorOf(scene.port);
  await person.get("/oauth/v2/authorize_login");
  const csrf = person.csrf();
  await person.signIn("admin", PASSWORD);
  const fields = { csrf, next: "/credentials", _username: "admin", _password: PASSWORD };
  const { status, location } = await person.post("/oauth/v2/authorize_login_check", fields);
  assert.deepEqual([status, location], [303, "/credentials"]);
});

test("a form whose session is over leads back to its page, and says that nothing was saved", async () => {
  const { location } = await visitorOf(scene.port).post("/credentials/new", { name: "Lost" });
  assert.equal(location, "/oauth/v2/authorize_login?next=%2Fcredentials%2Fnew&why=ended");
  assert.match((await visitorOf(scene.port).get(location)).text, /Your session ended/);
});

test("a sign-in leads to pages of ours and nowhere else", async () => {
  for (const next of [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/oauth/v2/authorize_login",
    "javascript:alert(1)",
    "/credentials\r\nx: y",
    "/credentialsX",
    "/credentials/../../api/contacts",
    "/credentials\u20ac",
  ])
    assert.equal((await visitorOf(scene.port).signIn("admin", PASSWORD, next)).location, "/authorisations");
  const { location } = await visitorOf(scene.port).signIn("admin", PASSWORD, "/credentials");
  assert.equal(location, "/credentials");
});

test("a session ends by signing out, after half an hour without a request, and with its user", async () => {
  const person = await scene.signedIn();
  await person.get("/authorisations");
  const cookie = person.cookie();
  await person.post("/sign-out", { csrf: await signOutToken(person) });
  person.setCookie(cookie);
  assert.equal((await person.get("/authorisations")).status, 303);

  const idle = await scene.signedIn();
  assert.equal((await idle.get("/authorisations")).status, 200);
  await scene.execute("update sessions set seen_at = now() - interval '31 minutes'");
  assert.equal((await idle.get("/authorisations")).status, 303);

  await scene.newUser("leaver");
  const leaver = visitorOf(scene.port);
  await leaver.signIn("leaver", PASSWORD);
  await scene.execute("update users set is_published = false where username = 'leaver'");
  await eventually(async () => assert.equal((await leaver.get("/authorisations")).status, 303), {
    timeoutMs: 5_000,
  });
});

async function signOutToken(person: ReturnType<typeof visitorOf>): Promise<string> {
  const { text } = await person.get("/authorisations");
  return /action="\/sign-out"><input type="hidden" name="csrf" value="([^"]*)"/.exec(text)?.[1] ?? "";
}

test("two cookies of the name are as good as none", async () => {
  const person = await scene.signedIn();
  const cookie = person.cookie();
  person.setCookie(`tidings-sid-0=${"A".repeat(43)}; ${cookie}`);
  assert.equal((await person.get("/authorisations")).status, 303);
});

test("the API knows no cookies", async () => {
  const person = await scene.signedIn();
  const response = await fetch(`${scene.base}/api/tags`, { headers: { cookie: person.cookie() } });
  assert.equal(response.status, 401);
});

test("sign-ins that failed and succeeded are noted in the audit, without the password", async () => {
  await scene.newUser("audited");
  await visitorOf(scene.port).signIn("audited", "not-this-one");
  await visitorOf(scene.port).signIn("audited", PASSWORD);
  const rows = await scene.execute(
    "select action, client_ip, details from audit where details->>'login' = 'audited' or actor_name = 'audited' order by id",
  );
  assert.deepEqual(
    rows.map(({ action, client_ip }) => `${action} ${client_ip}`),
    ["login_failed 127.0.0.1", "login 127.0.0.1", "session_opened 127.0.0.1"],
  );
  assert.ok(!JSON.stringify(rows).includes("not-this-one"));
});
