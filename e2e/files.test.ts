import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import fc from "fast-check";
import { createClient } from "./client.ts";
import { GIF, MULTIPART, multipart, PDF, PNG } from "./multipart.ts";
import { newPerson, PASSWORD } from "./people.ts";
import { query } from "./query.ts";
import { sendRaw } from "./raw-http.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";
import { authorizationOf, uploader } from "./uploader.ts";

const BYTES_MAX = 256 * 1024;

const stack = await startTestStack({ env: { content: { UPLOAD_BYTES_MAX: String(BYTES_MAX) } } });
after(() => stack.stop());
const { api, baseUrl } = stack;
const upload = uploader(baseUrl);
const AUTHORIZATION = authorizationOf(ADMINISTRATOR);

const namesIn = async (directory: string, subdir = ""): Promise<string[]> => {
  const answer = await api("GET", `files/${directory}${subdir && `?subdir=${subdir}`}`);
  assert.equal(answer.status, 200, answer.text);
  return Object.values(JSON.parse(answer.text).files);
};

/** All files below the folder of the content service. */
async function filesOnDisk(): Promise<string[]> {
  const found = await readdir(stack.filesFolder, { recursive: true, withFileTypes: true }).catch(() => []);
  return found.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Runs what must not leave anything behind. */
async function withoutTrace(work: () => Promise<unknown>): Promise<void> {
  const count = async () => [
    (await filesOnDisk()).length,
    (await query(stack.database, "select from content.files")).length,
  ];
  const before = await count();
  await work();
  await eventually(async () => assert.deepEqual(await count(), before));
}

test("an image is uploaded under a name of ours, listed, shown to everybody and deleted", async () => {
  const { name, link } = await upload.file("images.flags", "france.PNG", PNG);
  assert.match(name, /^[0-9a-f]{32}\.png$/);
  assert.equal(new URL(link ?? "").pathname, `/media/images/flags/${name}`);
  assert.deepEqual(JSON.parse((await api("GET", "files/images.flags")).text), { files: { 2: name } });
  assert.deepEqual(await namesIn("images", "flags"), [name]);
  assert.deepEqual(await namesIn("images"), ["flags"], "directories stand among the files");
  const shown = await fetch(`${baseUrl}/media/images/flags/${name}`);
  assert.equal(shown.status, 200);
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), PNG);
  assert.equal(shown.headers.get("content-type"), "image/png");
  assert.equal(shown.headers.get("x-content-type-options"), "nosniff");
  assert.match(shown.headers.get("content-security-policy") ?? "", /sandbox/);
  assert.match(shown.headers.get("cache-control") ?? "", /max-age=\d+/);
  const deleted = await api("DELETE", `files/images.flags/${name}/delete`);
  assert.deepEqual(deleted.body, { success: true });
  assert.equal((await api("DELETE", `files/images.flags/${name}/delete`)).status, 404);
  assert.equal((await fetch(`${baseUrl}/media/images/flags/${name}`)).status, 404);
  await eventually(async () => assert.ok(!(await filesOnDisk()).includes(name)));
});

test("an empty directory is an empty list, and media is another word for assets", async () => {
  assert.deepEqual(JSON.parse((await api("GET", "files/images.empty")).text), { files: [] });
  const { name, link } = await upload.file("media", "guide.pdf", PDF);
  assert.equal(link, undefined);
  assert.ok((await namesIn("assets")).includes(name));
  assert.equal(
    (await fetch(`${baseUrl}/media/assets/${name}`)).status,
    404,
    "assets have a way of their own",
  );
});

test("the extension is that of the content; text has the one it was sent with", async () => {
  const expected: [string, Buffer | string, RegExp][] = [
    ["photo.jpg", PNG, /\.png$/],
    ["script.php.png", PNG, /\.png$/],
    ["blob", GIF, /\.gif$/],
    ["CON", PDF, /\.pdf$/],
    ["people.csv", "email,name\nada@example.com,Ada", /\.csv$/],
    ["notes.txt", "Five < six & ünïcödé", /\.txt$/],
  ];
  for (const [filename, content, name] of expected)
    assert.match((await upload.file("assets", filename, content)).name, name, filename);
});

