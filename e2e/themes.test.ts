import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { ZipFile } from "yazl";
import { fetchApi } from "./client.ts";
import { multipart } from "./multipart.ts";
import { newPerson, PASSWORD } from "./people.ts";
import { sharedStack } from "./shared-stack.ts";
import { authorizationOf, uploader } from "./uploader.ts";

const stack = await sharedStack();
const { api, baseUrl } = stack;
const upload = uploader(baseUrl);

type Files = Record<string, string | Buffer>;
const CONFIG = JSON.stringify({ name: "Spring", author: "Ada", features: ["page", "email"] });
const WHOLE: Files = {
  "config.json": CONFIG,
  "html/page.html": "<p>Page</p>",
  "html/email.html": "<p>Email</p>",
};

function zip(files: Files, { mode = 0o100644 } = {}): Promise<Buffer> {
  const archive = new ZipFile();
  for (const [name, content] of Object.entries(files))
    archive.addBuffer(Buffer.from(content), name, { mode });
  archive.end();
  return buffer(archive.outputStream);
}

/** An archive whose names are what no library writes: they take the place of names of the same length. */
async function renamed(files: Files, from: string, to: string): Promise<Buffer> {
  const bytes = await zip(files);
  return Buffer.from(bytes.toString("latin1").replaceAll(from, to), "latin1");
}

const send = (content: Buffer, filename = "spring.zip") => upload.form("themes/new", { filename, content });
const themes = async () =>
  JSON.parse((await api("GET", "themes")).text).themes as Record<string, Record<string, unknown>>;
const download = (key: string) =>
  fetchApi(baseUrl, { path: `themes/${key}`, headers: { authorization: authorizationOf(ADMIN) } });
const ADMIN = { username: "admin", password: "correct horse battery staple" };

test("three themes come with the product, which can be fetched and used as a start, and neither deleted nor replaced", async () => {
  const listed = await themes();
  assert.deepEqual(Object.keys(listed), ["blank", "card", "letter"]);
  assert.deepEqual(listed.blank, {
    name: "Blank",
    key: "blank",
    config: { name: "Blank", author: "Tidings", authorUrl: null, features: ["page", "email", "form"] },
  });
  for (const key of Object.keys(listed)) {
    const answer = await download(key);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/zip");
    const archive = answer.bytes;
    assert.equal((await send(archive, `${key}.zip`)).status, 400);
    assert.equal((await send(archive, `my-${key}.zip`)).status, 200);
    assert.equal((await api("DELETE", `themes/${key}/delete`)).status, 400);
    assert.equal((await api("DELETE", `themes/my-${key}/delete`)).status, 200);
  }
  assert.deepEqual(Object.keys(await themes()), ["blank", "card", "letter"]);
});

test("a theme is uploaded, listed, fetched as it was, replaced and deleted", async () => {
  const archive = await zip(WHOLE);
  const { status, text } = await send(archive, "Spring Letters.zip");
  assert.deepEqual([status, text], [200, '{"success":true}']);
  const key = "spring-letters";
  assert.deepEqual((await themes())[key]?.config, {
    name: "Spring",
    author: "Ada",
    authorUrl: null,
    features: ["page", "email"],
  });
  assert.deepEqual((await download(key)).bytes, archive);
  const other = await zip({ ...WHOLE, "config.json": CONFIG.replace("Spring", "Summer") });
  assert.equal((await send(other, "Spring Letters.zip")).status, 200);
  assert.equal((await themes())[key]?.name, "Summer");
  assert.deepEqual((await download(key)).bytes, other);
  assert.equal((await api("DELETE", `themes/${key}/delete`)).status, 200);
  assert.equal((await api("DELETE", `themes/${key}/delete`)).status, 404);
  assert.equal((await download(key)).status, 404);
});

test("an archive that is no theme, or tries to be more, is refused and kept nowhere", async () => {
  const bomb = Buffer.alloc(4_000_000);
  const link = await zip({ ...WHOLE, "html/form.html": "/etc/passwd" }, { mode: 0o120777 });
  const whole = await zip(WHOLE);
  const cases: Record<string, Buffer> = {
    "no archive": Buffer.from("hello"),
    "cut off": whole.subarray(0, whole.length - 30),
    "no configuration": await zip({ "html/page.html": "a" }),
    "a configuration that is no JSON": await zip({ ...WHOLE, "config.json": "{" }),
    "a configuration that says nothing": await zip({ ...WHOLE, "config.json": "{}" }),
    "an unknown feature": await zip({ ...WHOLE, "config.json": '{"name":"A","features":["constructor"]}' }),
    "a feature without a file": await zip({ "config.json": CONFIG, "html/page.html": "a" }),
    "a large configuration": await zip({ ...WHOLE, "config.json": `${CONFIG}${" ".repeat(70_000)}` }),
    "a program": await zip({ ...WHOLE, "a.php": "<?php" }),
    "a name that leads up": await renamed(
      { ...WHOLE, "xx/xx/evil.html": "a" },
      "xx/xx/evil.html",
      "../../evil.html",
    ),
    "an absolute name": await renamed({ ...WHOLE, "x/evil.html": "a" }, "x/evil.html", "/xevil.html"),
    "a name with a backslash": await renamed({ ...WHOLE, "x/evil.html": "a" }, "x/evil.html", "x\\evil.html"),
    "the same name twice": await renamed(
      { ...WHOLE, "html/pag2.html": "a" },
      "html/pag2.html",
      "html/page.html",
    ),
    "a link": link,
    "a bomb": await zip({ ...WHOLE, "a.css": bomb }),
    "a thousand files": await zip({
      ...WHOLE,
      ...Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}.css`, ""])),
    }),
  };
  for (const [what, archive] of Object.entries(cases)) {
    const { status, text } = await send(archive);
    assert.equal(status, 400, `${what}: ${text}`);
  }
  assert.equal((await send(whole, "spring.rar")).status, 400);
  const form = (name: string) => multipart({ name, filename: "spring.zip", content: whole });
  assert.equal((await upload.send("themes/new", form("theme"))).status, 400);
  assert.equal((await upload.send("themes/new", "", {})).status, 400);
  assert.ok(!("spring" in (await themes())));
});

test("a caller who may view themes may not add or delete any", async () => {
  const { username, api: person } = await newPerson(stack, { "core:themes": ["view"] });
  assert.equal((await person("GET", "themes")).status, 200);
  const form = { filename: "spring.zip", content: await zip(WHOLE) };
  const { status } = await uploader(baseUrl, { username, password: PASSWORD }).form("themes/new", form);
  assert.equal(status, 403);
  assert.equal((await person("DELETE", "themes/letter/delete")).status, 403);
  const { api: nobody } = await newPerson(stack, {});
  assert.equal((await nobody("GET", "themes")).status, 403);
  assert.equal((await nobody("GET", "themes/blank")).status, 403);
});
