import assert from "node:assert/strict";
import { after, test } from "node:test";
import { backgroundDeadline, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { appendAudit } from "./audit.ts";

const testDatabase = await createTestDatabase();
const database = openDatabase({ url: testDatabase.url("identity"), log: createLog("identity", "silent") });
after(async () => {
  await database.close();
  await testDatabase.drop();
});
const execute = (text: string) => database.query({ text }, [], backgroundDeadline());

const entry = {
  action: "test",
  actor: { kind: "user", id: 1, name: "Ada" },
  clientIp: "1.1.1.1",
  objectType: "user",
  objectId: "1",
  details: { what: "it" },
};

test("entries of the audit stay as they are", async () => {
  await database.transaction(backgroundDeadline(), (transaction) => appendAudit(transaction, [entry]));
  for (const text of ["update audit set action = 'other'", "delete from audit", "truncate audit"])
    await assert.rejects(execute(text), text);
  assert.deepEqual(await execute("select action, actor_name from audit"), [
    { action: "test", actor_name: "Ada" },
  ]);
});

test("a change that is rolled back is not noted", async () => {
  const undone = database.transaction(backgroundDeadline(), async (transaction) => {
    await appendAudit(transaction, [{ ...entry, action: "undone" }]);
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  assert.deepEqual(await execute("select 1 from audit where action = 'undone'"), []);
});
