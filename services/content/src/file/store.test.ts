import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { type S3, startS3 } from "@tidings/embedded/s3";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import fc from "fast-check";
import { bucketStore } from "./bucket-store.ts";
import { localStore } from "./local-store.ts";
import type { FileStore } from "./store.ts";
import { newStoredName } from "./stored-name.ts";

let folder: TemporaryFolder;
let server: S3;
before(async () => {
  folder = await temporaryFolder();
  server = await startS3({ dataDir: join(folder.path, "s3") });
});
after(async () => {
  await server.stop();
  await folder.remove();
});

const stores: Record<string, () => FileStore | Promise<FileStore>> = {
  "a folder": () => localStore(join(folder.path, "kept"), join(folder.path, "arriving")),
  "a bucket": () => bucketStore(server),
};

async function sourceOf(content: string): Promise<string> {
  const path = join(folder.path, newStoredName("txt"));
  await writeFile(path, content);
  return path;
}

async function namesIn(store: FileStore, after?: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of store.list(after)) names.push(name);
  return names;
}

for (const [kind, open] of Object.entries(stores))
  describe(kind, () => {
    test("gives back what it was given, lists it, and forgets it", async () => {
      const store = await open();
      const [name, other] = [newStoredName("txt"), newStoredName("png")];
      await store.put(name, await sourceOf("hello"));
      await store.put(other, await sourceOf("other"));
      const bytes = await store.open(name);
      assert.equal(bytes && (await buffer(bytes)).toString(), "hello");
      const [first = "", second] = [name, other].sort();
      assert.deepEqual(await namesIn(store), [first, second]);
      assert.deepEqual(await namesIn(store, first), [second]);
      for await (const { keptAt } of store.list())
        assert.ok(Math.abs(Date.now() - keptAt.getTime()) < 60_000);
      await store.delete(name);
      await store.delete(name);
      assert.equal(await store.open(name), undefined);
      assert.deepEqual(await namesIn(store), [other]);
      await store.delete(other);
      store.close();
    });

    test("a byte range of a file is opened alone, from its first byte to its last", async () => {
      const store = await open();
      const content = Array.from({ length: 200_000 }, (_, index) =>
        String.fromCharCode(97 + (index % 26)),
      ).join("");
      const [name, missing] = [newStoredName("txt"), newStoredName("txt")];
      await store.put(name, await sourceOf(content));
      const last = content.length - 1;
      const ranges = [
        { start: 0, end: 0 },
        { start: 0, end: last },
        { start: last, end: last },
        { start: 70_000, end: 140_000 },
      ];
      for (const { start, end } of ranges) {
        const bytes = await store.open(name, { start, end });
        assert.equal(
          bytes && (await buffer(bytes)).toString(),
          content.slice(start, end + 1),
          `${start}-${end}`,
        );
      }
      assert.equal(await store.open(missing, { start: 0, end: 1 }), undefined);
      await store.delete(name);
      store.close();
    });

    test("a file that cannot be read is not kept", async () => {
      const store = await open();
      await assert.rejects(store.put(newStoredName("txt"), join(folder.path, "nothing")));
      assert.deepEqual(await namesIn(store), []);
      store.close();
    });

    test("no name but ours reaches anything", async () => {
      const store = await open();
      const secret = await sourceOf("secret");
      const near = newStoredName("txt");
      const hostile = fc.oneof(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.constantFrom("..", ".", "", "/etc/passwd", "../s3/server.log", secret, "a/../../b", `../${near}`),
        fc.constantFrom(
          `${near}/`,
          `${near}\n`,
          `${near}\0`,
          near.toUpperCase(),
          `${near}/../../x`,
          `x${near}`,
        ),
      );
      await fc.assert(
        fc.asyncProperty(hostile, async (name) => {
          for (const act of [() => store.put(name, secret), () => store.open(name), () => store.delete(name)])
            await assert.rejects(async () => act(), /not a name of the store/);
        }),
      );
      assert.deepEqual(await namesIn(store), []);
      assert.ok((await readdir(folder.path)).includes(secret.split("/").at(-1) ?? ""));
      store.close();
    });
  });
