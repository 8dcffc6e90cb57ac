import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { CALLBACK, codeFields, codeFor, refreshFields, startOAuthScene } from "../testing/oauth-scene.ts";
import { PASSWORD } from "../testing/scene.ts";
import { visitorOf } from "../testing/visitor.ts";

const scene = await startOAuthScene();
after(scene.stop);
const admin = await scene.signedIn();
const person = async (username: string, rights: string[]) => {
  await scene.newUser(username, { "api:clients": rights });
  const visitor = visitorOf(scene.port);
  await visitor.signIn(username, PASSWORD);
  return visitor;
};
const shown = (text: string) => ({
  publicId: /\d+_[\w-]{32}/.exec(text)?.[0] ?? "",
  secret: /tdg_cs_[\w-]{43}/.exec(text)?.[0] ?? "",
});
const FIELDS = {
  name: "Shop",
  kind: "confidential",
  grants: ["authorization_code", "refresh_token"],
  redirectUris: CALLBACK,
};

describe("a new credential", () => {
  test("shows its secret once, and works", async () => {
    await admin.get("/credentials/new");
    const { status, text } = await admin.post("/credentials/new", FIELDS);
    assert.equal(status, 200);
    const client = { id: 0, ...shown(text) };
    assert.equal((await scene.token(codeFields(client, await codeFor(admin, client)))).status, 200);
    const list = await admin.get("/credentials");
    assert.ok(list.text.includes(client.publicId));
    assert.ok(!list.text.includes("tdg_cs_"));
    assert.match(list.text, /last used: \d{4}-/);
  });

  test("a public credential has no secret", async () => {
    await admin.get("/credentials/new");
    const { text } = await admin.post("/credentials/new", { ...FIELDS, kind: "public" });
    assert.ok(shown(text).publicId);
    assert.equal(shown(text).secret, "");
  });

  for (const [what, fields, message] of [
    ["no name", { name: " " }, "A name is required."],
    ["no redirect URI", { redirectUris: "" }, "Enter at least one redirect URI"],
    ["plain http", { redirectUris: "http://app.example/x" }, "cannot be used"],
    ["a wildcard", { redirectUris: "https://*.app.example/x" }, "cannot be used"],
    ["a fragment", { redirectUris: "https://app.example/x#y" }, "cannot be used"],
    ["a login", { redirectUris: "https://a@app.example/x" }, "cannot be used"],
    ["a script", { redirectUris: "javascript:alert(1)" }, "cannot be used"],
    ["two bad addresses", { redirectUris: "http://a.example b" }, "http://a.example and b cannot be used"],
    ["no grant", { grants: [] }, "Choose at least one."],
    ["a refresh token alone", { grants: ["refresh_token"] }, "“Stay connected” needs"],
    ["a public app on its own", { kind: "public", grants: ["client_credentials"] }, "has no secret"],
    [
      "a role that is not there",
      { grants: ["client_credentials"], role: "999999" },
      "The role is not there.",
    ],
    ["no role for an app on its own", { grants: ["client_credentials"] }, "Choose a role"],
    ["a role for another app", { role: "1" }, "A role is only for"],
    ["a name that turns the text around", { name: "Kind\u202eApp" }, "characters that cannot be seen"],
    ["our own name", { name: " TIDINGS " }, "cannot be called Tidings"],
  ] as [string, Record<string, string | string[]>, string][]) {
    test(`with ${what} is refused; the form is shown again with what was filled in`, async () => {
      await admin.get("/credentials/new");
      const { status, text } = await admin.post("/credentials/new", { ...FIELDS, name: "Kept", ...fields });
      assert.equal(status, 422);
      assert.ok(text.includes(message), text);
      if (fields.name === undefined) assert.ok(text.includes('value="Kept"'));
      assert.ok(!/tdg_cs_/.test(text));
    });
  }

  test("the name of a credential is shown as text", async () => {
    await admin.get("/credentials/new");
    await admin.post("/credentials/new", { ...FIELDS, name: "<script>alert(1)</script>" });
    assert.ok(!(await admin.get("/credentials")).text.includes("<script>"));
  });
});

