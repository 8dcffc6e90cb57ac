import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  codeFields,
  codeFor,
  refreshFields,
  startOAuthScene,
  type TestClient,
} from "../testing/oauth-scene.ts";

const scene = await startOAuthScene();
after(scene.stop);
const client = await scene.newClient();
const visitor = await scene.signedIn();
const tokens = async () => (await scene.token(codeFields(client, await codeFor(visitor, client)))).body;
const revoke = ({ publicId, secret }: TestClient, token: string) =>
  scene.post("/oauth/v2/revoke", { client_id: publicId, client_secret: secret, token });
const statusOf = async (accessToken: string) => (await scene.callApi(accessToken)).status;

test("a revoked access token is worth nothing; its refresh token goes on", async () => {
  const { access_token, refresh_token } = await tokens();
  assert.equal((await revoke(client, access_token)).status, 200);
  assert.equal(await statusOf(access_token), 401);
  assert.equal((await scene.token(refreshFields(client, refresh_token))).status, 200);
});

test("a revoked refresh token takes its access tokens along", async () => {
  const { access_token, refresh_token } = await tokens();
  assert.equal((await revoke(client, refresh_token)).status, 200);
  assert.equal(await statusOf(access_token), 401);
  assert.equal((await scene.token(refreshFields(client, refresh_token))).body.error, "invalid_grant");
});

test("a token that is not there, or is revoked already, is a success", async () => {
  const { access_token } = await tokens();
  for (const token of ["made-up", access_token, access_token])
    assert.equal((await revoke(client, token)).status, 200);
});

test("another client's token is refused and stays good", async () => {
  const other = await scene.newClient();
  const { access_token } = await tokens();
  const { status, body } = await revoke(other, access_token);
  assert.deepEqual([status, body.error], [400, "invalid_grant"]);
  assert.equal(await statusOf(access_token), 200);
});

test("without a client, or a token, it is refused", async () => {
  assert.equal((await revoke({ ...client, secret: "x" }, "x")).body.error, "invalid_client");
  assert.equal((await revoke(client, "")).body.error, "invalid_request");
});

test("a revoked token is noted in the audit, once", async () => {
  const { refresh_token } = await tokens();
  await revoke(client, refresh_token);
  await revoke(client, refresh_token);
  const rows = await scene.execute(
    `select actor_name from audit where action = 'token_revoked'
     and object_id = (select max(id)::text from oauth_grants)`,
  );
  assert.deepEqual(rows, [{ actor_name: "Admin User" }]);
});
