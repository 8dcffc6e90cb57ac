import assert from "node:assert/strict";
import { after, test } from "node:test";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { sealSecrets } from "@tidings/secrets/sealing";
import { generateSecretKey, secretBox } from "@tidings/secrets/secret-box";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { webhookSecrets } from "./secrets.ts";

const testDatabase = await createTestDatabase();
const database = openDatabase({ url: testDatabase.url("webhook"), log: createLog("webhook", "silent") });
after(() => database.close().then(testDatabase.drop));

const query = (text: string, values: unknown[] = []) =>
  database.query({ text }, values, backgroundDeadline());

test("a key is replaced: what it sealed is sealed under its successor, after which nobody needs it", async () => {
  const [old, next] = [generateSecretKey("old"), generateSecretKey("next")];
  const secrets = Array.from({ length: 600 }, (_, index) => `secret ${index}`);
  const sealed = secrets.map((secret) => secretBox([old]).seal(secret));
  await query(
    `insert into webhooks (is_published, date_added, name, webhook_url, secret, triggers)
     select true, now(), 'CRM', 'https://example.com/', secret, '[]' from unnest($1::text[]) as secret`,
    [sealed],
  );
  await sealSecrets(database, webhookSecrets, secretBox([next, old]));
  const rows = await query("select secret from webhooks order by id");
  const { open } = secretBox([next]);
  assert.deepEqual(
    rows.map(({ secret }) => open(secret ?? "")),
    secrets,
  );
});
