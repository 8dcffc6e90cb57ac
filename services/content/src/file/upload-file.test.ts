import assert from "node:assert/strict";
import { createServer, type IncomingMessage, request as open } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { localStore } from "./local-store.ts";
import type { SaveOnce } from "./save-once.ts";
import type { FileStore } from "./store.ts";
import { type UploadContext, uploadFile } from "./upload-file.ts";

const MEGABYTE = 1024 * 1024;
const ACTOR = { kind: "user" as const, id: 1, name: "Ada", admin: true, permissions: {} };

let testDatabase: TestDatabase;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let database: Database;
let folder: TemporaryFolder;
let store: FileStore;
let context: UploadContext;
const saveOnce: SaveOnce = async (_arrived, save) => ({ answer: await save(), isReplayed: false });
const outcomes: PromiseSettledResult<unknown>[] = [];
const server = createServer(async (request: IncomingMessage, response) => {
  outcomes.push(
    ...(await Promise.allSettled([
      uploadFile(context, request, { actor: ACTOR, directory: "assets", saveOnce }),
    ])),
  );
  response.end();
});

before(async () => {
  folder = await temporaryFolder();
  testDatabase = await createTestDatabase();
  proxy = await startProxy(testDatabase.url("content"));
  database = openDatabase({ url: proxy.url, log: createLog("test", "silent") });
  const arrivals = join(folder.path, "arriving");
  store = localStore(join(folder.path, "kept"), arrivals);
  const limits = { bytesMax: MEGABYTE, allBytesMax: MEGABYTE, userBytesMax: MEGABYTE };
  context = { database, store, arrivals, publicUrl: "https://www.example", ...limits };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await database.close();
  await proxy.stop();
  await testDatabase.drop();
  await folder.remove();
});

async function upload(content: string): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const head = 'content-disposition: form-data; name="file"; filename="a.txt"';
  await new Promise<void>((resolve, reject) =>
    open({ port, method: "POST", headers }, (response) => response.resume().on("end", resolve))
      .on("error", reject)
      .end(`--b\r\n${head}\r\n\r\n${content}\r\n--b--\r\n`),
  );
}

test("an upload whose COMMIT got no answer keeps its bytes, since its row may be there", async () => {
  proxy.swallowCommits();
  await upload("hello");
  assert.equal(outcomes.at(-1)?.status, "rejected");
  proxy.recover();
  const rows = await database.query({ text: "select name from files" }, [], backgroundDeadline());
  assert.equal(rows.length, 1);
  assert.ok(await store.open(rows[0]?.name ?? ""), "the bytes of the row are there");
});

test("an upload for which there is no room leaves neither row nor bytes", async () => {
  await upload("x".repeat(MEGABYTE - 4));
  assert.equal(outcomes.at(-1)?.status, "rejected");
  const names: string[] = [];
  for await (const { name } of store.list()) names.push(name);
  assert.equal(names.length, 1);
});
