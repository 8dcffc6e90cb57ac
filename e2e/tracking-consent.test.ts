import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Page } from "playwright-core";
import { make } from "./people.ts";
import {
  eventuallyEqual,
  keptBy,
  scriptIsReady,
  sentBy,
  startTrackedVisits,
  visitWith,
} from "./tracked-site.ts";
import { visitor } from "./visitor.ts";

/** The tracking script in a real browser where visitors are asked first: TRACKING_CONSENT is `required`. */

const { stack, browser, site, stop } = await startTrackedVisits({
  content: { TRACKING_CONSENT: "required" },
});
after(stop);
const { api, publicUrl, baseUrl, query } = stack;

const server = visitor(baseUrl, { host: new URL(publicUrl).host });
// The first ids for contacts come from the contact service.
await eventually(async () =>
  assert.equal((await server.hit({ page_url: "https://ready.example/", consent: "1" })).json.success, 1),
);

const visit = (work: (page: Page) => Promise<void>) => visitWith(browser, {}, work);
const urlsOf = async (device: unknown) =>
  (await query(`select url from content.page_hits where tracking_id = '${device}' order by id`)).map(
    ({ url }) => url,
  );
const deviceOf = (page: Page) =>
  eventually(async () => {
    // The other ids come with the answer.
    assert.ok(await page.evaluate("localStorage.getItem('mtc_id')"));
    return page.evaluate("localStorage.getItem('svc_device_id')");
  });

const NOTHING = { local: [], session: [], cookies: [] };
const AGREED = {
  local: ["mtc_id", "mtc_sid", "svc_consent", "svc_device_id"],
  session: ["svc_counter"],
  cookies: [],
};

test("before consent no request is made and no name is kept; then the waiting view is sent, and later pages need no answer", async () => {
  const [url, next] = [site.page("/asked"), site.page("/next")];
  await visit(async (page) => {
    const sent = sentBy(page, publicUrl);
    await page.goto(url);
    await scriptIsReady(page);
    assert.equal(sent.length, 0);
    assert.deepEqual(await keptBy(page), NOTHING);
    await page.evaluate("mt('consent', true)");
    const device = await deviceOf(page);
    assert.deepEqual(
      sent.map((parameters) => [
        parameters.get("page_url"),
        parameters.get("consent"),
        parameters.get("counter"),
      ]),
      [[url, "1", "1"]],
    );
    assert.deepEqual(await keptBy(page), AGREED);
    await page.goto(next);
    await eventuallyEqual(() => urlsOf(device), [url, next]);
    assert.deepEqual(await keptBy(page), AGREED);
  });
});

test("consent that is withdrawn deletes the device and all names, is sent once, and ends all sending", async () => {
  const [url, next] = [
    site.page("/withdrawn", { calls: "mt('consent', true);mt('send','pageview');" }),
    site.page("/after", { calls: "mt('consent', false);mt('send','pageview');" }),
  ];
  await visit(async (page) => {
    const sent = sentBy(page, publicUrl);
    await page.goto(url);
    const device = await deviceOf(page);
    await page.evaluate("mt('consent', false); mt('consent', false); mt('send', 'pageview')");
    await eventuallyEqual(() => query(`select 1 from content.visitor_devices where id = '${device}'`), []);
    assert.deepEqual(await keptBy(page), NOTHING);
    await page.goto(next);
    await scriptIsReady(page);
    assert.deepEqual(
      sent.map((parameters) => parameters.get("consent")),
      ["1", "0"],
    );
    assert.deepEqual(await keptBy(page), NOTHING);
    assert.deepEqual(await urlsOf(device), [url]);
  });
});

test("on a landing page consent begins the visit, later views are that visitor's, and a refusal ends it", async () => {
  await make(api, "pages", "page", { title: "Asking", isPublished: true, customHtml: "<h1>Asking</h1>" });
  const url = `${publicUrl}/asking`;
  const views = () =>
    query(`select contact_id, tracking_id, url from content.page_hits where url like '${url}%' order by id`);
  await visit(async (page) => {
    const sent = sentBy(page, publicUrl).filter((parameters) => parameters.has("page_title"));
    await page.goto(url);
    await scriptIsReady(page);
    assert.deepEqual([sent, await views()], [[], []]);
    await page.evaluate("mt('consent', true)");
    const [first] = await eventually(async () => {
      const rows = await views();
      assert.equal(rows.length, 1);
      return rows;
    });
    await page.evaluate(`mt('send', 'pageview', { page_url: '${url}#next' })`);
    await eventuallyEqual(views, [first, { ...first, url: `${url}#next` }]);
    await page.evaluate("mt('consent', false)");
    const known = `select 1 from content.visitor_devices where id = '${first?.tracking_id}'`;
    await eventuallyEqual(() => query(known), []);
    assert.deepEqual(await page.context().cookies(), []);
  });
});

test("a focus item reports and keeps nothing before consent, and then reports the visitor's device", async () => {
  const own = { name: "Asked", type: "link", style: "bar", isPublished: true };
  const { id } = await make(api, "focus", "focus", { ...own, properties: { frequency: "once" } });
  const url = site.page("/focus", {
    calls: "",
    body: `<script src="${publicUrl}/focus/${id}.js"></script>`,
  });
  await visit(async (page) => {
    const sent = sentBy(page, publicUrl);
    const reports = () => sent.filter((parameters) => parameters.has("focus"));
    await page.goto(url);
    await page.getByRole("region", { name: "Asked" }).waitFor();
    await scriptIsReady(page);
    assert.deepEqual([reports(), await keptBy(page)], [[], NOTHING]);
    await page.evaluate("mt('consent', true); mt('send', 'pageview')");
    const device = await deviceOf(page);
    await page.reload();
    await eventually(async () => {
      const rows = await query(`select tracking_id, type from content.focus_stats where focus_id = ${id}`);
      assert.deepEqual(rows, [{ tracking_id: device, type: "view" }]);
    });
    assert.equal(reports()[0]?.get("consent"), "1");
    assert.ok((await keptBy(page)).local.includes(`svc_focus_${id}`));
    await page.evaluate("mt('consent', false)");
    assert.deepEqual(await keptBy(page), NOTHING);
  });
});

test("a visitor who refuses at once causes no request, and views before a change of mind are not sent", async () => {
  const url = site.page("/refused");
  await visit(async (page) => {
    const sent = sentBy(page, publicUrl);
    await page.goto(url);
    await scriptIsReady(page);
    await page.evaluate("mt('consent', false); mt('send', 'pageview')");
    assert.equal(sent.length, 0);
    assert.deepEqual(await keptBy(page), NOTHING);
    await page.evaluate("mt('consent', true); mt('send', 'pageview', { page_title: 'Now' })");
    await deviceOf(page);
    assert.deepEqual(
      sent.map((parameters) => parameters.get("page_title")),
      ["Now"],
    );
  });
});
