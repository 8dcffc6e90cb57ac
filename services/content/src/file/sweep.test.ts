import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { insertFile } from "./files.ts";
import { localStore } from "./local-store.ts";
import { newStoredName } from "./stored-name.ts";
import { sweeping } from "./sweep.ts";
import { sweepArrivals } from "./sweep-arrivals.ts";

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

test("files that belonged to nobody for a day are deleted, and nothing else", async () => {
  const kept = join(folder.path, "kept");
  const store = localStore(kept, join(folder.path, "unfinished"));
  const source = join(folder.path, "source");
  await writeFile(source, "hello");
  const upload = async (directory?: string) => {
    const name = newStoredName("txt");
    await store.put(name, source);
    const values = [name, directory, "txt", "text/plain", 5, null, 1_000, 1_000];
    if (directory) await database.query(insertFile, values, backgroundDeadline());
    return name;
  };
  const claimed = await upload("assets");
  await query("update files set asset_id = 1 where name = $1", [claimed]);
  const [unclaimed, image] = [await upload("assets/a"), await upload("images")];
  // More than one step looks at.
  const ownerless = Array.from({ length: 1_100 }, () => newStoredName("txt"));
  for (const name of ownerless) {
    await mkdir(join(kept, name.slice(0, 2)), { recursive: true });
    await writeFile(join(kept, name.slice(0, 2), name), "");
  }
  const context = { database, store, log: createLog("test", "silent") };
  const removals = async () =>
    (await query("select key from jobs where kind = 'stored_file_removal'")).map(({ key }) => key).sort();
  /** The sweep of one process of several, an hour later. */
  const sweep = async (hours: number) => {
    await query("update jobs set due_at = now() where kind = 'file_sweep'");
    const options = sweeping(context, () => Date.now() + hours * HOUR_MS);
    while (await stepJobs(options));
  };

  await sweep(23);
  assert.deepEqual(await removals(), [], "a day is not over");
  await sweep(25);
  assert.deepEqual(await removals(), [unclaimed, ...ownerless].sort());
  const rows = await query("select name from files order by name");
  assert.deepEqual(
    rows.map(({ name }) => name),
    [claimed, image].sort(),
  );
  const next = await query(
    "select due_at > now() + interval '50 minutes' as is_later, state from jobs where kind = 'file_sweep'",
  );
  assert.deepEqual(next, [{ is_later: "t", state: "waiting" }], "it is never done");
});

test("arrivals that broke off go after a day", async () => {
  const arrivals = join(folder.path, "arriving");
  await sweepArrivals(arrivals);
  await mkdir(arrivals);
  await writeFile(join(arrivals, "half"), "half a file");
  await sweepArrivals(arrivals, new Date(Date.now() + 23 * HOUR_MS));
  assert.deepEqual(await readdir(arrivals), ["half"]);
  await sweepArrivals(arrivals, new Date(Date.now() + 25 * HOUR_MS));
  assert.deepEqual(await readdir(arrivals), []);
});
