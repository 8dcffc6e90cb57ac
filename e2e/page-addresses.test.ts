import assert from "node:assert/strict";
import { after, test } from "node:test";
import { make } from "./people.ts";
import { query } from "./query.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** The one address of each page, with its category and language before the alias, on two replicas. */

const stack = await startVisitedStack({
  hasOwnHost: true,
  replicas: { gateway: 2, content: 2 },
  env: { content: { PAGE_PREFIXES: "category,language", DO_NOT_TRACK_404_ANONYMOUS: "true" } },
});
after(() => stack.stop());
const { api, baseUrl, database, publicUrl, gateways } = stack;
const { host } = new URL(publicUrl);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const browse = (url = baseUrl) => visitor(url, { host });
const newPage = (members: object): Promise<Any> =>
  make(api, "pages", "page", { isPublished: true, customHtml: "<p>Text</p>", ...members });
const codesOf = async (where: string) =>
  (await query(database, `select code from content.page_hits where ${where} order by id`)).map(
    ({ code }) => code,
  );

test("a page has one address, to which all its others lead, and which it names itself", async () => {
  const category = await make(api, "categories", "category", { title: "Offers", bundle: "page" });
  const page = await newPage({ title: "Spring", category: category.id });
  const german = await newPage({ title: "Frühling", language: "de", translationParent: page.id });
  for (const path of ["/spring?a=1", "/en/spring?a=1", "/en/offers/spring?a=1", "/x/y/spring?a=1"]) {
    const { status, headers } = await browse().ask(path);
    assert.deepEqual([status, headers.location], [301, "/offers/en/spring?a=1"], path);
  }
  assert.deepEqual(await codesOf(`page_id = ${page.id}`), [301, 301, 301, 301]);
  const shown = await browse().ask("/offers/en/spring?a=1");
  assert.equal(shown.status, 200);
  const address = `${publicUrl}/offers/en/spring`;
  assert.equal(shown.headers.link, `<${address}>; rel="canonical"`);
  assert.ok(shown.text.includes(`<link rel="canonical" href="${address}">`));
  const other = `${publicUrl}/de/${german.alias}`;
  assert.ok(shown.text.includes(`<link rel="alternate" hreflang="de" href="${other}">`));
  const translated = await browse().ask("/offers/en/spring", { headers: { "accept-language": "de" } });
  assert.deepEqual([translated.status, translated.headers.location], [302, `/de/${german.alias}`]);
});

test("a category whose alias begins another address is left out of the addresses of its pages", async () => {
  const category = await make(api, "categories", "category", { title: "Asset", bundle: "page" });
  await newPage({ title: "Inside", category: category.id });
  assert.equal((await browse().ask("/en/inside")).status, 200);
});

test("links to pages, in pages and in what forms answer, are their addresses", async () => {
  const target = await newPage({ title: "Target", language: "fr" });
  const page = await newPage({
    title: "Links",
    customHtml: `<a href="{pagelink=${target.id}}">x</a>{pagelink=9999999999}`,
  });
  assert.ok((await browse().ask("/en/links")).text.includes(`href="${publicUrl}/fr/target"`));
  const form = await make(api, "forms", "form", {
    name: "Onward",
    postAction: "redirect",
    postActionProperty: `{pagelink=${target.id}}`,
    fields: [{ label: "First", alias: "first", type: "text" }],
  });
  const answer = await browse().ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "svcform[first]=Ada",
  });
  assert.equal(answer.json.redirect, `${publicUrl}/fr/target`);
  assert.ok(page.id);
});

test("the first visit after an edit shows the edit on every replica", async () => {
  const page = await newPage({ title: "Edited", customHtml: "text 0" });
  const replicas = gateways.map((gateway) => browse(gateway.baseUrl));
  for (let edit = 1; edit <= 5; edit += 1) {
    for (const replica of replicas)
      assert.match((await replica.ask("/en/edited")).text, new RegExp(`text ${edit - 1}`));
    await api("PATCH", `pages/${page.id}/edit`, { customHtml: `text ${edit}` });
    for (const replica of replicas)
      assert.match((await replica.ask("/en/edited")).text, new RegExp(`text ${edit}`));
  }
  await api("PATCH", `pages/${page.id}/edit`, { isPublished: false });
  for (const replica of replicas) assert.equal((await replica.ask("/en/edited")).status, 401);
});

test("with DO_NOT_TRACK_404_ANONYMOUS an unknown address is recorded of known browsers alone", async () => {
  const known = browse();
  await known.ask("/en/target");
  await known.ask("/nowhere-known");
  const stranger = browse();
  const answer = await stranger.ask("/nowhere-new");
  assert.equal(answer.status, 404);
  assert.equal(stranger.cookies.size, 0);
  assert.deepEqual(await codesOf("url like '%/nowhere-known'"), [404]);
  assert.deepEqual(await codesOf("url like '%/nowhere-new'"), []);
});
