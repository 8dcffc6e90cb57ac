import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { FIRST_FIELD, MAIL_FIELD, thankingForm } from "./form-fields.ts";
import { sharedStack } from "./shared-stack.ts";
import { visitor } from "./visitor.ts";

/** Landing pages and slots as visitors see them, on a host of their own. */

const stack = await sharedStack();
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const browse = (options: { agent?: string } = {}) => visitor(baseUrl, { host, ...options });
const newPage = async (members: object): Promise<Any> =>
  (await made("pages/new", { isPublished: true, customHtml: "<p>Text</p>", ...members })).page;
const pageNow = async (id: number): Promise<Any> => ((await api("GET", `pages/${id}`)).body as Any).page;
const hitsOf = (id: number) =>
  query(
    `select code, contact_id, is_unique, verdict from content.page_hits where page_id = ${id} order by id`,
  );

test("a page is shown in its theme, in a sandbox, with its hit counted once for each visitor", async () => {
  const page = await newPage({
    title: "A & B",
    alias: "first",
    metaDescription: 'Say "hi"',
    noIndex: true,
  });
  const browser = browse();
  const shown = await browser.ask("/first");
  assert.equal(shown.status, 200);
  assert.match(shown.text, /<title>A &amp; B<\/title>/);
  assert.match(shown.text, /<main><p>Text<\/p><\/main>/);
  assert.match(shown.text, /<meta name="description" content="Say &quot;hi&quot;">/);
  assert.match(shown.text, /<meta name="svc-hit" content="[\w.-]+">/);
  const policy = String(shown.headers["content-security-policy"]);
  assert.match(policy, /^sandbox /);
  assert.doesNotMatch(policy, /allow-same-origin/);
  assert.match(String(shown.headers["x-robots-tag"]), /noindex/);
  assert.equal(shown.headers["cache-control"], "no-store");
  await browser.ask("/first");
  await browse().ask("/first");
  await browse({ agent: "Googlebot/2.1" }).ask("/first");
  await browse().ask("/first", { method: "HEAD" });
  const { hits, uniqueHits } = await pageNow(page.id);
  assert.deepEqual([hits, uniqueHits], [3, 2]);
  const kept = await hitsOf(page.id);
  assert.deepEqual(
    kept.map(({ verdict, is_unique }) => [verdict, is_unique]),
    [
      ["human", true],
      ["human", false],
      ["human", true],
      ["machine", false],
      ["machine", false],
    ],
  );
});

test("nothing of the API is on the host of the pages, and no page on that of the API", async () => {
  assert.equal((await browse().ask("/api/contacts")).status, 404);
  assert.equal((await visitor(baseUrl).ask("/first")).status, 404);
  const word = await api("POST", "pages/new", { title: "Words", alias: "api" });
  assert.equal(word.status, 400);
  assert.match(word.text, /is an address of this installation/);
});

test("pages that are closed, elsewhere or not there are answered as such", async () => {
  const closed = await newPage({ title: "Closed", isPublished: false });
  assert.equal((await browse().ask("/closed")).status, 401);
  const moved = await newPage({
    title: "Moved",
    isPublished: false,
    redirectType: 302,
    redirectUrl: "https://shop.example/new",
  });
  const answer = await browse().ask("/moved");
  assert.deepEqual([answer.status, answer.headers.location], [302, "https://shop.example/new"]);
  await newPage({ title: "Later", publishUp: "2999-01-01 00:00:00" });
  assert.equal((await browse().ask("/later")).status, 401);
  const unknown = await browse().ask("/nowhere");
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /<h1>Not found<\/h1>/);
  assert.equal((await browse().ask("/first", { method: "POST" })).status, 405);
  await newPage({ title: "Preferences", isPreferenceCenter: true });
  assert.equal((await browse().ask("/preferences")).status, 404);
  assert.deepEqual(
    (await hitsOf(closed.id)).map(({ code }) => code),
    [401],
  );
  assert.deepEqual(
    (await hitsOf(moved.id)).map(({ code }) => code),
    [302],
  );
  const prefixed = await browse().ask("/offers/en/first?a=1");
  assert.deepEqual([prefixed.status, prefixed.headers.location], [301, "/first?a=1"]);
});

test("a visit of an unknown address is a hit with 404; what a browser asks for by itself is none", async () => {
  const browser = browse();
  const answer = await browser.ask("/never-there?utm_source=letter");
  assert.equal(answer.status, 404);
  await browser.ask("/favicon.ico");
  await browser.ask("/never-there", { headers: { "sec-fetch-dest": "image" } });
  const device = browser.cookies.get("svc_device_id");
  const kept = await query(
    `select code, page_id, url from content.page_hits where tracking_id = '${device}'`,
  );
  assert.deepEqual(kept, [{ code: 404, page_id: null, url: `http://${host}/never-there?utm_source=letter` }]);
});

test("an edit is seen by the next visit", async () => {
  const page = await newPage({ title: "Edited", customHtml: "one" });
  assert.match((await browse().ask("/edited")).text, /one/);
  await api("PATCH", `pages/${page.id}/edit`, { customHtml: "two" });
  assert.match((await browse().ask("/edited")).text, /two/);
});

