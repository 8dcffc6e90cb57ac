import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { openDatabase } from "../database.ts";
import { byteaArray, textArray } from "./binary-array.ts";

test("arrays in binary format arrive as they were sent: quotes, commas, nulls, other alphabets, nothing", async () => {
  const testDatabase = await createTestDatabase();
  const database = openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
  const json = async (text: string, values: unknown[]) => {
    const [row] = await database.query({ text }, values, Date.now() + 5_000);
    return JSON.parse(row?.json ?? "");
  };
  const texts = ['a "quoted", {braced} \\ text', null, "", "Ünï \u{1f40c}", "x".repeat(100_000)];
  assert.deepEqual(await json("select to_json($1::text[]) as json", [textArray(texts)]), texts);
  assert.deepEqual(await json("select to_json($1::text[]) as json", [textArray([])]), []);
  const bytes = [Buffer.from([0, 255, 92, 39]), Buffer.alloc(0)];
  const encoded =
    "select json_agg(encode(b, 'hex') order by i) as json from unnest($1::bytea[]) with ordinality u (b, i)";
  assert.deepEqual(await json(encoded, [byteaArray(bytes)]), ["00ff5c27", ""]);
  await database.close();
  await testDatabase.drop();
});