test("markup, scripts and programs are refused by any name", async () => {
  const pages = [
    "<!doctype html><html></html>",
    "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    '<?xml version="1.0"?><svg/>',
    "\ufeff  <HTML><body>",
    "hello <script>alert(1)</script>",
    "<?php system($_GET[0]); ?>",
    "#!/bin/sh\nrm -rf /",
    "MZ\u0090\u0000\u0003",
    Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]),
    "text with a \0 in it",
  ];
  const names = ["a.html", "a.svg", "a.txt", "a.csv", "a.png", "a.pdf", "a.doc", "a", "a.php", "a.png.html"];
  await withoutTrace(async () => {
    for (const content of pages)
      for (const filename of names) {
        const { status, text } = await upload.form("files/images/new", { filename, content });
        assert.equal(status, 406, `${filename}: ${String(content).slice(0, 20)}: ${text}`);
        assert.match(text, /can have only these extensions: csv, doc/);
      }
  });
});

test("a file that claims to be an image and is none is refused", async () => {
  await withoutTrace(async () => {
    for (const filename of ["a.png", "a.pdf", "a.xlsx", "a.mp3"]) {
      const { status } = await upload.form("files/images/new", { filename, content: "plain text" });
      assert.equal(status, 406, filename);
    }
  });
});

test("a body that is not one whole file is refused at once, and leaves nothing", async () => {
  const path = "files/images/new";
  const png = { filename: "a.png", content: PNG };
  const whole = multipart(png);
  const large = { filename: "a.txt", content: Buffer.alloc(BYTES_MAX + 1, "a") };
  await withoutTrace(async () => {
    const cases: [string, number, Promise<{ status: number; text: string }>][] = [
      ["nothing", 406, upload.send(path, "")],
      ["JSON", 406, upload.send(path, "{}", { "content-type": "application/json" })],
      ["a form", 406, upload.send(path, "a=b", { "content-type": "application/x-www-form-urlencoded" })],
      ["fields alone", 406, upload.form(path, { content: "a field" })],
      ["no boundary", 400, upload.send(path, whole, { "content-type": "multipart/form-data" })],
      ["another boundary", 406, upload.send(path, whole, { "content-type": `${MULTIPART}x` })],
      ["an empty file", 400, upload.form(path, { filename: "a.png", content: "" })],
      ["two files", 400, upload.form(path, png, png)],
      ["a hundred parts", 400, upload.form(path, ...Array(100).fill({ content: "a" }))],
      ["one byte too many", 413, upload.form(path, large)],
      ["far too much", 413, upload.form(path, { ...large, content: Buffer.alloc(2 * BYTES_MAX, "a") })],
      ["a long field", 200, upload.form(path, { name: "a", content: "b".repeat(20_000) }, png)],
      ...[10, whole.length - 80, whole.length - 30, whole.length - 4].map(
        (length): [string, number, Promise<{ status: number; text: string }>] => [
          `cut off at ${length}`,
          length === 10 ? 406 : 400,
          upload.send(path, whole.subarray(0, length)),
        ],
      ),
    ];
    for (const [what, status, answer] of cases) {
      const { status: got, text } = await answer;
      assert.equal(got, status, `${what}: ${text}`);
      if (got === 200) await api("DELETE", `files/images/${JSON.parse(text).file.name}/delete`);
    }
  });
});

test("a name of a file leads nowhere", async () => {
  const names = ["../../etc/passwd.png", "..\\a.png", "/etc/a.png", "a/b.png", "a\u0001b.png"];
  await withoutTrace(async () => {
    for (const filename of [...names, `${"x".repeat(300)}.png`, ""]) {
      const { status, text } = await upload.form("files/images/new", { filename, content: PNG });
      assert.ok(status === 400 || status === 406, `${filename}: ${status} ${text}`);
    }
  });
});

