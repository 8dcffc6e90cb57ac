import assert from "node:assert/strict";
import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { startS3 } from "@tidings/embedded/s3";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import type { Answer, Entity } from "./client.ts";
import { GIF, PDF, PNG } from "./multipart.ts";
import { make } from "./people.ts";
import { query } from "./query.ts";
import { startTestStack } from "./stack.ts";
import { uploader } from "./uploader.ts";

const ALL_BYTES_MAX = 500_000;

// Here all that is uploaded is in a bucket; e2e/files.test.ts has it in a folder.
await using cleanup = new AsyncDisposableStack();
const folder = cleanup.adopt(await temporaryFolder(), ({ remove }) => remove());
const s3 = cleanup.adopt(await startS3({ dataDir: folder.path }), ({ stop }) => stop());
/** The bucket as its server keeps it. */
const bucket = join(folder.path, "files", s3.bucket);
const stack = cleanup.adopt(
  await startTestStack({
    env: {
      content: {
        OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
        PUBLIC_URL: "https://www.example",
        UPLOADS_BYTES_MAX: String(ALL_BYTES_MAX),
        FILES_S3_URL: s3.url,
        FILES_S3_REGION: s3.region,
        FILES_S3_BUCKET: s3.bucket,
        FILES_S3_ACCESS_KEY: s3.accessKey,
        FILES_S3_SECRET_KEY: s3.secretKey,
      },
    },
  }),
  ({ stop }) => stop(),
);
const started = cleanup.move();
after(() => started.disposeAsync());
const { api } = stack;
const upload = uploader(stack.baseUrl);

let count = 0;
const newFile = () => upload.file("assets", "guide.pdf", PDF);
const bodyOf = (file: string, members: object = {}) => ({
  title: `Asset ${++count}`,
  storageLocation: "local",
  file,
  ...members,
});
const newAsset = (file: string, members: object = {}) => make(api, "assets", "asset", bodyOf(file, members));
const assetOf = ({ body }: Answer): Entity => (body as unknown as { asset: Entity }).asset;
const read = async (id: number) => assetOf(await api("GET", `assets/${id}`));
const remove = (id: number) => api("DELETE", `assets/${id}/delete`);

/** Is the upload of this name kept? */
async function isKept(name: string): Promise<boolean> {
  return (await readdir(bucket)).includes(name);
}

test("an asset has its file's properties and its download URL", async () => {
  const { name } = await newFile();
  const asset = await newAsset(name, { title: "The Guide" });
  const { extension, mime, size, downloadUrl, revision, downloadCount, uniqueDownloadCount } = asset;
  assert.deepEqual([extension, mime, size], ["pdf", "application/pdf", PDF.length]);
  assert.equal(downloadUrl, `https://www.example/asset/${asset.id}:the-guide`);
  assert.deepEqual([revision, downloadCount, uniqueDownloadCount], [1, 0, 0]);
  assert.deepEqual([asset.storageLocation, asset.language, asset.disallow], ["local", "en", true]);
  const edited = assetOf(await api("PATCH", `assets/${asset.id}/edit`, { description: "New" }));
  assert.deepEqual([edited.revision, edited.file, edited.size], [2, name, PDF.length]);
});

test("a file is needed, and has to have been uploaded as an asset", async () => {
  const { status, body } = await api("POST", "assets/new", { title: "A" });
  assert.equal(status, 400);
  assert.match(body.errors[0]?.message ?? "", /File of the asset is required\./);
  const image = await upload.file("images", "a.gif", GIF);
  for (const file of [image.name, "../../etc/passwd", "nothing.pdf", "a\\b", "x".repeat(2_000)]) {
    const refused = await api("POST", "assets/new", bodyOf(file));
    assert.equal(refused.status, 400, file);
    assert.match(refused.body.errors[0]?.message ?? "", /was not found in the asset directory\./);
  }
});

test("a file is one asset's: not another's, in one batch neither, nor of those that come at the same time", async () => {
  const { name } = await newFile();
  const batch = await api("POST", "assets/batch/new", [bodyOf(name), bodyOf(name)]);
  const { statusCodes } = batch.body as unknown as { statusCodes: number[] };
  assert.deepEqual(statusCodes, [201, 400], batch.text);
  assert.equal((await api("POST", "assets/new", bodyOf(name))).status, 400);
  const { name: wanted } = await newFile();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => api("POST", "assets/new", bodyOf(wanted))),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(400)]);
});

test("a file that an asset has is in no directory any more, and nobody deletes it there", async () => {
  const { name } = await newFile();
  const { id } = await newAsset(name);
  assert.ok(!(await api("GET", "files/assets")).text.includes(name));
  assert.equal((await api("DELETE", `files/assets/${name}/delete`)).status, 404);
  assert.equal((await read(id)).file, name);
  assert.ok(await isKept(name));
});

test("a deleted asset takes its file along, and leaves the emails it was attached to", async () => {
  const [first, second] = [await newFile(), await newFile()];
  const [gone, stays] = [await newAsset(first.name), await newAsset(second.name)];
  const members = { name: "A", subject: "B", assetAttachments: [gone.id, stays.id] };
  const email = await make(api, "emails", "email", members);
  assert.deepEqual(email.assetAttachments, [gone.id, stays.id]);
  const deleted = await remove(gone.id);
  assert.equal(deleted.status, 200);
  assert.equal(assetOf(deleted).id, null);
  const shown = await api("GET", `emails/${email.id}`);
  const { assetAttachments } = (shown.body as unknown as { email: Entity }).email;
  assert.deepEqual(assetAttachments, [stays.id]);
  await eventually(async () => assert.equal(await isKept(first.name), false));
  assert.ok(await isKept(second.name));
});

