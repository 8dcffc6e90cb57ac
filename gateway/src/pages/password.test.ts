import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startOAuthScene } from "../testing/oauth-scene.ts";
import { PASSWORD, startScene } from "../testing/scene.ts";
import { visitorOf } from "../testing/visitor.ts";

const scene = await startOAuthScene();
after(scene.stop);

const NEW_PASSWORD = "Lantern-Orchid-77-Quay";

async function personNamed(username: string) {
  await scene.newUser(username);
  const person = visitorOf(scene.port);
  await person.signIn(username, PASSWORD);
  return person;
}

test("a person changes their password: this browser stays signed in, every other one is out", async () => {
  const person = await personNamed("changer");
  const elsewhere = visitorOf(scene.port);
  await elsewhere.signIn("changer", PASSWORD);
  await person.get("/password");
  const fields = { current: PASSWORD, password: NEW_PASSWORD, confirm: NEW_PASSWORD };
  const { location } = await person.post("/password", fields);
  assert.equal(location, "/password?notice=password");
  assert.match((await person.get(location)).text, /Your password was changed/);
  assert.equal((await elsewhere.get("/authorisations")).status, 303);
  assert.equal((await visitorOf(scene.port).signIn("changer", PASSWORD)).status, 422);
  assert.equal((await visitorOf(scene.port).signIn("changer", NEW_PASSWORD)).status, 303);
});

test("not without the present password, nor to one that is easily guessed", async () => {
  const person = await personNamed("keeper");
  await person.get("/password");
  for (const [fields, message] of [
    [{ current: "wrong", password: NEW_PASSWORD, confirm: NEW_PASSWORD }, /present password is not right/],
    [{ current: PASSWORD, password: NEW_PASSWORD, confirm: "other" }, /do not match/],
    [{ current: PASSWORD, password: "secret", confirm: "secret" }, /stronger password/],
  ] as const) {
    const { status, text } = await person.post("/password", fields);
    assert.equal(status, 422);
    assert.match(text, message);
    assert.match(text, /aria-describedby="current-problem"/);
  }
});

test("signing out everywhere else keeps this browser's session alone", async () => {
  const person = await personNamed("tidy");
  const elsewhere = visitorOf(scene.port);
  await elsewhere.signIn("tidy", PASSWORD);
  await person.get("/password");
  assert.equal((await person.post("/password/sessions", {})).location, "/password?notice=sessions");
  assert.equal((await person.get("/authorisations")).status, 200);
  assert.equal((await elsewhere.get("/authorisations")).status, 303);
});

const ACCEPT = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test("a browser is answered with pages, and a program with JSON", async () => {
  const get = (path: string, headers: Record<string, string>) =>
    fetch(`${scene.base}${path}`, { headers, redirect: "manual" });
  for (const path of ["/no/such/page/there", "/Credentials", "/credentials/1"]) {
    const answer = await get(path, ACCEPT);
    assert.equal(answer.status, 404, path);
    assert.match(answer.headers.get("content-type") ?? "", /text\/html/, path);
    assert.match((await get(path, {})).headers.get("content-type") ?? "", /application\/json/, path);
  }
  assert.match((await get("/api/nope", ACCEPT)).headers.get("content-type") ?? "", /application\/json/);
  for (const path of ["/credentials/7/secret", "/credentials/7/delete"])
    assert.equal((await get(path, ACCEPT)).headers.get("location"), "/credentials", path);
});

test("pages that are switched off, and forms that cannot be read, answer in a person's words", async () => {
  const off = await startScene({ isEnabled: false });
  const { status, text } = await fetchPage(off.port, "/authorisations", {});
  assert.equal(status, 403);
  assert.match(text, /<h1>Switched off<\/h1>/);
  await off.stop();
  const body = { method: "POST", body: "x", headers: { ...ACCEPT, "content-type": "text/plain" } };
  const unreadable = await fetchPage(scene.port, "/oauth/v2/authorize_login_check", body);
  assert.equal(unreadable.status, 400);
  assert.match(unreadable.text, /This form could not be read/);
});

async function fetchPage(port: number, path: string, init: RequestInit) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: ACCEPT, ...init });
  return { status: response.status, text: await response.text() };
}

test("answers have Strict-Transport-Security where the public URL is https", async () => {
  const secure = await startScene({ apiOrigin: "https://tidings.example" });
  const { headers } = await fetch(`http://127.0.0.1:${secure.port}/oauth/v2/authorize_login`);
  assert.match(headers.get("strict-transport-security") ?? "", /max-age=\d{7,}/);
  await secure.stop();
  const plain = await fetch(`${scene.base}/oauth/v2/authorize_login`);
  assert.equal(plain.headers.get("strict-transport-security"), null);
});