test("variants share the visits, and a visitor stays with one", async () => {
  const page = await newPage({ title: "Tested", customHtml: "variant A" });
  const other = await newPage({
    title: "Tested B",
    customHtml: "variant B",
    variantParent: page.id,
    variantSettings: { weight: 50, winnerCriteria: "page.bouncerate" },
  });
  const direct = await browse().ask("/tested-b");
  assert.deepEqual([direct.status, direct.headers.location], [301, "/tested"]);
  const seen: string[] = [];
  for (let visit = 0; visit < 6; visit += 1) {
    const browser = browse();
    const [, variant = ""] = /variant (.)/.exec((await browser.ask("/tested")).text) ?? [];
    seen.push(variant);
    assert.match((await browser.ask("/tested")).text, new RegExp(`variant ${variant}`));
  }
  assert.deepEqual(seen.toSorted(), ["A", "A", "A", "B", "B", "B"]);
  assert.equal((await pageNow(other.id)).variantHits, 3);
});

test("a page is shown in the visitor's language, unless they ask for this one", async () => {
  const page = await newPage({ title: "Hello", language: "en", customHtml: "{langbar}" });
  await newPage({ title: "Hallo", language: "de", translationParent: page.id });
  const german = { headers: { "accept-language": "de-AT,en;q=0.5" } };
  const answer = await browse().ask("/hello?x=1", german);
  assert.deepEqual([answer.status, answer.headers.location], [302, "/hallo?x=1"]);
  const kept = await browse().ask("/hello?ntrd=1", german);
  assert.equal(kept.status, 200);
  assert.match(kept.text, /hreflang="de" lang="de">Deutsch</);
});

test("tokens show what is known of a visitor who made the contact, and nothing of one who was only named", async () => {
  const form = (await made("forms/new", thankingForm("In page", [MAIL_FIELD, FIRST_FIELD]))).form;
  await made("contacts/new", { email: "known@pages.example", firstname: "Secret" });
  const other = await newPage({ title: "Other" });
  await newPage({
    title: "Tokens",
    customHtml: `<!doctype html><html><head></head><body><p>Hi {contactfield=firstname|friend}!</p><a href="{pagelink=${other.id}}">x</a>{form=${form.id}}</body></html>`,
  });
  const submit = (browser: ReturnType<typeof browse>, members: Record<string, string>) =>
    browser.ask(`/form/submit/ajax?formId=${form.id}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(members).toString(),
    });
  const own = browse();
  const first = await own.ask("/tokens");
  assert.match(first.text, /Hi friend!/);
  assert.match(first.text, new RegExp(`href="http://${host}/other"`));
  assert.match(first.text, /name="svcform\[svcpage\]"/);
  await submit(own, { "svcform[mail]": "own@pages.example", "svcform[first]": "<b>Ada" });
  await eventually(async () => assert.match((await own.ask("/tokens")).text, /Hi (?:&lt;b&gt;)?Ada!/));
  const stranger = browse();
  await stranger.ask("/tokens");
  await submit(stranger, { "svcform[mail]": "known@pages.example" });
  await eventually(async () => {
    const device = stranger.cookies.get("svc_device_id");
    const [row] = await query(`select is_proven from content.visitor_devices where id = '${device}'`);
    assert.equal(row?.is_proven, false);
  });
  assert.match((await stranger.ask("/tokens")).text, /Hi friend!/);
});

test("a slot shows what its filters find for a visitor, and nothing else", async () => {
  await made("dynamiccontents/new", {
    name: "For Viennese",
    isPublished: true,
    isCampaignBased: false,
    slotName: "top",
    content: "<b>Servus</b><script>alert(1)</script>",
    filters: [
      {
        glue: "and",
        field: "timezone",
        object: "lead",
        type: "timezone",
        operator: "=",
        properties: { filter: "Europe/Vienna" },
      },
    ],
  });
  const here = browse();
  const hit = await here.hit({ page_url: "https://shop.example/x", timezone: "Europe/Vienna" });
  await eventually(async () => {
    const answer = await here.ask("/dwc/top");
    assert.equal(answer.status, 200);
    assert.equal(answer.json.content, "<b>Servus</b>");
    assert.equal(answer.json.id, hit.json.id);
  });
  await newPage({
    title: "Slots",
    customHtml: 'A {dwc=top} B {dynamiccontent="top"} C {dynamiccontent=none} D',
  });
  assert.match((await here.ask("/slots")).text, /A <b>Servus<\/b>.* B <b>Servus<\/b>.* C {2}D/);
  assert.match((await browse().ask("/slots")).text, /A {2}B {2}C {2}D/);
  const elsewhere = browse();
  await elsewhere.hit({ page_url: "https://shop.example/x", timezone: "Asia/Tokyo" });
  const none = await elsewhere.ask("/dwc/top");
  assert.deepEqual([none.status, none.text], [204, ""]);
  const [stat] = await query("select sent_count, source from content.dynamic_content_stats");
  assert.equal(stat?.source, "top");
});
