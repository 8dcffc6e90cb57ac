import assert from "node:assert/strict";
import { test } from "node:test";
import { make, newPerson } from "./people.ts";
import { query } from "./query.ts";
import { sharedStack } from "./shared-stack.ts";
import { visitor } from "./visitor.ts";

/** How A/B tests of pages stand, and how they end. */

const stack = await sharedStack();
const { api, baseUrl, database, publicUrl } = stack;
const { host } = new URL(publicUrl);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const browse = (agent?: string) => visitor(baseUrl, { host, ...(agent && { agent }) });
const newPage = (members: object): Promise<Any> =>
  make(api, "pages", "page", { isPublished: true, customHtml: "<p>Text</p>", ...members });
const pageNow = async (id: number): Promise<Any> => ((await api("GET", `pages/${id}`)).body as Any).page;
const testOf = async (id: number): Promise<Any> => {
  const answer = await api("GET", `pages/${id}/test`);
  assert.equal(answer.status, 200, answer.text);
  return (answer.body as Any).test;
};
/** A page with one variant, which half of the visitors see. */
const newTest = async (name: string, winnerCriteria: string, html: { a: string; b: string }) => {
  const parent = await newPage({ title: name, customHtml: `variant A ${html.a}` });
  const child = await newPage({
    title: `${name} B`,
    customHtml: `variant B ${html.b}`,
    variantParent: parent.id,
    variantSettings: { weight: 50, winnerCriteria },
  });
  return { parent, child, path: `/${name.toLowerCase()}` };
};
/** Lets visitors come to a page, and says which variant each of them saw. */
const visitors = async (path: string, count: number) => {
  const seen: { browser: ReturnType<typeof browse>; variant: string; text: string }[] = [];
  for (let index = 0; index < count; index += 1) {
    const browser = browse();
    const { text } = await browser.ask(path);
    seen.push({ browser, text, variant: /variant (.)/.exec(text)?.[1] ?? "" });
  }
  return seen;
};

test("the bounce rate is the part of the visits after which a visitor did nothing else, machines excluded", async () => {
  const { parent, child, path } = await newTest("Bounce", "page.bouncerate", { a: "", b: "" });
  await newPage({ title: "Next" });
  const before = await testOf(parent.id);
  assert.deepEqual([before.winners, before.variants[0].rate, before.variants[0].visits], [[], null, 0]);
  assert.deepEqual([before.variants[0].weight, before.variants[1].weight], [50, 50]);
  for (const { browser, variant } of await visitors(path, 8)) if (variant === "B") await browser.ask("/next");
  await browse("Googlebot/2.1").ask(path);
  const now = await testOf(child.id);
  assert.equal(now.winnerCriteria, "page.bouncerate");
  assert.ok(now.variantStartDate);
  assert.deepEqual(
    now.variants.map(({ id, visits, rate }: Any) => [id, visits, rate]),
    [
      [parent.id, 4, 1],
      [child.id, 4, 0],
    ],
  );
  assert.deepEqual(now.winners, [child.id]);
});

test("the dwell time is the mean number of seconds until visitors left", async () => {
  const { parent, child, path } = await newTest("Dwell", "page.dwelltime", { a: "", b: "" });
  await visitors(path, 4);
  await query(
    database,
    `update content.page_hits set date_left = date_hit + case when page_id = ${parent.id} then interval '90 s' else interval '30 s' end
     where page_id in (${parent.id}, ${child.id})`,
  );
  const { variants, winners } = await testOf(parent.id);
  assert.deepEqual(
    variants.map(({ rate }: Any) => rate),
    [90, 30],
  );
  assert.deepEqual(winners, [parent.id]);
});

test("submissions and downloads are counted for the variant that they came from", async () => {
  const form = await make(api, "forms", "form", {
    name: "Tested",
    postAction: "message",
    postActionProperty: "Thanks",
    fields: [{ label: "First", alias: "first", type: "text" }],
  });
  const asset = await make(api, "assets", "asset", {
    title: "Paper",
    storageLocation: "remote",
    file: "https://files.example/paper.pdf",
  });
  const html = `{form=${form.id}} <a href="{assetlink=${asset.id}}">x</a>`;
  const submitting = await newTest("Submit", "form.submissions", { a: html, b: html });
  for (const { browser, variant, text } of await visitors(submitting.path, 4)) {
    const pageId = /name="svcform\[svcpage\]"[^>]*value="(\d+)"/.exec(text)?.[1] ?? "";
    if (variant === "B")
      await browser.ask(`/form/submit/ajax?formId=${form.id}`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ "svcform[first]": "Ada", "svcform[svcpage]": pageId }).toString(),
      });
  }
  const submitted = await testOf(submitting.parent.id);
  assert.deepEqual(
    submitted.variants.map(({ rate }: Any) => rate),
    [0, 1],
  );
  assert.deepEqual(submitted.winners, [submitting.child.id]);
  const downloading = await newTest("Download", "asset.downloads", { a: html, b: html });
  for (const { browser, variant, text } of await visitors(downloading.path, 4)) {
    const link = new URL(/href="([^"]*\/asset\/[^"]*)"/.exec(text)?.[1] ?? "").href;
    if (variant === "A") assert.equal((await browser.ask(link.slice(publicUrl.length))).status, 302);
  }
  const downloaded = await testOf(downloading.parent.id);
  assert.deepEqual(
    downloaded.variants.map(({ rate }: Any) => rate),
    [1, 0],
  );
  assert.deepEqual(downloaded.winners, [downloading.parent.id]);
});

