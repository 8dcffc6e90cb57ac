import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import fc from "fast-check";
import { contentError } from "./content-error.ts";

let folder: TemporaryFolder;
before(async () => {
  folder = await temporaryFolder();
});
after(() => folder.remove());

async function errorOf(name: string, content: string | Uint8Array): Promise<string | undefined> {
  const path = join(folder.path, "file");
  await writeFile(path, content);
  return contentError(path, name, Buffer.byteLength(content));
}

const PDF = "%PDF-1.4\n1 0 obj";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1]);
const ZIP = Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(100)]);

test("a file passes whose bytes are those of its extension, or that has no signature", async () => {
  const right: [string, string | Uint8Array][] = [
    ["a.PDF", PDF],
    ["a.png", PNG],
    ["a.jpeg", JPEG],
    ["a.jpg", JPEG],
    ["a.docx", ZIP],
    ["a.zip", ZIP],
    ["a.txt", "plain"],
    ["a.csv", "a,b\n1,2"],
    ["a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>"],
    ["a.svg", '<?xml version="1.0"?><svg/>'],
    ["a.dat2", "whatever"],
  ];
  for (const [name, content] of right) assert.equal(await errorOf(name, content), undefined, name);
});

test("a file is refused whose bytes are another format's, or lack the signature of its own", async () => {
  const wrong: [string, string | Uint8Array][] = [
    ["a.png", PDF],
    ["a.pdf", PNG],
    ["a.pdf", "plain"],
    ["a.jpg", "<script>alert(1)</script>"],
    ["a.docx", "plain"],
    ["a.xlsx", PDF],
    ["a.txt", PNG],
    ["a.txt", "<!doctype html>"],
    ["a.csv", '<?xml version="1.0"?><svg/>'],
    ["a.txt", "#!/bin/sh"],
    ["a.jar", PDF],
    ["a.md", PNG],
  ];
  for (const [name, content] of wrong)
    assert.match(
      (await errorOf(name, content)) ?? "",
      /^This is no /,
      `${name} ${String(content).slice(0, 9)}`,
    );
  assert.match((await errorOf("a.pdf", "")) ?? "", /empty/);
  assert.match((await errorOf("pdf", PDF)) ?? "", /no extension/);
});

test("no bytes under any name make the check fail", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 40 }), fc.uint8Array({ maxLength: 300 }), async (name, bytes) => {
      await errorOf(name, bytes);
    }),
    { numRuns: 150 },
  );
});
