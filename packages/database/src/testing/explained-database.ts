import { after } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { type Database, openDatabase } from "../database.ts";

/**
 * A database of its own for the tests of a file, with the schema of a process, until they are over. It has one connection: the plans that
 * are made first are those that are kept, and its prepared statements can be explained.
 */
export async function openExplained(
  schema: string,
): Promise<{ testDatabase: TestDatabase; database: Database }> {
  const testDatabase = await createTestDatabase();
  const log = createLog("test", "silent");
  const database = openDatabase({ url: testDatabase.url(schema), log, connectionsMax: 1 });
  after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  return { testDatabase, database };
}
