import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { FocusStatsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import type { Page } from "playwright-core";
import type { Entity } from "./client.ts";
import { make } from "./people.ts";
import { publishedOn } from "./published.ts";
import { query } from "./query.ts";
import { scrapeProcess } from "./scrape.ts";
import { eventuallyEqual, keptBy, startTrackedVisits, visitWith } from "./tracked-site.ts";
import { visitor } from "./visitor.ts";

/** Focus items on the sites of others, and on landing pages. */

const { stack, browser, site, stop } = await startTrackedVisits();
after(stop);
const { api, publicUrl, baseUrl, database } = stack;

const host = new URL(publicUrl).host;
const somebody = (agent?: string) => visitor(baseUrl, { host, ...(agent && { agent }) });
const visit = (work: (page: Page) => Promise<void>) => visitWith(browser, {}, work);
const newItem = (members: object = {}) =>
  make(api, "focus", "focus", { name: "Sale", type: "link", style: "bar", isPublished: true, ...members });
const report = (members: Record<string, string>, headers: Record<string, string> = {}, person = somebody()) =>
  person.ask("/focus/event", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(members).toString(),
  });
const countsOf = async ({ id }: Entity) => {
  const { focus } = (await api("GET", `focus/${id}`)).body as unknown as { focus: Entity };
  return [focus.viewCount, focus.uniqueViewCount, focus.clickCount, focus.uniqueClickCount];
};
const factsOf = ({ id }: Entity) =>
  query(database, `select * from content.focus_stats where focus_id = ${id} order by id`);
const deviceOf = (index: number) => `focusbrowser0000000000${index}`;

describe("GET /focus/<id>.js", () => {
  test("is the item as it is now, and 304 to a browser that has it", async () => {
    const item = await newItem({ properties: { content: { headline: "First" } } });
    const path = `/focus/${item.id}.js`;
    const first = await somebody().ask(path);
    assert.equal(first.status, 200);
    assert.match(String(first.headers["content-type"]), /^application\/javascript/);
    assert.equal(first.headers["cache-control"], "public, max-age=1");
    assert.equal(first.headers["cross-origin-resource-policy"], "cross-origin");
    assert.equal(first.headers["set-cookie"], undefined);
    assert.match(first.text, /"headline":"First"/);
    const etag = String(first.headers.etag);
    assert.equal((await somebody().ask(path, { headers: { "if-none-match": etag } })).status, 304);
    await api("PATCH", `focus/${item.id}/edit`, { properties: { content: { headline: "Second" } } });
    const second = await somebody().ask(path, { headers: { "if-none-match": etag } });
    assert.deepEqual([second.status, /"headline":"Second"/.test(second.text)], [200, true]);
    const head = await somebody().ask(path, { method: "HEAD" });
    assert.deepEqual([head.status, head.text, head.headers.etag], [200, "", second.headers.etag]);
  });

  test("is an empty script for an item that is unknown or not published now", async () => {
    const closed = await newItem({ isPublished: false });
    const later = await newItem({ publishUp: "2999-01-01 00:00:00" });
    const over = await newItem({ publishDown: "2020-01-01 00:00:00" });
    const names = [closed.id, later.id, over.id, 999_999, 0, "2147483648", "x", "1 or 1=1", "__proto__"];
    for (const name of names) {
      const { status, text, headers } = await somebody().ask(`/focus/${encodeURIComponent(String(name))}.js`);
      assert.deepEqual([status, text], [200, ""], String(name));
      assert.match(String(headers["content-type"]), /^application\/javascript/);
    }
    assert.equal((await somebody().ask(`/focus/${closed.id}`)).status, 404);
  });

  test("the API answers the same script", async () => {
    const item = await newItem();
    const { body } = await api("POST", `focus/${item.id}/js`);
    const { js } = body as unknown as { js: string };
    assert.equal((await somebody().ask(`/focus/${item.id}.js`)).text, js);
  });
});