test("only visits since the test began count, and a page without a test has no winner", async () => {
  const { parent, path } = await newTest("Anew", "page.bouncerate", { a: "", b: "" });
  await visitors(path, 2);
  assert.equal((await testOf(parent.id)).variants[0].visits, 1);
  // A second begins: dates of tests have no smaller part.
  await query(
    database,
    `update content.page_hits set date_hit = date_hit - interval '10 s' where page_id = ${parent.id}`,
  );
  await api("PATCH", `pages/${parent.id}/edit`, { description: "Changed" });
  const { variants } = await testOf(parent.id);
  assert.deepEqual([variants[0].visits, variants[0].rate], [0, null]);
  const alone = await newPage({ title: "Alone" });
  const none = await testOf(alone.id);
  assert.deepEqual(
    [none.winners, none.variantStartDate, none.winnerCriteria, none.variants.length],
    [[], null, null, 1],
  );
  assert.equal((await api("GET", "pages/2000000000/test")).status, 404);
});

test("a winner changes places with its parent: weights, variants and translations go with the place", async () => {
  const { parent, child } = await newTest("Swap", "page.dwelltime", { a: "", b: "" });
  const sibling = await newPage({
    title: "Swap C",
    variantParent: parent.id,
    variantSettings: { weight: 20, winnerCriteria: "page.dwelltime" },
  });
  const translation = await newPage({ title: "Tausch", language: "de", translationParent: parent.id });
  const answer = await api("POST", `pages/${child.id}/winner`);
  assert.equal(answer.status, 200, answer.text);
  const [old, winner, other, german] = await Promise.all(
    [parent, child, sibling, translation].map(({ id }) => pageNow(id)),
  );
  assert.equal(winner.variantParent, null);
  assert.deepEqual(
    winner.variantChildren.map(({ id }: Any) => id),
    [parent.id, sibling.id],
  );
  assert.deepEqual(
    winner.translationChildren.map(({ id }: Any) => id),
    [translation.id],
  );
  assert.deepEqual([old.variantParent.id, other.variantParent.id], [child.id, child.id]);
  assert.equal(german.translationParent.id, child.id);
  assert.deepEqual(old.variantSettings, { weight: 50, winnerCriteria: "page.dwelltime" });
  assert.deepEqual(winner.variantSettings, []);
  assert.deepEqual(
    (await testOf(child.id)).variants.map(({ weight }: Any) => weight),
    [30, 50, 20],
  );
  assert.deepEqual([winner.variantHits, old.variantHits], [0, 0]);
  const moved = await browse().ask("/swap");
  assert.deepEqual([moved.status, moved.headers.location], [301, "/swap-b"]);
  assert.equal((await browse().ask("/swap-b")).status, 200);
  const again = await api("POST", `pages/${child.id}/winner`);
  assert.equal(again.status, 200);
  assert.equal((again.body as Any).page.revision, winner.revision);
});

test("winners that are made at the same time leave one test with one parent", async () => {
  const parent = await newPage({ title: "Race" });
  const children = await Promise.all(
    [1, 2, 3, 4].map((index) =>
      newPage({ title: `Race ${index}`, variantParent: parent.id, variantSettings: { weight: 10 * index } }),
    ),
  );
  const late = newPage({
    title: "Race late",
    variantParent: parent.id,
    variantSettings: { weight: 1 },
  }).catch(
    () => undefined, // its parent is a variant by then
  );
  const answers = await Promise.all(children.map(({ id }) => api("POST", `pages/${id}/winner`)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const added = await late;
  const ids = [parent, ...children, ...(added ? [added] : [])].map(({ id }) => id);
  const rows = await query(
    database,
    `select id, variant_parent_id from content.pages where id in (${ids.join(", ")})`,
  );
  const roots = rows.filter(({ variant_parent_id }) => variant_parent_id === null);
  assert.equal(roots.length, 1);
  for (const row of rows) if (row !== roots[0]) assert.equal(row.variant_parent_id, roots[0]?.id);
});

test("POST /pages/<id>/winner needs the right to edit each page of the test, and leaves a page without one as it is", async () => {
  const { parent, child } = await newTest("Rights", "page.dwelltime", { a: "", b: "" });
  const author = await newPerson(stack, { "page:pages": ["viewown", "viewother", "editown", "create"] });
  const own = (
    (await author.api("POST", "pages/new", { title: "Mine", variantParent: parent.id })).body as Any
  ).page;
  assert.equal((await author.api("POST", `pages/${own.id}/winner`)).status, 403);
  assert.equal((await author.api("POST", `pages/${child.id}/winner`)).status, 403);
  assert.equal((await pageNow(parent.id)).variantParent, null);
  const alone = await newPage({ title: "By itself" });
  const untested = await api("POST", `pages/${alone.id}/winner`);
  assert.deepEqual([untested.status, (untested.body as Any).page.revision], [200, alone.revision]);
  assert.equal((await api("POST", "pages/2000000000/winner")).status, 404);
  const stale = await api("POST", `pages/${child.id}/winner`, undefined, { "if-match": '"nothing"' });
  assert.equal(stale.status, 412);
});

test("a visitor stays with their variant and with their language when the weights change", async () => {
  const { child, parent, path } = await newTest("Stay", "page.dwelltime", { a: "", b: "" });
  const german = await newPage({ title: "Bleiben", language: "de", translationParent: parent.id });
  const seen = await visitors(path, 4);
  await api("PATCH", `pages/${child.id}/edit`, { variantSettings: { weight: 1 } });
  for (const { browser, variant } of seen)
    assert.match((await browser.ask(path)).text, new RegExp(`variant ${variant}`));
  const headers = { "accept-language": "de" };
  const inGerman = await browse().ask(path, { headers });
  assert.deepEqual([inGerman.status, inGerman.headers.location], [302, `/${german.alias}`]);
});