test("no name in a path reaches anything but what was uploaded", async () => {
  const { name } = await upload.file("images", "a.png", PNG);
  const hostile = fc.oneof(
    fc.constantFrom("..", ".", "images", "...", "images...", "images/../assets", "IMAGES", "__proto__"),
    fc.constantFrom(
      "constructor",
      "%2e%2e",
      "..%5c",
      "~",
      "CON",
      "images.a%00",
      "images.",
      ".images",
      "kept",
    ),
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc.webPath(),
  );
  const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (one, other) => {
      const headers = { authorization: AUTHORIZATION };
      const subdir = encoded(other);
      const paths = [
        ["GET", `/api/files/${encoded(one)}?subdir=${subdir}`],
        ["GET", `/api/files/images?subdir=${subdir}`],
        ["DELETE", `/api/files/${encoded(one)}/${encoded(other)}/delete`],
        ["DELETE", `/api/files/images/${encoded(other)}/delete`],
        ["GET", `/media/images/${other}`],
        ["GET", `/media/${one}/${encoded(other)}`],
      ] as const;
      for (const [method, sent] of paths) {
        const path = sent.replaceAll(/[^\x21-\x7e]/g, encoded);
        const { status, text } = await sendRaw(baseUrl, { method, path, headers });
        assert.ok(status < 500, `${method} ${path}: ${status}`);
        assert.ok(method === "GET" || status >= 400, `${method} ${path}: ${status}`);
        assert.ok(!text.includes("root:"), path);
      }
    }),
    { numRuns: 60 },
  );
  assert.ok((await namesIn("images")).includes(name));
});

test("only known directories are there", async () => {
  for (const directory of ["themes", "image", "constructor"]) {
    const { status, text } = await api("GET", `files/${encodeURIComponent(directory)}`);
    assert.ok(status === 406 || status === 404, `${directory}: ${text}`);
  }
  const { status, text } = await upload.form("files/secrets/new", { filename: "a.png", content: PNG });
  assert.equal(status, 406);
  assert.match(text, /Only media or images options are possible/);
  assert.equal((await api("GET", "files/images.a b")).status, 400);
  assert.equal((await api("PUT", "files/images/new")).status, 405);
});

test("uploading needs the right to create something that uses the file", async () => {
  const powerless = await newPerson(stack, {});
  const writer = await newPerson(stack, { "email:emails": ["create"] });
  const login = ({ username }: { username: string }) => uploader(baseUrl, { username, password: PASSWORD });
  const sent = { filename: "a.png", content: PNG };
  await withoutTrace(async () => {
    assert.equal((await login(powerless).form("files/images/new", sent)).status, 403);
    assert.equal((await login(writer).form("files/assets/new", sent)).status, 403);
  });
  await login(writer).file("images", "a.png", PNG);
});

test("files of others are neither listed, deleted nor claimed without the right to others' assets", async () => {
  const rights = { "asset:assets": ["create", "viewown", "editown", "deleteown"] };
  const [owner, other] = [await newPerson(stack, rights), await newPerson(stack, rights)];
  const of = ({ username }: { username: string }) => ({
    api: createClient(baseUrl, { username, password: PASSWORD }),
    upload: uploader(baseUrl, { username, password: PASSWORD }),
  });
  const { name } = await of(owner).upload.file("assets.mine", "guide.pdf", PDF);
  const listed = async (person: { username: string }) =>
    JSON.parse((await of(person).api("GET", "files/assets.mine")).text).files;
  assert.deepEqual(Object.values(await listed(owner)), [name]);
  assert.deepEqual(await listed(other), []);
  assert.equal((await of(other).api("DELETE", `files/assets.mine/${name}/delete`)).status, 404);
  const asset = { title: "Guide", storageLocation: "local", file: name };
  assert.equal((await of(other).api("POST", "assets/new", asset)).status, 400);
  assert.equal((await of(owner).api("POST", "assets/new", asset)).status, 201);
});

test("a picture that an email shows cannot be deleted", async () => {
  const { name, link } = await upload.file("images", "a.png", PNG);
  const email = { name: "Mail", subject: "Hello", customHtml: `<img src="${link}">` };
  const { body } = await api("POST", "emails/new", email);
  const { id } = (body as unknown as { email: { id: number } }).email;
  const refused = await api("DELETE", `files/images/${name}/delete`);
  assert.equal(refused.status, 422, refused.text);
  await api("DELETE", `emails/${id}/delete`);
  assert.equal((await api("DELETE", `files/images/${name}/delete`)).status, 200);
  await eventually(async () => assert.ok(!(await filesOnDisk()).includes(name)));
});