describe("POST /focus/event", () => {
  test("64 views by 4 browsers at once are 64 views, 4 of them unique, each in one event", async () => {
    const item = await newItem();
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        report({
          ...{ focus: String(item.id), type: "view", page_url: "https://shop.example/a" },
          svc_device_id: deviceOf(index % 4),
        }),
      ),
    );
    assert.ok(answers.every(({ json }) => json.success === 1));
    const clicked = { focus: String(item.id), type: "click", svc_device_id: deviceOf(0) };
    for (const _ of [1, 2]) assert.equal((await report(clicked)).json.success, 1);
    assert.deepEqual(await countsOf(item), [64, 4, 2, 1]);
    const rows = await factsOf(item);
    assert.equal(rows.length, 66);
    assert.equal(new Set(rows.map(({ contact_id }) => contact_id)).size, 4);
    const stats = async (subject: string) =>
      (await publishedOn(stack, subject, FocusStatsSchema))
        .flatMap((event) => event.stats)
        .filter(({ focusId }) => focusId === item.id);
    const seen = await stats("tidings.content.focus.seen");
    assert.equal(new Set(seen.map(({ id }) => id)).size, 64);
    assert.equal(seen.filter(({ isUnique }) => isUnique).length, 4);
    const [fact] = seen;
    assert.deepEqual(
      [fact?.type, fact?.url, fact?.verdict, fact?.typeId],
      ["view", "https://shop.example/a", "human", undefined],
    );
    assert.equal((await stats("tidings.content.focus.clicked")).length, 2);
    await eventually(async () =>
      assert.equal((await api("GET", `contacts/${rows[0]?.contact_id}`)).status, 200),
    );
  });

  test("a report that is sent again under its key counts once", async () => {
    const item = await newItem();
    const sent = { focus: String(item.id), type: "view", svc_device_id: deviceOf(5) };
    const key = "k".repeat(23);
    await Promise.all(Array.from({ length: 8 }, () => report({ ...sent, hit_key: key })));
    assert.deepEqual(await countsOf(item), [1, 1, 0, 0]);
    assert.equal((await factsOf(item)).length, 1);
  });

  test("a person who may not be known is counted and leaves no row; a machine leaves a row and is not counted", async () => {
    const item = await newItem();
    const sent = { focus: String(item.id), type: "view" };
    const known = { ...sent, svc_device_id: deviceOf(6) };
    for (const headers of [{ dnt: "1" }, { "sec-gpc": "1" }] as Record<string, string>[]) {
      const answer = await report(known, headers);
      assert.deepEqual([answer.json.success, answer.headers["set-cookie"]], [1, undefined]);
    }
    // A browser that keeps no id could not be found again.
    assert.equal((await report(sent)).json.success, 1);
    assert.deepEqual([await countsOf(item), await factsOf(item)], [[3, 0, 0, 0], []]);
    await report(known, {}, somebody("Googlebot/2.1 (+http://www.google.com/bot.html)"));
    assert.deepEqual(await countsOf(item), [3, 0, 0, 0]);
    const [row] = await factsOf(item);
    assert.deepEqual([row?.contact_id, row?.verdict, row?.is_unique], [null, "machine", false]);
  });

  test("tidings_focus_events_total counts recorded events by type and verdict, and a repeated report once", async () => {
    const item = await newItem();
    const counts = async () => {
      const { value } = await scrapeProcess(stack, "content");
      const of = (type: string, verdict: string) =>
        value("tidings_focus_events_total", { type, verdict }) ?? 0;
      return [of("view", "human"), of("click", "human"), of("view", "nobody")];
    };
    const [views = 0, clicks = 0, unknown = 0] = await counts();
    const seen = { focus: String(item.id), type: "view", svc_device_id: deviceOf(8) };
    for (const _ of [1, 2]) await report({ ...seen, hit_key: "m".repeat(23) });
    await report({ ...seen, type: "click" });
    await report(seen, { dnt: "1" });
    assert.deepEqual(await counts(), [views + 1, clicks + 1, unknown + 1]);
  });

  test("a report about no item, or of an unknown kind, changes nothing", async () => {
    const item = await newItem();
    const [{ count }] = (await query(database, "select count(*)::int as count from content.focus_stats")) as [
      { count: number },
    ];
    const unknown: Record<string, string>[] = [
      {},
      { focus: String(item.id) },
      { focus: String(item.id), type: "submission" },
      { focus: String(item.id), type: "__proto__" },
      { focus: "999999", type: "view" },
      { focus: "2147483648", type: "view" },
      { focus: `${item.id} or 1=1`, type: "view" },
    ];
    for (const members of unknown) {
      const { status, json } = await report({ svc_device_id: deviceOf(7), ...members });
      assert.deepEqual([status, json], [200, { success: 0 }]);
    }
    assert.equal((await somebody().ask("/focus/event")).status, 405);
    const after = await query(database, "select count(*)::int as count from content.focus_stats");
    assert.deepEqual(after, [{ count }]);
  });
});

