import assert from "node:assert/strict";
import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { mailFolder } from "./mail-folder.ts";

const folders = new AsyncDisposableStack();
after(() => folders.disposeAsync());

async function folderOf(count: number): Promise<string> {
  const { path } = folders.adopt(await temporaryFolder(), ({ remove }) => remove());
  for (let number = 1; number <= count; number++) await keep(path, number);
  return path;
}

const idOf = (number: number) => `01a218a0-0000-7000-8000-${String(number).padStart(12, "0")}@mail.example`;

/** Keeps a mail, a second later than the one before it. */
async function keep(path: string, number: number, subject = `Mail ${number}`): Promise<void> {
  const file = join(path, `${idOf(number)}.eml`);
  const head = `X-Envelope-From: <shop@mail.example>\r\nX-Envelope-To: <a${number}@example.org>, <copy@example.org>\r\n`;
  await writeFile(file, `${head}From: Shop <shop@mail.example>\r\nSubject: ${subject}\r\n\r\nHello`);
  await utimes(file, 1_700_000_000 + number, 1_700_000_000 + number);
}

const PAGE = { search: "", after: "", count: 2 };

test("the pages of a folder have each mail once, the latest first, also when mails come and go meanwhile", async () => {
  const path = await folderOf(5);
  const folder = mailFolder(path);
  const first = await folder.list(PAGE);
  assert.deepEqual(
    first.mails.map(({ id, subject, from, to }) => [id, subject, from, to]),
    [5, 4].map((number) => [
      idOf(number),
      `Mail ${number}`,
      "Shop <shop@mail.example>",
      `a${number}@example.org, copy@example.org`,
    ]),
  );
  await keep(path, 6);
  await folder.remove(first.mails);
  const second = await folder.list({ ...PAGE, after: first.next });
  assert.deepEqual(
    second.mails.map(({ subject }) => subject),
    ["Mail 3", "Mail 2"],
  );
  const last = await folder.list({ ...PAGE, after: second.next });
  assert.deepEqual([last.mails.map(({ subject }) => subject), last.next], [["Mail 1"], ""]);
  assert.equal((await folder.list(PAGE)).mails[0]?.subject, "Mail 6");
});

test("a search finds parts of the decoded subject, the sender and every recipient, whatever their case", async () => {
  const path = await folderOf(2);
  await keep(path, 3, "=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=");
  const folder = mailFolder(path);
  const found = async (search: string) => (await folder.list({ ...PAGE, search, count: 10 })).mails.length;
  assert.deepEqual(
    await Promise.all(["grüß", "SHOP@", "A2@example", "copy@", "nobody"].map(found)),
    [1, 3, 1, 3, 0],
  );
});

test("the oldest mails beyond the bound are deleted, and files that are no mails of ours stay", async () => {
  const path = await folderOf(5);
  const others = ["notes.txt", "letter.eml", `${idOf(9)}.eml.part`];
  for (const name of others) await writeFile(join(path, name), "Subject: Other\r\n\r\n");
  const folder = mailFolder(path, 3);
  const kept = await folder.bounded();
  assert.deepEqual(
    kept.map(({ subject }) => subject),
    ["Mail 5", "Mail 4", "Mail 3"],
  );
  assert.deepEqual(
    (await readdir(path)).toSorted(),
    [...[3, 4, 5].map((number) => `${idOf(number)}.eml`), ...others].toSorted(),
  );
});

test("a folder that is not there yet has no mails, and no id leads out of the folder", async () => {
  const path = await folderOf(1);
  assert.deepEqual(await mailFolder(join(path, "none")).list(PAGE), { mails: [], next: "" });
  for (const id of ["../x", idOf(2), "__proto__", ""])
    assert.equal(await mailFolder(path).find(id), undefined);
});
