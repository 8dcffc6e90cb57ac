import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codeFields, codeFor, refreshFields, startOAuthScene } from "../testing/oauth-scene.ts";
import { purgeExpired } from "./purge.ts";

const scene = await startOAuthScene();
after(scene.stop);
const client = await scene.newClient();
const visitor = await scene.signedIn();
const count = async (table: string) =>
  Number((await scene.execute(`select count(*) as count from ${table}`))[0]?.count);

test("rows that expired long ago are deleted, and rows that still count stay", async () => {
  const old = await scene.token(codeFields(client, await codeFor(visitor, client)));
  assert.equal(old.status, 200);
  for (const table of ["oauth_tokens", "oauth_codes"])
    await scene.execute(`update ${table} set expires_at = now() - interval '8 days'`);
  await scene.execute("update oauth_grants set date_added = now() - interval '91 days'");
  await scene.execute("update sessions set seen_at = now() - interval '2 days'");
  const other = await scene.signedIn();
  const { body } = await scene.token(codeFields(client, await codeFor(other, client)));

  await purgeExpired(scene.database);
  assert.deepEqual(
    [
      await count("oauth_tokens"),
      await count("oauth_codes"),
      await count("oauth_grants"),
      await count("sessions"),
    ],
    [2, 1, 1, 1],
  );
  assert.equal((await scene.token(refreshFields(client, body.refresh_token))).status, 200);
});