test("strangers and visitors upload nothing, through the gateway or past it", async () => {
  const stranger = uploader(baseUrl, { username: "nobody", password: "nothing" });
  await withoutTrace(async () => {
    const { status } = await stranger.form("files/images/new", { filename: "a.png", content: PNG });
    assert.equal(status, 401);
    const web = `http://127.0.0.1:${await webPort()}`;
    const forged = Buffer.from(
      JSON.stringify({ actor: { kind: "user", id: 1, admin: true }, aud: "content" }),
    );
    const token = `${forged.toString("base64url")}.${Buffer.alloc(64).toString("base64url")}`;
    const sent = { "content-type": MULTIPART, "tidings-actor": token };
    for (const path of ["/-/files/images", "/media/images", "/media/../-/files/images"]) {
      const body = multipart({ filename: "a.png", content: PNG });
      const throughGateway = await sendRaw(baseUrl, { method: "POST", path, headers: sent, body });
      assert.ok([400, 404, 405].includes(throughGateway.status), `${path} ${throughGateway.text}`);
      const direct = await sendRaw(web, {
        method: "POST",
        path,
        headers: { ...sent, "tidings-actor": "" },
        body,
      });
      assert.ok(direct.status >= 400, path);
    }
    const direct = await sendRaw(web, { method: "POST", path: "/-/files/images", headers: sent, body: "" });
    assert.equal(direct.status, 400);
  });
});

test("a sender that leaves in the middle, or drips, leaves nothing behind", async () => {
  const body = multipart({ filename: "a.png", content: PNG });
  const head =
    `POST /api/files/images/new HTTP/1.1\r\nHost: x\r\nAuthorization: ${AUTHORIZATION}\r\n` +
    `Content-Type: ${MULTIPART}\r\nContent-Length: ${body.length}\r\n\r\n`;
  await withoutTrace(async () => {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write(head);
    socket.write(body.subarray(0, body.length - 40));
    await eventually(async () => assert.ok((await readdir(`${stack.filesFolder}/arriving`)).length > 0));
    socket.destroy();
    await eventually(async () => assert.deepEqual(await readdir(`${stack.filesFolder}/arriving`), []));
  });
});

test("a slow upload comes through as long as it comes", async () => {
  const body = multipart({ filename: "a.txt", content: "x".repeat(100_000) });
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.write(
    `POST /api/files/assets/new HTTP/1.1\r\nHost: x\r\nAuthorization: ${AUTHORIZATION}\r\n` +
      `Content-Type: ${MULTIPART}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`,
  );
  const slices = 18;
  const size = Math.ceil(body.length / slices);
  for (let from = 0; from < body.length; from += size) {
    const slice = body.subarray(from, from + size);
    socket.write(`${slice.length.toString(16)}\r\n`);
    socket.write(slice);
    socket.write("\r\n");
    await pause(1_000); // longer in all than a body that is read into memory may take
  }
  socket.write("0\r\n\r\n");
  await eventually(() =>
    assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1.1 200 .*"name":"[0-9a-f]{32}.txt"/s),
  );
});

test("a type of content that nobody asked for does not matter, nor does the name of the part", async () => {
  const sent = { name: "whatever", filename: "a.gif", type: "text/html", content: GIF };
  const { status, text } = await upload.form("files/images/new", sent);
  assert.equal(status, 200, text);
  const { name } = JSON.parse(text).file;
  const shown = await fetch(`${baseUrl}/media/images/${name}`);
  assert.equal(shown.headers.get("content-type"), "image/gif");
});

test("an uploaded file is there after the content service was killed and came back", async () => {
  const { name } = await upload.file("images", "a.png", PNG);
  const content = stack.process("content");
  content.kill("SIGKILL");
  await eventually(async () => {
    const { status } = await upload.form("files/images/new", { filename: "a.png", content: PNG });
    assert.equal(status, 503);
  });
  await content.restart();
  await eventually(async () => assert.ok((await namesIn("images")).includes(name)));
  const [path] = (await filesOnDisk()).filter((file) => file === name);
  assert.ok(path);
  assert.deepEqual(await readFile(`${stack.filesFolder}/kept/${name.slice(0, 2)}/${name}`), PNG);
});

/** Where the content service serves the public web. */
async function webPort(): Promise<string> {
  const content = await readFile(`/proc/${stack.process("content").pid}/environ`, "utf8");
  return /WEB_PORT=(\d+)/.exec(content)?.[1] ?? "";
}