describe("an item in a browser", () => {
  const scriptOf = ({ id }: Entity) => `<script src="${publicUrl}/focus/${id}.js"></script>`;
  const typesOf = async (item: Entity) => (await factsOf(item)).map(({ type }) => type);

  test("on another site it is seen and clicked by the visitor whom the tracking script reports, and its link has the UTM tags", async () => {
    const item = await newItem({
      utmTags: { utmSource: "focus", utmCampaign: "sale & more" },
      properties: { content: { link_text: "Look", link_url: "https://shop.example/sale?a=1#b" } },
    });
    const url = site.page("/shop", { body: scriptOf(item) });
    await visit(async (page) => {
      await page.route("https://shop.example/**", (route) => route.fulfill({ body: "Sale" }));
      await page.goto(url);
      const link = page.getByRole("link", { name: "Look" });
      await eventuallyEqual(() => typesOf(item), ["view"]);
      const [row] = await factsOf(item);
      const hits = () => query(database, `select * from content.page_hits where url = '${url}'`);
      await eventually(async () => assert.equal((await hits()).length, 1));
      const [hit] = await hits();
      assert.deepEqual([row?.tracking_id, row?.contact_id], [hit?.tracking_id, hit?.contact_id]);
      assert.deepEqual([row?.url, row?.is_unique], [url, true]);
      await link.click();
      await page.waitForURL("https://shop.example/sale?a=1&utm_source=focus&utm_campaign=sale+%26+more#b");
      await eventuallyEqual(() => typesOf(item), ["view", "click"]);
      assert.deepEqual(await countsOf(item), [1, 1, 1, 1]);
    });
  });

  test("on a landing page its visitor is the one of the page's hit", async () => {
    const item = await newItem();
    await make(api, "pages", "page", {
      title: "Landing",
      alias: "landing",
      isPublished: true,
      customHtml: `<html><head></head><body>Hello ${scriptOf(item)}</body></html>`,
    });
    await visit(async (page) => {
      await page.goto(`${publicUrl}/landing`);
      await eventuallyEqual(() => typesOf(item), ["view"]);
      const [hit] = await query(
        database,
        `select * from content.page_hits where url = '${publicUrl}/landing'`,
      );
      const [row] = await factsOf(item);
      assert.ok(hit?.contact_id);
      assert.deepEqual([row?.tracking_id, row?.contact_id], [hit?.tracking_id, hit?.contact_id]);
    });
  });

  test("its form is sent to us from another site", async () => {
    const form = await make(api, "forms", "form", {
      name: "Sign up",
      isPublished: true,
      postAction: "message",
      postActionProperty: "Thank you",
      fields: [
        { label: "Your mail", alias: "mail", type: "email", isRequired: true },
        { label: "Send", type: "button" },
      ],
    });
    const item = await newItem({ type: "form", form: form.id });
    const url = site.page("/with-form", { calls: "", body: scriptOf(item) });
    await visit(async (page) => {
      await page.goto(url);
      await page.getByLabel("Your mail").fill("ada@focus.example");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("Thank you").waitFor();
      const [submission] = await query(
        database,
        `select results from content.form_submissions where form_id = ${form.id}`,
      );
      assert.match(JSON.stringify(submission?.results), /ada@focus\.example/);
      assert.equal((await countsOf(item))[0], 1);
    });
  });

  test("with a signal of refusal nothing is kept, and the view is counted alone", async () => {
    const item = await newItem({ properties: { frequency: "once" } });
    const url = site.page("/refusing", { calls: "", body: scriptOf(item) });
    await visitWith(browser, { extraHTTPHeaders: { "sec-gpc": "1" } }, async (page) => {
      await page.addInitScript("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })");
      await page.goto(url);
      await eventually(async () => assert.deepEqual(await countsOf(item), [1, 0, 0, 0]));
      assert.deepEqual(await keptBy(page), { local: [], session: [], cookies: [] });
      assert.deepEqual(await factsOf(item), []);
    });
  });
});
