import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startVisitedStack, type VisitedStack } from "./visited-stack.ts";
import { type Answer, visitor } from "./visitor.ts";

/**
 * The script on a landing page, which is in a sandbox: it keeps nothing, and its calls have no cookies. The signed id of the hit with which the page was served
 * says whose they are.
 */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** A page, and the parts of a test that visits it. */
async function landing(stack: VisitedStack) {
  const { baseUrl, publicUrl, made, query, api } = stack;
  const { host } = new URL(publicUrl);
  const { page } = await made("pages/new", {
    title: "Landing",
    isPublished: true,
    customHtml: "<p>Text</p>",
  });
  const url = `${publicUrl}/landing`;
  return {
    page,
    url,
    browse: () => visitor(baseUrl, { host }),
    /** The script of the page, in a browser that sends no cookies with its calls. */
    script: (members: Record<string, string>) =>
      visitor(baseUrl, { host }).hit({ page_url: url, ...members }, { origin: "null" }),
    tokenIn: ({ text }: Answer): string => /<meta name="svc-hit" content="([^"]+)">/.exec(text)?.[1] ?? "",
    hitsOf: (contactId: unknown): Promise<Any[]> =>
      query(`select * from content.page_hits where contact_id = ${contactId} order by id`),
    countsOf: async () => {
      const { hits, uniqueHits } = ((await api("GET", `pages/${page.id}`)).body as Any).page;
      return [hits, uniqueHits];
    },
    contactOf: async (id: unknown): Promise<Any> =>
      ((await api("GET", `contacts/${id}`)).body as Any).contact,
    consentsOf: async (id: unknown) => {
      const { body } = await api("GET", `contacts/${id}/consents`);
      return (body as Any).consents.map(({ given, by, where }: Any) => [given, by, where]);
    },
  };
}

describe("with TRACKING_CONSENT=signal", async () => {
  const stack = await startVisitedStack({ hasOwnHost: true });
  after(() => stack.stop());
  const { page, url, browse, script, tokenIn, hitsOf, countsOf, contactOf } = await landing(stack);
  for (const name of ["firstname", "lastname"]) {
    const { fields } = (await stack.api("GET", `fields/contact?search=${name}&limit=20`)).body as Any;
    const { id } = fields.find(({ alias }: Any) => alias === name);
    await stack.api("PATCH", `fields/contact/${id}/edit`, { isPubliclyUpdatable: true });
  }

  test("the script completes the hit of its page with zone, locale, values, tags and what it knows of the browser", async () => {
    const browser = browse();
    const hit = tokenIn(await browser.ask("/landing?utm_source=letter&lastname=Lovelace"));
    const said = {
      timezone: "Europe/Vienna",
      preferred_locale: "de_AT",
      resolution: "800x600",
      firstname: "Ada",
    };
    const view = { hit, ...said, tags: "landed", hit_key: "k".repeat(23) };
    const contactId = Number(browser.cookies.get("mtc_id"));
    for (let sent = 0; sent < 2; sent += 1) {
      const { json } = await script(view);
      assert.deepEqual(json, { success: 1, id: contactId, sid: null, device_id: null, events: {} });
    }
    await eventually(async () => {
      const { fields, tags, utmtags } = await contactOf(contactId);
      const { timezone, preferred_locale: locale, firstname, lastname } = fields.all;
      assert.deepEqual(
        [timezone, locale, firstname, lastname],
        ["Europe/Vienna", "de_AT", "Ada", "Lovelace"],
      );
      assert.deepEqual(
        tags.map(({ tag }: Any) => tag),
        ["landed"],
      );
      assert.equal(utmtags.length, 1);
    });
    const [row, ...others] = await hitsOf(contactId);
    assert.deepEqual(others, []);
    assert.deepEqual([row.page_id, row.url], [page.id, `${url}?utm_source=letter&lastname=Lovelace`]);
    assert.deepEqual([row.query.resolution, row.query.utm_source], ["800x600", "letter"]);
    assert.ok(!("hit" in row.query));
    assert.deepEqual(await countsOf(), [1, 1]);
  });

  test("later views on a landing page are hits of its visitor, and a forged id is nobody's", async () => {
    const browser = browse();
    const served = tokenIn(await browser.ask("/landing"));
    const contactId = Number(browser.cookies.get("mtc_id"));
    const next = await script({ served, page_title: "Next" });
    assert.equal(next.json.id, contactId);
    assert.deepEqual(
      (await hitsOf(contactId)).map(({ url_title, tracking_id }) => [url_title, tracking_id]),
      ["Landing", "Next"].map((title) => [title, browser.cookies.get("svc_device_id")]),
    );
    const [, mac = ""] = served.split(".");
    const forged = served.replace(mac, [...mac].toReversed().join(""));
    for (const members of [{ served: forged }, { hit: forged }])
      assert.notEqual((await script(members)).json.id, contactId);
  });

  test("a page that is closed before its later view is answered reports which view was left, by its address", async () => {
    const browser = browse();
    const served = tokenIn(await browser.ask("/landing"));
    const contactId = Number(browser.cookies.get("mtc_id"));
    const page_url = "https://shop.example/next";
    await script({ served, page_url });
    await script({ left: "1", served, page_url });
    const [landing, next] = await hitsOf(contactId);
    assert.deepEqual([landing.url, next.url], [url, page_url]);
    assert.ok(next.date_left);
  });

  test("a visitor who refuses on a landing page is forgotten, though the call has no cookie", async () => {
    const browser = browse();
    const served = tokenIn(await browser.ask("/landing"));
    const device = browser.cookies.get("svc_device_id");
    const known = () => stack.query(`select 1 from content.visitor_devices where id = '${device}'`);
    assert.equal((await known()).length, 1);
    await script({ left: "1", consent: "0", served });
    assert.deepEqual(await known(), []);
  });

  test("the choice among variants goes with consent, and with the next visit of a visitor who may not be known", async () => {
    const { page: tested } = await stack.made("pages/new", {
      title: "Tested",
      isPublished: true,
      customHtml: "A",
    });
    const variant = { title: "Tested B", isPublished: true, customHtml: "B", variantParent: tested.id };
    await stack.made("pages/new", { ...variant, variantSettings: { weight: 50 } });
    const choice = `svc_page_${tested.id}`;
    for (const forget of [
      (browser: ReturnType<typeof browse>) => browser.hit({ left: "1", consent: "0" }),
      (browser: ReturnType<typeof browse>) => browser.ask("/tested", { headers: { "sec-gpc": "1" } }),
      (browser: ReturnType<typeof browse>) => browser.ask("/landing", { headers: { dnt: "1" } }),
    ]) {
      const browser = browse();
      await browser.ask("/tested");
      assert.ok(browser.cookies.has(choice));
      await forget(browser);
      assert.ok(!browser.cookies.has(choice));
    }
  });

  test("the script of a visitor who signals refusal completes nothing", async () => {
    const browser = browse();
    const hit = tokenIn(await browser.ask("/landing", { headers: { dnt: "1" } }));
    const { json } = await script({ hit, do_not_track: "true", firstname: "Eve" });
    assert.deepEqual(json, { success: 1, id: null, sid: null, device_id: null, events: {} });
  });
});