test("a credential is made once, however often its form is sent", async () => {
  await admin.get("/credentials/new");
  const first = await admin.post("/credentials/new", { ...FIELDS, name: "Only One" });
  const again = await admin.post("/credentials/new", { ...FIELDS, name: "Only One" });
  assert.deepEqual([first.status, again.status], [200, 409]);
  assert.match(again.text, /This was done already/);
  assert.ok(!again.text.includes("tdg_cs_"));
  const rows = await scene.execute("select 1 from oauth_clients where name = 'Only One'");
  assert.equal(rows.length, 1);
});

test("a secret is made once for each page that was opened: a reload leaves it as it is", async () => {
  const client = await scene.newClient();
  await admin.get("/credentials");
  const { secret } = shown((await admin.post(`/credentials/${client.id}/secret`, {})).text);
  const again = await admin.post(`/credentials/${client.id}/secret`, {});
  assert.equal(again.status, 409);
  assert.equal(shown(again.text).secret, "");
  assert.equal((await scene.token(refreshFields({ ...client, secret }, "x"))).body.error, "invalid_grant");
});

test("the secret before works for a day where that is wanted, and no longer", async () => {
  const client = await scene.newClient();
  const tried = async () => (await scene.token(refreshFields(client, "x"))).body.error;
  await admin.get("/credentials");
  await admin.post(`/credentials/${client.id}/secret`, { overlap: "day" });
  assert.equal(await tried(), "invalid_grant");
  await scene.execute("update oauth_clients set previous_secret_until = now() where id = $1", [client.id]);
  assert.equal(await tried(), "invalid_client");
});

test("a credential gets another name and other addresses, and keeps its id, secret and tokens", async () => {
  const client = await scene.newClient();
  const { body } = await scene.token(codeFields(client, await codeFor(admin, client)));
  const path = `/credentials/${client.id}/edit`;
  assert.match((await admin.get(path)).text, /value="App"/);
  const refused = await admin.post(path, { name: "Renamed", redirectUris: "http://app.example" });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /value="Renamed"/);
  const redirectUris = `${CALLBACK}\nhttps://other.example/back`;
  const saved = await admin.post(path, { name: "Renamed", redirectUris });
  assert.equal(saved.location, "/credentials?notice=saved");
  assert.match((await admin.get(saved.location)).text, /The credential was saved/);
  const [row] = await scene.execute("select name, redirect_uris from oauth_clients where id = $1", [
    client.id,
  ]);
  assert.deepEqual(row, { name: "Renamed", redirect_uris: `{${CALLBACK},https://other.example/back}` });
  assert.equal((await scene.token(refreshFields(client, body.refresh_token))).status, 200);
});

test("a rotated secret replaces the one before", async () => {
  const client = await scene.newClient();
  await admin.get("/credentials");
  const { text } = await admin.post(`/credentials/${client.id}/secret`, {});
  const { secret } = shown(text);
  assert.equal((await scene.token(refreshFields(client, "x"))).body.error, "invalid_client");
  assert.equal((await scene.token(refreshFields({ ...client, secret }, "x"))).body.error, "invalid_grant");
});

test("a deleted credential is gone with all its tokens", async () => {
  const client = await scene.newClient();
  const { body } = await scene.token(codeFields(client, await codeFor(admin, client)));
  await admin.get("/credentials");
  assert.equal(
    (await admin.post(`/credentials/${client.id}/delete`, {})).location,
    "/credentials?notice=deleted",
  );
  const rows = await scene.execute("select 1 from oauth_grants where client_id = $1", [client.id]);
  assert.equal(rows.length, 0);
  const { error } = (await scene.token(refreshFields(client, body.refresh_token))).body;
  assert.equal(error, "invalid_client");
});

