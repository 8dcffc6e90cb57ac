import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  authorizePath,
  CALLBACK,
  codeFor,
  newProof,
  startOAuthScene,
  type TestClient,
} from "../testing/oauth-scene.ts";
import { PASSWORD } from "../testing/scene.ts";
import { visitorOf } from "../testing/visitor.ts";

const scene = await startOAuthScene();
after(scene.stop);
const client = await scene.newClient();
const admin = await scene.signedIn();

const openPath = (parameters: Record<string, string | undefined>, app: TestClient = client) =>
  admin.get(authorizePath(app, parameters));
const errorOf = ({ location }: { location: string }) => new URL(location).searchParams;

describe("the way back", () => {
  test("a client that is not known gets nobody sent to it", async () => {
    for (const client_id of ["", "x", "1_x", `9${client.publicId}`, `${client.publicId}x`, "0_0"]) {
      const { status, location, text } = await openPath({ client_id });
      assert.deepEqual([status, location], [400, ""], client_id);
      assert.match(text, /<h1>/);
    }
  });

  for (const redirect_uri of [
    `${CALLBACK}/`,
    `${CALLBACK}/deeper`,
    `${CALLBACK}?x=1`,
    `${CALLBACK}#x`,
    "https://app.example/callback/../x",
    "https://app.example",
    "https://app.example:8443/callback",
    "http://app.example/callback",
    "https://app.example@evil.example/callback",
    "https://evil.example/callback",
    "https://app.example.evil.example/callback",
    "https://APP.example/callback",
    "https://app.example/%63allback",
    "//app.example/callback",
    "javascript:alert(1)",
  ]) {
    test(`no browser is redirected to ${redirect_uri}`, async () => {
      const { status, location } = await openPath({ redirect_uri });
      assert.deepEqual([status, location], [400, ""]);
    });
  }

  test("a redirect URI or client that is sent twice is refused on a page", async () => {
    for (const twice of ["redirect_uri=https://evil.example", `client_id=${client.publicId}`]) {
      const { status, location } = await admin.get(`${authorizePath(client)}&${twice}`);
      assert.deepEqual([status, location], [400, ""]);
    }
  });

  test("the redirect URI may be left out only when one is registered", async () => {
    assert.equal((await openPath({ redirect_uri: undefined })).status, 200);
    const two = await scene.newClient({ redirectUris: [CALLBACK, "https://app.example/other"] });
    assert.equal((await openPath({ redirect_uri: undefined }, two)).status, 400);
    assert.equal((await openPath({}, two)).status, 200);
  });

  test("the state comes back to the letter, and the query of the redirect URI stays", async () => {
    const state = `a b&c=d"<script>'#ü%`;
    const redirect_uri = "https://app.example/callback?tenant=1";
    const app = await scene.newClient({ redirectUris: [redirect_uri] });
    const path = authorizePath(app, { redirect_uri, state });
    const page = await admin.get(path);
    assert.ok(!page.text.includes("<script>"));
    const { location, status } = await admin.post(path, { accepted: "1" });
    const { searchParams } = new URL(location);
    assert.deepEqual([status, searchParams.get("tenant"), searchParams.get("state")], [303, "1", state]);
  });
});

describe("the client receives the error of a request that cannot be granted", () => {
  const { challenge } = newProof();
  for (const [what, parameters, error] of [
    ["response_type=token", { response_type: "token" }, "unsupported_response_type"],
    ["no response_type", { response_type: undefined }, "invalid_request"],
    ["a scope", { scope: "all" }, "invalid_scope"],
    ["a plain challenge", { code_challenge: challenge, code_challenge_method: "plain" }, "invalid_request"],
    ["a challenge without a method", { code_challenge: challenge }, "invalid_request"],
    ["a method without a challenge", { code_challenge_method: "S256" }, "invalid_request"],
    ["a short challenge", { code_challenge: "x", code_challenge_method: "S256" }, "invalid_request"],
  ] as [string, Record<string, string | undefined>, string][]) {
    test(`${what} is ${error}, with the state`, async () => {
      const answer = await openPath({ state: "s", ...parameters });
      assert.equal(answer.status, 303, answer.text);
      assert.ok(answer.location.startsWith(`${CALLBACK}?`));
      assert.deepEqual([errorOf(answer).get("error"), errorOf(answer).get("state")], [error, "s"]);
    });
  }

  test("a public client without a challenge, and a client without the grant", async () => {
    const app = await scene.newClient({ isPublic: true });
    assert.equal(errorOf(await openPath({}, app)).get("error"), "invalid_request");
    const machine = await scene.newClient({ grants: ["client_credentials"] });
    assert.equal(errorOf(await openPath({}, machine)).get("error"), "unauthorized_client");
  });
});