test("an asset that gets another file, or goes elsewhere, lets go of the one it had, in a batch too", async () => {
  const [first, second, third] = [await newFile(), await newFile(), await newFile()];
  const { id } = await newAsset(first.name);
  const edits = [second, third].map(({ name }) => ({ id, file: name }));
  assert.equal((await api("PATCH", "assets/batch/edit", edits)).status, 200);
  assert.equal((await read(id)).file, third.name);
  await eventually(async () => assert.equal(await isKept(first.name), false));
  const remote = { storageLocation: "remote", file: "https://files.invalid/a/guide.DOCX?b=c.d" };
  const moved = assetOf(await api("PATCH", `assets/${id}/edit`, remote));
  assert.deepEqual([moved.extension, moved.size], ["docx", null]);
  assert.match(String(moved.mime), /wordprocessingml/);
  await eventually(async () => assert.equal(await isKept(third.name), false));
  assert.ok(
    (await api("GET", "files/assets")).text.includes(second.name),
    "nobody's upload waits for somebody",
  );
});

test("a write that fails takes no file", async () => {
  const [first, second] = [await newFile(), await newFile()];
  const { id } = await newAsset(first.name);
  const refused = await api("PATCH", `assets/${id}/edit`, { file: second.name, title: "" });
  assert.equal(refused.status, 400);
  assert.equal((await read(id)).file, first.name);
  await newAsset(second.name);
  assert.ok(await isKept(first.name));
});

test("the file of a remote asset is a URL; its server is asked for type and size, and holds up nobody", async () => {
  for (const file of ["nowhere", "ftp://example.com/a.pdf", "javascript:alert(1)", "file:///etc/passwd"]) {
    const { status, body } = await api("POST", "assets/new", bodyOf(file, { storageLocation: "remote" }));
    assert.equal(status, 400, file);
    assert.deepEqual(body.errors[0]?.details, { remotePath: ["The remote should be a valid URL."] });
  }
  const server = await startReceiver({
    respond: ({ path }) =>
      path === "/silent"
        ? { status: 500 }
        : { status: 200, headers: { "content-type": "video/mp4; a=b" }, body: "12345" },
  });
  const remote = (path: string) => newAsset(`${server.url}${path}`, { storageLocation: "remote" });
  const [said, silent] = [await remote("/film.mp4"), await remote("/silent")];
  await eventually(async () => {
    const { mime, extension } = await read(said.id);
    assert.deepEqual([mime, extension], ["video/mp4", "mp4"]);
  });
  assert.equal((await read(silent.id)).size, null);
  assert.ok(server.requests.every(({ method }) => method === "HEAD"));
  await server.stop();
});

test("servers that hang delay the measuring of nothing but their own assets", async () => {
  const hanging = await Promise.all(
    Array.from({ length: 8 }, () => startReceiver({ respond: () => new Promise(() => undefined) })),
  );
  const honest = await startReceiver({
    respond: () => ({ status: 200, headers: { "content-type": "video/mp4" } }),
  });
  for (const { url } of hanging)
    for (let index = 0; index < 4; index += 1)
      await newAsset(`${url}/${index}`, { storageLocation: "remote" });
  const { id } = await newAsset(`${honest.url}/film.mp4`, { storageLocation: "remote" });
  await eventually(async () => assert.equal((await read(id)).mime, "video/mp4"));
  const [left] = await query(
    stack.database,
    "select count(*) from content.jobs where kind = 'asset_measure'",
  );
  assert.ok(Number(left?.count) > 0, "the others are asked still");
  await Promise.all([...hanging, honest].map(({ stop }) => stop()));
});

test("an image is shown out of the bucket, and its object goes with it", async () => {
  const { name } = await upload.file("images", "a.png", PNG);
  const shown = await fetch(`${stack.baseUrl}/media/images/${name}`);
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), PNG);
  assert.ok(await isKept(name));
  await api("DELETE", `files/images/${name}/delete`);
  await eventually(async () => assert.equal(await isKept(name), false));
});

test("objects that belong to nothing are swept, those of a day", async () => {
  const [old, fresh] = [`${"0".repeat(32)}.txt`, `${"1".repeat(32)}.txt`];
  for (const name of [old, fresh]) await writeFile(join(bucket, name), "");
  const days = new Date(Date.now() - 2 * 86_400_000);
  await utimes(join(bucket, old), days, days);
  await query(stack.database, "update content.jobs set due_at = now() where kind = 'file_sweep'");
  await eventually(async () => assert.equal(await isKept(old), false));
  assert.ok(await isKept(fresh));
});

test("all uploads together have so many bytes, however many come at once; what goes makes room", async () => {
  const [kept] = await query(stack.database, "select coalesce(sum(size), 0) as sum from content.files");
  const SIZE = 60_000;
  const fitting = Math.floor((ALL_BYTES_MAX - Number(kept?.sum)) / SIZE);
  const send = () => upload.form("files/images/new", { filename: "a.txt", content: "x".repeat(SIZE) });
  const answers = await Promise.all(Array.from({ length: fitting + 4 }, send));
  const taken = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 413);
  assert.deepEqual([taken.length, refused.length], [fitting, 4]);
  const [error] = JSON.parse(refused[0]?.text ?? "").errors;
  assert.deepEqual([error.code, error.details], [413, []]);
  assert.match(error.message, /All uploads together may have 500000 bytes/);
  const names = taken.map(({ text }) => JSON.parse(text).file.name as string);
  await eventually(async () => {
    const there = (await readdir(bucket)).filter((name) => name.endsWith(".txt") && !name.startsWith("1111"));
    assert.deepEqual(there.sort(), [...names].sort(), "what was refused is not kept");
  });
  await api("DELETE", `files/images/${names[0]}/delete`);
  assert.equal((await send()).status, 200);
});