describe("rights", () => {
  test("without api:clients nothing is shown or done", async () => {
    const client = await scene.newClient();
    const visitor = await person("nobody", []);
    await visitor.get("/authorisations");
    for (const path of ["/credentials", "/credentials/new", `/credentials/${client.id}/edit`]) {
      const { status, text } = await visitor.get(path);
      assert.equal(status, 403);
      assert.match(text, /Sign out/, "the menu stays");
      assert.ok(!text.includes('href="/credentials"'), "what is refused is not offered");
    }
    for (const path of [`${client.id}/secret`, `${client.id}/delete`, `${client.id}/edit`, "new"])
      assert.equal((await visitor.post(`/credentials/${path}`, FIELDS)).status, 403);
  });

  test("view alone shows the list and no way to change it", async () => {
    const client = await scene.newClient();
    const visitor = await person("viewer", ["view"]);
    const { status, text } = await visitor.get("/credentials");
    assert.equal(status, 200);
    assert.ok(text.includes(client.publicId));
    assert.doesNotMatch(text, /\/credentials\/(new|\d)/);
  });

  test("only an administrator makes an app with rights of its own, or learns the secret of one", async () => {
    const machine = await scene.newClient({ grants: ["client_credentials"], redirectUris: [], roleId: 1 });
    const visitor = await person("manager", ["full"]);
    await visitor.get("/credentials/new");
    const fields = { ...FIELDS, grants: ["client_credentials"], role: "1" };
    assert.equal((await visitor.post("/credentials/new", fields)).status, 403);
    assert.equal((await visitor.post(`/credentials/${machine.id}/secret`, {})).status, 403);
    assert.equal((await visitor.post("/credentials/new", FIELDS)).status, 200);
  });

  test("a form without the token of the session changes nothing, and what was typed is shown again", async () => {
    const client = await scene.newClient();
    const forged = { ...FIELDS, name: "Forged", csrf: "x" };
    for (const path of [`${client.id}/secret`, `${client.id}/delete`])
      assert.equal((await admin.post(`/credentials/${path}`, forged)).location, "/credentials?notice=stale");
    for (const path of [`${client.id}/edit`, "new"]) {
      const { text } = await admin.post(`/credentials/${path}`, forged);
      assert.match(text, /open too long/);
      assert.match(text, /value="Forged"/);
    }
    const rows = await scene.execute("select 1 from oauth_clients where name = 'Forged'");
    assert.equal(rows.length, 0);
    assert.equal(
      (await admin.post(`/credentials/${client.id}/delete`, {}, { origin: "https://evil.example" })).status,
      403,
    );
    assert.equal((await scene.token(refreshFields(client, "x"))).body.error, "invalid_grant");
  });

  test("a visitor who is not signed in is sent to the sign-in", async () => {
    const { status, location } = await visitorOf(scene.port).get("/credentials");
    assert.deepEqual([status, location], [303, "/oauth/v2/authorize_login?next=%2Fcredentials"]);
  });
});

test("changes of a credential are noted in the audit, without its secret", async () => {
  await admin.get("/credentials/new");
  const { text } = await admin.post("/credentials/new", { ...FIELDS, name: "Audited" });
  const id = shown(text).publicId.split("_")[0];
  await admin.get("/credentials");
  await admin.post(`/credentials/${id}/secret`, {});
  await admin.post(`/credentials/${id}/delete`, {});
  const rows = await scene.execute(
    `select action, actor_name, details from audit
     where object_type = 'oauth_client' and object_id = $1 order by id`,
    [id],
  );
  assert.deepEqual(
    rows.map(({ action, actor_name }) => `${action} ${actor_name}`),
    ["create Admin User", "rotate_secret Admin User", "delete Admin User"],
  );
  assert.ok(!JSON.stringify(rows).includes("tdg_cs_"));
});