describe("the answer of the user", () => {
  test("a visitor who is not signed in signs in first and comes back", async () => {
    const app = await scene.newClient();
    const person = visitorOf(scene.port);
    const path = authorizePath(app, { state: "s" });
    const sent = await person.get(path);
    assert.equal(sent.status, 303);
    assert.ok(sent.location.startsWith("/oauth/v2/authorize_login?next="));
    const page = await person.get(sent.location);
    assert.match(
      page.headers.get("content-security-policy") ?? "",
      /form-action 'self' https:\/\/app\.example;/,
    );
    const next = /name="next" value="([^"]*)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const fields = { next, _username: "admin", _password: PASSWORD };
    const back = await person.post("/oauth/v2/authorize_login_check", fields);
    assert.deepEqual([back.status, back.location], [303, path]);
    assert.match((await person.get(path)).text, /Let <bdi>App<\/bdi> use Tidings as you\?/);
  });

  test("the client receives a refusal, and the next time the user is asked again", async () => {
    const app = await scene.newClient();
    const path = authorizePath(app, { state: "s" });
    await admin.get(path);
    const answer = await admin.post(path, { rejected: "1" });
    assert.equal(answer.status, 303);
    const parameters = errorOf(answer);
    assert.deepEqual(
      [parameters.get("error"), parameters.get("error_description"), parameters.get("state")],
      ["access_denied", "The user denied access to your application", "s"],
    );
    assert.equal((await admin.get(path)).status, 200);
  });

  test("yes is remembered for this client and user; a revocation forgets it", async () => {
    const app = await scene.newClient();
    await codeFor(admin, app);
    const path = authorizePath(app);
    const { status, location } = await admin.get(path);
    assert.equal(status, 303);
    assert.ok(new URL(location).searchParams.get("code"));
    await scene.newUser("second");
    const person = visitorOf(scene.port);
    await person.signIn("second", PASSWORD);
    assert.equal((await person.get(path)).status, 200);
    await admin.get("/authorisations");
    await admin.post(`/authorisations/${app.id}/revoke`, {});
    assert.equal((await admin.get(path)).status, 200);
  });

  test("an app on a device is asked for each time", async () => {
    const redirect_uri = "http://127.0.0.1/callback";
    const app = await scene.newClient({ isPublic: true, redirectUris: [redirect_uri] });
    const { challenge } = newProof();
    const parameters = { redirect_uri, code_challenge: challenge, code_challenge_method: "S256" };
    await codeFor(admin, app, parameters);
    assert.equal((await openPath(parameters, app)).status, 200);
  });

  test("a user without api:access:full lets nobody in", async () => {
    await scene.newUser("limited", { "lead:leads": ["full"] });
    const person = visitorOf(scene.port);
    await person.signIn("limited", PASSWORD);
    const { status, location, text } = await person.get(authorizePath(client, { state: "s" }));
    assert.deepEqual([status, location], [403, ""]);
    assert.match(text, /Sign in as somebody else/);
    // The app is not left waiting.
    assert.match(text, /href="https:\/\/app\.example\/callback\?error=access_denied&amp;[^"]*state=s"/);
  });

  test("only a form of this session counts, sent from its own page", async () => {
    const app = await scene.newClient();
    const path = authorizePath(app);
    await admin.get(path);
    const token = admin.csrf();
    const stranger = await scene.signedIn();
    await stranger.get(path);
    for (const csrf of ["", "x", stranger.csrf(), token.slice(1)]) {
      const shownAgain = await admin.post(path, { accepted: "1", csrf });
      assert.deepEqual([shownAgain.status, shownAgain.location], [200, ""]);
      assert.match(shownAgain.text, /open too long/);
    }
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
    ] as Record<string, string>[])
      assert.equal((await admin.post(path, { accepted: "1", csrf: token }, headers)).status, 403);
    assert.equal((await admin.post(path, { accepted: "1", csrf: token })).status, 303);
  });
});

test("every page forbids scripts, frames and foreign resources, and is not kept", async () => {
  const app = await scene.newClient();
  for (const path of [
    authorizePath(app),
    "/oauth/v2/authorize?client_id=x",
    "/credentials",
    "/credentials/new",
    "/password",
    "/authorisations",
  ]) {
    const { headers, text } = await admin.get(path);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(
      policy,
      /^default-src 'none'; img-src data:; style-src 'sha256-[^']+'; form-action 'self'/,
      path,
    );
    assert.match(policy, /frame-ancestors 'none'; base-uri 'none'$/);
    assert.equal(headers.get("x-frame-options"), "DENY");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("referrer-policy"), "same-origin");
    assert.match(headers.get("content-type") ?? "", /^text\/html/);
    assert.doesNotMatch(text, /<script|style="|onclick|undefined|\[object/);
  }
});

test("a consent, given or denied, is noted in the audit", async () => {
  const app = await scene.newClient();
  const path = authorizePath(app);
  await admin.get(path);
  await admin.post(path, { rejected: "1" });
  await codeFor(admin, app);
  const rows = await scene.execute(
    "select action, actor_name from audit where object_type = 'oauth_client' and object_id = $1 order by id",
    [String(app.id)],
  );
  assert.deepEqual(
    rows.map(({ action, actor_name }) => `${action} ${actor_name}`),
    ["create null", "consent_denied Admin User", "consent_given Admin User"],
  );
});
