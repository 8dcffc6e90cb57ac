import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { unavailable } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { type Hit, newFactId } from "./hit.ts";
import { openSpill, spillingRecorder } from "./spill.ts";

/** Hits that waited on disk, over a database of their own. */

const testDatabase = await createTestDatabase();
const log = createLog("test", "silent");
const database = openDatabase({ url: testDatabase.url("content"), log });
after(async () => {
  await database.close();
  await testDatabase.drop();
});
const query = (text: string) => database.query({ text }, [], Date.now() + 20_000);
let lastId = 0;
const options = (folder: string) => ({
  ...{ database, outbox: createOutbox(), log, folder, bytesMax: 1_000_000 },
  ids: { take: async (count: number) => Array.from({ length: count }, () => ++lastId) },
  holdHits: async (_transaction: unknown, _outbox: unknown, hits: Hit[]) => ({
    judged: hits,
    waiting: new Map(),
  }),
});

function hitAt(path: string, members: Partial<Hit> = {}): Hit {
  return {
    ...newFactId(Date.now()),
    ...{
      device: { id: path.padEnd(23, "0"), isNew: true },
      ip: "192.0.2.7",
      userAgent: "Agent/7",
      code: 200,
    },
    ...{
      url: `https://shop.example/${path}`,
      urlTitle: "",
      referer: "",
      remoteHost: "",
      query: {},
      source: "",
    },
    ...{ timeZone: "", locale: "", pageLanguage: "", browserLanguages: [], values: {}, tags: "" },
    ...{ verdict: "human" as const, reason: "" },
    ...members,
  };
}

const urls = async () => (await query("select url from page_hits order by url")).map(({ url }) => url);

test("a hit that the database refuses is put aside, and holds up neither its file nor those after it", async (t) => {
  const { path: folder, remove } = await temporaryFolder();
  t.after(remove);
  const lines = (hits: unknown[]) => hits.map((hit) => `${JSON.stringify(hit)}\n`).join("");
  const bad = hitAt("bad", { pageId: 2 ** 40 });
  const hits = [
    ...["one", "two"].map((path) => hitAt(path)),
    bad,
    { ...hitAt("odd"), at: "x" },
    hitAt("three"),
  ];
  await writeFile(join(folder, `${randomUUID()}.jsonl`), lines(hits));
  await writeFile(join(folder, `ffffffff${randomUUID().slice(8)}.jsonl`), lines([hitAt("zlast")]));
  const spill = await openSpill(options(folder));
  await eventually(async () => assert.deepEqual(await readdir(folder), ["refused.jsonl"]));
  await spill.stop();
  const expected = ["one", "three", "two", "zlast"].map((path) => `https://shop.example/${path}`);
  assert.deepEqual(await urls(), expected);
  const refused = (await readFile(join(folder, "refused.jsonl"), "utf8")).trim().split("\n");
  assert.deepEqual(
    refused.map((line) => JSON.parse(line).id),
    [bad.id, hits[3]?.id],
  );
  assert.deepEqual(await query("select name from replayed_spills"), []);
});

test("a hit of a person who may not be known counts afterwards, once, and nothing of the person is on disk", async (t) => {
  const { path: folder, remove } = await temporaryFolder();
  t.after(remove);
  await query("insert into page_redirects (redirect_id, url) values ('a', 'https://shop.example/')");
  const spill = await openSpill({ ...options(folder), log });
  const record = spillingRecorder(() => Promise.reject(unavailable("away")), spill);
  const said = {
    values: { email: "ada@spill.example" },
    query: { a: "secret" },
    referer: "https://from.example/",
  };
  await record(hitAt("unknown", { device: undefined, redirectId: 1, source: "email", sourceId: 7, ...said }));
  const [name = ""] = await readdir(folder);
  const text = await readFile(join(folder, name), "utf8");
  assert.doesNotMatch(text, /ada@|secret|from\.example|192\.0\.2\.7|Agent\/7|unknown/);
  await eventually(async () => assert.deepEqual(await readdir(folder), []));
  await spill.stop();
  assert.deepEqual(await query("select hits, unique_hits from page_redirects"), [
    { hits: "1", unique_hits: "0" },
  ]);
  // The process ended after the commit, before it removed the file.
  await query(`insert into replayed_spills values ('${name}', 1)`);
  await writeFile(join(folder, name), text);
  const next = await openSpill(options(folder));
  await eventually(async () => assert.deepEqual(await readdir(folder), []));
  await next.stop();
  assert.deepEqual(await query("select hits from page_redirects"), [{ hits: "1" }]);
  assert.deepEqual(await query("select 1 from page_hits where redirect_id = 1"), []);
});
