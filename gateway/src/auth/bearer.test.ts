import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { rateLimiter } from "../limits/rate-limit.ts";
import { codeFields, codeFor, startOAuthScene } from "../testing/oauth-scene.ts";
import { AUTHORIZATION, PASSWORD } from "../testing/scene.ts";
import { visitorOf } from "../testing/visitor.ts";

const logged: string[] = [];
const scene = await startOAuthScene({
  log: createLog("gateway", "debug", { write: (line) => logged.push(line) }),
});
after(scene.stop);
const client = await scene.newClient();
const admin = await scene.signedIn();
const newToken = async (person = admin) =>
  (await scene.token(codeFields(client, await codeFor(person, client)))).body.access_token;
const token = await newToken();

interface Sent {
  method?: string;
  path?: string;
  authorization?: string;
  form?: Record<string, string>;
}
const send = async ({ method = "GET", path = "/api/tags", authorization, form }: Sent) => {
  const response = await fetch(`${scene.base}${path}`, {
    method,
    headers: { ...(authorization && { authorization }) },
    ...(form && { body: new URLSearchParams(form) }),
  });
  const body = (await response.json()) as { errors?: { type: string; message: string }[] };
  const challenge = response.headers.get("www-authenticate") ?? "";
  return { status: response.status, error: body.errors?.[0], challenge };
};

describe("a token", () => {
  test("is taken from the header, in any case of the scheme", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      assert.equal((await send({ authorization: `${scheme} ${token}` })).status, 200);
  });

  test("is taken from the query of a GET only", async () => {
    const path = `/api/tags?access_token=${token}`;
    assert.equal((await send({ path })).status, 200);
    const post = await send({
      method: "POST",
      path: `/api/tags/new?access_token=${token}`,
      form: { tag: "a" },
    });
    assert.equal(post.status, 401);
  });

  test("is taken from the form of a POST, whose other fields still count", async () => {
    const form = { access_token: token, tag: "from a form" };
    assert.equal((await send({ method: "POST", path: "/api/tags/new", form })).status, 201);
    assert.equal((await send({ method: "PUT", path: "/api/tags/1/edit", form })).status, 401);
  });

  test("a token that is sent in two ways, or beside a password, is 400", async () => {
    const query = `?access_token=${token}`;
    const form = { access_token: token, tag: "twice" };
    const authorization = `Bearer ${token}`;
    for (const sent of [
      { path: `/api/tags${query}`, authorization },
      { path: `/api/tags${query}`, authorization: AUTHORIZATION },
      { path: `/api/tags${query}&access_token=x` },
      { method: "POST", path: "/api/tags/new", form, authorization },
      { method: "POST", path: `/api/tags/new${query}`, form },
      { method: "POST", path: `/api/tags/new${query}`, authorization },
    ]) {
      const { status, error } = await send(sent);
      assert.deepEqual([status, error?.type], [400, "invalid_request"]);
      assert.equal(
        error?.message,
        "Only one method may be used to authenticate at a time (Auth header, GET or POST).",
      );
    }
  });

  test("a token that was changed, cut, made up or is of another kind is 401 with the reason in the challenge", async () => {
    const { body } = await scene.token(codeFields(client, await codeFor(admin, client)));
    for (const wrong of [`${token}A`, token.slice(0, -1), token.toLowerCase(), "x", "", body.refresh_token]) {
      const { status, error, challenge } = await send({ authorization: `Bearer ${wrong}` });
      assert.deepEqual(
        [status, error?.type, error?.message],
        [401, "invalid_grant", "The access token provided is invalid."],
        wrong,
      );
      assert.match(challenge, /^Basic .*, Bearer realm="Tidings API", error="invalid_token"/);
    }
  });

  test("an expired token has an error of its own; the clock of the database counts", async () => {
    const expiring = await newToken();
    await scene.execute(
      "update oauth_tokens set expires_at = now() where grant_id = (select max(id) from oauth_grants)",
    );
    const { status, error } = await send({ authorization: `Bearer ${expiring}` });
    assert.deepEqual(
      [status, error?.type, error?.message],
      [401, "invalid_grant", "The access token provided has expired."],
    );
  });

  test("none at all is 401 without an error in the challenge", async () => {
    const { status, challenge } = await send({});
    assert.equal(status, 401);
    assert.doesNotMatch(challenge, /error/);
  });
});

describe("within five seconds nothing is let in any more", () => {
  const untilRefused = (accessToken: string) =>
    eventually(
      async () => assert.equal((await send({ authorization: `Bearer ${accessToken}` })).status, 401),
      { timeoutMs: 5_000, intervalMs: 100 },
    );

  test("with a token whose grant the user took back", async () => {
    const known = await newToken();
    await send({ authorization: `Bearer ${known}` });
    await admin.get("/authorisations");
    assert.equal((await admin.post(`/authorisations/${client.id}/revoke`, {})).status, 303);
    await untilRefused(known);
  });

  test("with a token of a user who was disabled", async () => {
    await scene.newUser("leaver");
    const person = visitorOf(scene.port);
    await person.signIn("leaver", PASSWORD);
    const known = await newToken(person);
    assert.notEqual((await send({ authorization: `Bearer ${known}` })).status, 401);
    await scene.execute("update users set is_published = false where username = 'leaver'");
    await untilRefused(known);
  });

  test("with a token of a client that was deleted", async () => {
    const app = await scene.newClient();
    const { body } = await scene.token(codeFields(app, await codeFor(admin, app)));
    await send({ authorization: `Bearer ${body.access_token}` });
    await admin.get("/credentials");
    assert.equal((await admin.post(`/credentials/${app.id}/delete`, {})).status, 303);
    await untilRefused(body.access_token);
  });
});

test("made-up tokens are counted by address, good ones only once", async () => {
  const anonymous = rateLimiter({ name: "anonymous", points: 3, windowSeconds: 60, redis: undefined });
  const limited = await startOAuthScene({ rates: { anonymous, principal: undefined, keys: anonymous } });
  after(limited.stop);
  const app = await limited.newClient();
  const person = await limited.signedIn();
  const good = (await limited.token(codeFields(app, await codeFor(person, app)))).body.access_token;
  for (let count = 0; count < 10; count += 1) assert.equal((await limited.callApi(good)).status, 200);
  const statuses = [];
  for (let count = 0; count < 4; count += 1)
    statuses.push((await limited.callApi(`made-up-${count}`)).status);
  assert.deepEqual(statuses, [401, 401, 429, 429]);
  assert.equal((await limited.callApi(good)).status, 200);
});

test("no token, code or secret is ever logged", () => {
  assert.ok(logged.length > 20, "nothing was logged at all");
  const all = logged.join("");
  assert.ok(!/tdg_|access_token=|code=/.test(all), "a secret was logged");
});
