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
    assert.match(list.text, /<dt>Last used<\/dt><dd>\d{4}-/);
  });

  test("that is public has no secret", async () => {
    await admin.get("/credentials/new");
    const { text } = await admin.post("/credentials/new", { ...FIELDS, kind: "public" });
    assert.ok(shown(text).publicId);
    assert.equal(shown(text).secret, "");
  });

  for (const [what, fields, message] of [
    ["no name", { name: " " }, "A name is required."],
    ["no redirect URI", { redirectUris: "" }, "A valid URL is required."],
    ["plain http", { redirectUris: "http://app.example/x" }, "is not a redirect URI"],
    ["a wildcard", { redirectUris: "https://*.app.example/x" }, "is not a redirect URI"],
    ["a fragment", { redirectUris: "https://app.example/x#y" }, "is not a redirect URI"],
    ["a login", { redirectUris: "https://a@app.example/x" }, "is not a redirect URI"],
    ["a script", { redirectUris: "javascript:alert(1)" }, "is not a redirect URI"],
    ["no grant", { grants: [] }, "At least one grant is required."],
    ["a refresh token alone", { grants: ["refresh_token"] }, "Refresh tokens come with"],
    ["a public app on its own", { kind: "public", grants: ["client_credentials"] }, "has no secret"],
    [
      "a role that is not there",
      { grants: ["client_credentials"], role: "999999" },
      "The role is not there.",
    ],
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

  test("what it is called is shown as text", async () => {
    await admin.get("/credentials/new");
    await admin.post("/credentials/new", { ...FIELDS, name: "<script>alert(1)</script>" });
    assert.ok(!(await admin.get("/credentials")).text.includes("<script>"));
  });
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
  assert.equal((await admin.post(`/credentials/${client.id}/delete`, {})).location, "/credentials");
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
    for (const path of ["/credentials", "/credentials/new"])
      assert.equal((await visitor.get(path)).status, 403);
    for (const path of [`${client.id}/secret`, `${client.id}/delete`, "new"])
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

  test("a form without the token of the session changes nothing", async () => {
    const client = await scene.newClient();
    for (const path of [`${client.id}/secret`, `${client.id}/delete`, "new"])
      assert.equal((await admin.post(`/credentials/${path}`, { ...FIELDS, csrf: "x" })).status, 403);
    assert.equal((await scene.token(refreshFields(client, "x"))).body.error, "invalid_grant");
  });

  test("whoever is not signed in is sent to the sign-in", async () => {
    const { status, location } = await visitorOf(scene.port).get("/credentials");
    assert.deepEqual([status, location], [303, "/oauth/v2/authorize_login?next=%2Fcredentials"]);
  });
});

test("what happens to a credential is noted in the audit, without its secret", async () => {
  await admin.get("/credentials/new");
  const { text } = await admin.post("/credentials/new", { ...FIELDS, name: "Audited" });
  const id = shown(text).publicId.split("_")[0];
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
