import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { Code, Fault } from "@tidings/rpc/fault";
import { type TemporaryFolder, temporaryFolder } from "@tidings/testkit/temporary-folder";
import { localStore } from "../file/local-store.ts";
import type { FileStore } from "../file/store.ts";
import { callAs, type FormScene, formScene } from "../testing/form-scene.ts";
import { submitWithFiles } from "./submit-with-files.ts";

let scene: FormScene;
let folder: TemporaryFolder;
let store: FileStore;
before(async () => {
  scene = await formScene();
  folder = await temporaryFolder();
  store = localStore(join(folder.path, "kept"), join(folder.path, "arriving"));
});
after(async () => {
  await scene.close();
  await folder.remove();
});

const CV = { label: "CV", alias: "cv", type: "file", isRequired: true };
const MAIL = { label: "Mail", alias: "mail", type: "email", isRequired: true };

async function send(
  form: Awaited<ReturnType<FormScene["add"]>>,
  content: string,
  { values = {}, key = randomUUID(), into = store } = {},
) {
  const path = join(folder.path, randomUUID());
  await writeFile(path, content);
  const size = content.length;
  const sent = { form, key, ip: "192.0.2.1", values: { ...values, cv: { name: "cv.txt", size } } };
  const files = new Map([["cv", { path, size }]]);
  return submitWithFiles(scene.submitting, into, { sent, files }, callAs());
}
const kept = async () => {
  const names: string[] = [];
  for await (const { name } of store.list()) names.push(name);
  return names;
};
const isFault = (code: Code, reason: RegExp) => (error: unknown) =>
  error instanceof Fault && error.code === code && reason.test(error.message);

test("all files of forms together have a limit: beyond it none is kept, and those that are deleted make room", async () => {
  const form = await scene.add({ fields: [CV] });
  await send(form, "x".repeat(600));
  const before = await kept();
  await assert.rejects(send(form, "x".repeat(600)), isFault(Code.INVALID_ARGUMENT, /No files can be taken/));
  assert.deepEqual(await kept(), before);
  await scene.rows.delete(form.id, callAs());
  while (await stepJobs(scene.upkeep));
  const other = await scene.add({ fields: [CV] });
  await send(other, "x".repeat(600));
});

test("nothing is stored of a submission that another field makes invalid", async () => {
  const form = await scene.add({ fields: [CV, MAIL] });
  const untouched: FileStore = { ...store, put: () => assert.fail("stored") };
  await assert.rejects(send(form, "text", { into: untouched }), isFault(Code.INVALID_ARGUMENT, /required/));
});

test("a store that takes nothing fails the submission as unavailable, and nothing is taken", async () => {
  const form = await scene.add({ fields: [CV] });
  const broken: FileStore = { ...store, put: () => Promise.reject(new Error("no space left")) };
  await assert.rejects(send(form, "text", { into: broken }), isFault(Code.UNAVAILABLE, /./));
  assert.deepEqual(await scene.query("select 1 from form_submissions where form_id = $1", [form.id]), []);
});

test("the same submission again leaves the bytes of the first alone", async () => {
  const form = await scene.add({ fields: [CV] });
  const key = randomUUID();
  const first = await send(form, "text", { key });
  const before = await kept();
  const second = await send(form, "text", { key });
  assert.equal(second.submissionId, first.submissionId);
  assert.deepEqual(await kept(), before);
});