describe("with TRACKING_CONSENT=required", async () => {
  const env = { content: { TRACKING_CONSENT: "required" } };
  const stack = await startVisitedStack({ hasOwnHost: true, env });
  after(() => stack.stop());
  const { page, url, browse, script, tokenIn, hitsOf, countsOf, consentsOf } = await landing(stack);

  test("consent on a landing page begins the visit for which the page was served: one contact, one hit, one consent", async () => {
    const browser = browse();
    const hit = tokenIn(await browser.ask("/landing"));
    assert.equal(browser.cookies.size, 0);
    assert.deepEqual(await countsOf(), [1, 0]);
    assert.equal((await script({ hit })).json.id, null);
    const agreed = { hit, consent: "1", timezone: "Europe/Vienna" };
    const answers = await Promise.all([1, 2, 3].map(() => script(agreed)));
    const ids = new Set(answers.map(({ json }) => json.id));
    assert.equal(ids.size, 1);
    const [id] = ids;
    assert.ok(id);
    const [row, ...others] = await hitsOf(id);
    assert.deepEqual(others, []);
    assert.deepEqual([row.page_id, row.is_unique, row.url_title], [page.id, true, "Landing"]);
    assert.deepEqual(await countsOf(), [1, 1]);
    await eventually(async () => assert.deepEqual(await consentsOf(id), [[true, "script", url]]));
    assert.equal((await script({ served: hit, consent: "1", page_title: "Next" })).json.id, id);
    await script({ left: "1", hit });
    assert.ok((await hitsOf(id))[0].date_left);
    await script({ left: "1", consent: "0", served: hit });
    await eventually(async () =>
      assert.deepEqual(await consentsOf(id), [
        [false, "script", url],
        [true, "script", url],
      ]),
    );
    assert.deepEqual(await stack.query(`select 1 from content.visitor_devices where contact_id = ${id}`), []);
  });
});
