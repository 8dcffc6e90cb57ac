import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/store/database";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { insertFile } from "./files.ts";
import { localStore } from "./local-store.ts";
import { newStoredName } from "./stored-name.ts";
import { sweepFiles } from "./sweep.ts";

const HOUR_MS = 3_600_000;

let testDatabase: TestDatabase;
let database: Database;
let folder: TemporaryFolder;
before(async () => {
  folder = await temporaryFolder();
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("content"), log: createLog("test", "silent") });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
  await folder.remove();
});

const query = (text: string, values: unknown[] = []) =>
  database.query({ text }, values, backgroundDeadline());

test("what belonged to nobody for a day goes, and nothing else", async () => {
  const store = localStore(join(folder.path, "kept"));
  const source = join(folder.path, "source");
  await writeFile(source, "hello");
  const upload = async (directory?: string) => {
    const name = newStoredName("txt");
    await store.put(name, source);
    const values = [name, directory, "txt", "text/plain", 5, null];
    if (directory) await database.query(insertFile, values, backgroundDeadline());
    return name;
  };
  const claimed = await upload("assets");
  await query("update files set asset_id = 1 where name = $1", [claimed]);
  const [unclaimed, image, ownerless] = [await upload("assets/a"), await upload("images"), await upload()];
  const arrivals = join(folder.path, "arriving");
  await mkdir(arrivals);
  await writeFile(join(arrivals, "half"), "half a file");
  const context = { database, store, arrivals, log: createLog("test", "silent") };
  const kept = async () => {
    const names: string[] = [];
    for await (const { name } of store.list()) names.push(name);
    return names.sort();
  };
  const removals = async () =>
    (await query("select key from jobs where kind = 'stored_file_removal' order by key")).map(
      ({ key }) => key,
    );

  await sweepFiles(context, new Date(Date.now() + 23 * HOUR_MS));
  assert.deepEqual(await kept(), [claimed, unclaimed, image, ownerless].sort(), "a day is not over");
  assert.deepEqual(await removals(), []);
  assert.deepEqual(await readdir(arrivals), ["half"]);

  await sweepFiles(context, new Date(Date.now() + 25 * HOUR_MS));
  assert.deepEqual(await removals(), [unclaimed], "its bytes are a job's, with its row");
  assert.ok(!(await kept()).includes(ownerless));
  assert.ok((await kept()).includes(claimed) && (await kept()).includes(image));
  assert.deepEqual(await readdir(arrivals), []);
  const rows = await query("select name from files order by name");
  assert.deepEqual(
    rows.map(({ name }) => name),
    [claimed, image].sort(),
  );
});
