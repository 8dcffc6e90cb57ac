import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import type { BrowserContext, BrowserContextOptions, Page, Route } from "playwright-core";
import {
  eventuallyEqual,
  keptBy,
  scriptIsReady,
  sentBy,
  startTrackedVisits,
  visitWith,
} from "./tracked-site.ts";
import { visitor } from "./visitor.ts";

/** The tracking script in a real browser, on a site of another origin. TRACKING_CONSENT is `signal`, the default. */

const { stack, browser, site, stop } = await startTrackedVisits();
after(stop);
const { api, publicUrl, baseUrl, database } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const server = visitor(baseUrl, { host: new URL(publicUrl).host });
const visit = (
  work: (page: Page, context: BrowserContext) => Promise<void>,
  options: BrowserContextOptions = {},
) => visitWith(browser, options, work);

interface Row {
  id: string;
  contact_id: number | null;
  tracking_id: string;
  date_left: Date | null;
  url_title: string;
  page_language: string;
  referer: string | null;
  query: Record<string, string>;
}

/** The hits of an address, the oldest first. */
const hitsAt = async (url: string): Promise<Row[]> =>
  (await queryAsSuperuser(
    database,
    `select id, contact_id, tracking_id, date_left, url_title, page_language, referer, query
     from content.page_hits where url = '${url}' order by id`,
  )) as unknown as Row[];
const oneHitAt = (url: string) =>
  eventually(async () => {
    const [hit, ...others] = await hitsAt(url);
    assert.ok(hit);
    assert.deepEqual(others, []);
    return hit;
  });
const devicesOf = async (id: string) =>
  await queryAsSuperuser(database, `select id from content.visitor_devices where id = '${id}'`);
/** Waits until the page keeps the id of its device. */
const deviceOf = (page: Page) =>
  eventually(async () => {
    // The other ids come with the answer.
    assert.ok(await page.evaluate("localStorage.getItem('mtc_id')"));
    return String(await page.evaluate("localStorage.getItem('svc_device_id')"));
  });

const KNOWN = { local: ["mtc_id", "mtc_sid", "svc_device_id"], session: ["svc_counter"], cookies: [] };
const NOTHING = { local: [], session: [], cookies: [] };

describe("a page view", () => {
  test("an unchanged snippet sends it, and the site keeps three ids and a counter", async () => {
    const url = site.page("/snippet");
    await visit(
      async (page) => {
        await page.goto(url, { referer: "http://search.example/find?q=secret" });
        const hit = await oneHitAt(url);
        assert.deepEqual(
          [hit.url_title, hit.page_language, hit.referer],
          ["/snippet", "en", "search.example"],
        );
        const { page_title, page_url, page_referrer, page_language, platform, ...sent } = hit.query;
        assert.deepEqual(sent, {
          preferred_locale: "de_AT",
          counter: "1",
          timezone: "Europe/Vienna",
          timezone_offset: sent.timezone_offset,
          resolution: "800x600",
          do_not_track: "false",
        });
        assert.match(sent.timezone_offset ?? "", /^-(60|120)$/);
        assert.equal(await deviceOf(page), hit.tracking_id);
        assert.deepEqual(await keptBy(page), KNOWN);
      },
      {
        locale: "de-AT",
        timezoneId: "Europe/Vienna",
        viewport: { width: 700, height: 500 },
        screen: { width: 800, height: 600 },
      },
    );
  });

  test("views in two tabs are one device, and each tab counts its own", async () => {
    const [one, two] = [site.page("/tab-1"), site.page("/tab-2")];
    await visit(async (page, context) => {
      await page.goto(one);
      await deviceOf(page);
      await (await context.newPage()).goto(two);
      const [first, second] = [await oneHitAt(one), await oneHitAt(two)];
      assert.equal(second.tracking_id, first.tracking_id);
      assert.equal(second.contact_id, first.contact_id);
      assert.equal(second.query.counter, "1");
      await page.goto(site.page("/tab-1-again"));
      assert.equal((await oneHitAt(`${site.origin}/tab-1-again`)).query.counter, "2");
    });
  });

  test("first views in two tabs at once are one device", async () => {
    const urls = [site.page("/both-1"), site.page("/both-2")];
    await visit(async (page, context) => {
      const tabs = [page, await context.newPage()];
      await Promise.all(tabs.map((tab, index) => tab.goto(urls[index] ?? "")));
      const [first, second] = [await oneHitAt(urls[0] ?? ""), await oneHitAt(urls[1] ?? "")];
      assert.equal(second.tracking_id, first.tracking_id);
      assert.equal(second.contact_id, first.contact_id);
    });
  });

  test("two views of a new visitor at once are one device", async () => {
    const url = site.page("/twice", { calls: "mt('send','pageview');mt('send','pageview');" });
    await visit(async (page) => {
      await page.goto(url);
      await eventually(async () => {
        const hits = await hitsAt(url);
        assert.equal(hits.length, 2);
        assert.equal(new Set(hits.map((hit) => hit.tracking_id)).size, 1);
      });
    });
  });

  test("the queue works when it is made after the script, under any name and word", async () => {
    const url = site.page("/late", { calls: "" });
    site.pages.set(
      "/late",
      `<!doctype html><title>Late</title><script src="${publicUrl}/mtc.js"></script>
       <script>const names=Object.keys(window);window.OwnTrackingObject="track";window.track=function(){(track.q=track.q||[]).push(arguments)}</script>`,
    );
    await visit(async (page) => {
      await page.goto(url);
      await page.evaluate("track('send', 'pageview', { page_title: 'Called later' })");
      assert.equal((await oneHitAt(url)).url_title, "Called later");
      const globals = "Object.keys(window).filter((name) => !names.includes(name)).sort()";
      assert.deepEqual(await page.evaluate(globals), ["OwnTrackingObject", "track"]);
    });
  });

  test("an attribute is written only where the field is publicly updatable, and one without a text is not sent", async () => {
    const [before, url] = [site.page("/no-attributes"), site.page("/attributes", { calls: "" })];
    await visit(async (page) => {
      await page.goto(before);
      const { contact_id } = await oneHitAt(before);
      const contact = async () => {
        const { status, body } = await api("GET", `contacts/${contact_id}`);
        assert.equal(status, 200);
        return body.contact as Any;
      };
      await eventually(contact);
      await page.goto(url);
      await page.evaluate(
        "mt('send', 'pageview', { tags: 'from-browser', firstname: 'Eve', id: 1, nothing: undefined, object: {} })",
      );
      const { query } = await oneHitAt(url);
      assert.ok(!("nothing" in query) && !("object" in query));
      await eventually(async () => {
        const { tags, fields } = await contact();
        assert.deepEqual(
          tags.map(({ tag }: Any) => tag),
          ["from-browser"],
        );
        assert.equal(fields.all.firstname, null);
      });
    });
  });

  test("an error in the callback of the page does not send the view twice", async () => {
    const url = site.page("/callback", {
      calls: "mt('send','pageview',{},{onload(){window.isLoaded=true;throw new Error('of the page')}});",
    });
    await visit(async (page) => {
      await page.goto(url);
      await page.waitForFunction("window.isLoaded");
      await page.evaluate(
        "new Promise((onload) => mt('send', 'pageview', { page_title: 'Next' }, { onload }))",
      );
      assert.deepEqual(
        (await hitsAt(url)).map((hit) => hit.url_title),
        ["/callback", "Next"],
      );
    });
  });

  test("a sandboxed frame without storage counts its views as one device of its own", async () => {
    const framed = site.page("/framed", { calls: "mt('send','pageview');mt('send','pageview');" });
    site.pages.set("/frame", `<!doctype html><iframe sandbox="allow-scripts" src="/framed"></iframe>`);
    await visit(async (page) => {
      await page.goto(`${site.origin}/frame`);
      await eventually(async () => {
        const hits = await hitsAt(framed);
        assert.equal(hits.length, 2);
        assert.equal(new Set(hits.map((hit) => hit.tracking_id)).size, 1);
      });
      assert.deepEqual(await keptBy(page), NOTHING);
    });
  });
});

describe("leaving", () => {
  test("the next view sets the leave time of the one before", async () => {
    const url = site.page("/application");
    await visit(async (page) => {
      await page.goto(url);
      await deviceOf(page);
      await page.evaluate("history.pushState(null, '', '/application/2'); mt('send', 'pageview')");
      const second = await oneHitAt(`${url}/2`);
      assert.ok((await oneHitAt(url)).date_left);
      assert.equal(second.date_left, null);
    });
  });

  test("closing the page sets the leave time of the device's last hit", async () => {
    const url = site.page("/closed");
    await visit(async (page) => {
      await page.goto(url);
      await deviceOf(page);
      assert.equal((await oneHitAt(url)).date_left, null);
      await page.close({ runBeforeUnload: true });
      await eventually(async () => assert.ok((await oneHitAt(url)).date_left));
    });
  });

  test("a landing page is one hit, and closing it sets the leave time of that hit", async () => {
    const made = await api("POST", "pages/new", {
      title: "Served",
      alias: "served",
      isPublished: true,
      customHtml: "<h1>Served</h1>",
    });
    assert.equal(made.status, 201, made.text);
    await visit(async (page) => {
      const sent = sentBy(page, publicUrl);
      const completed = page.waitForResponse(`${publicUrl}/mtc/event`);
      await page.goto(`${publicUrl}/served`);
      const { id, ...answer } = (await (await completed).json()) as Record<string, unknown>;
      // The device is in a cookie, which no script reads.
      assert.deepEqual(answer, { success: 1, sid: null, device_id: null, events: {} });
      const views = sent.filter((parameters) => parameters.has("page_title"));
      assert.deepEqual(
        views.map((parameters) => [parameters.get("page_title"), parameters.has("hit")]),
        [["Served", true]],
      );
      const hit = await oneHitAt(`${publicUrl}/served`);
      assert.deepEqual([hit.contact_id, hit.date_left], [id, null]);
      assert.match(hit.query.resolution ?? "", /^\d+x\d+$/);
      await page.evaluate("mt('send', 'pageview', { page_url: 'http://shop.example/next' })");
      const next = await oneHitAt("http://shop.example/next");
      assert.deepEqual([next.contact_id, next.tracking_id], [hit.contact_id, hit.tracking_id]);
      assert.ok((await oneHitAt(`${publicUrl}/served`)).date_left);
      await page.close({ runBeforeUnload: true });
      await eventually(async () => assert.ok((await oneHitAt("http://shop.example/next")).date_left));
    });
  });
});

describe("a network that does not work", () => {
  test("a page that may not call the public web is counted by the image", async () => {
    const url = site.page("/image", {
      calls: "mt('send','pageview',{page_title:'Grüße, 日本'},{onload(){window.isLoaded=true}});",
    });
    await visit(async (page) => {
      await page.route("**/mtc/event", (route) => route.abort());
      await page.goto(url);
      await page.waitForFunction("window.isLoaded");
      assert.equal((await oneHitAt(url)).url_title, "Grüße, 日本");
      const local = ["svc_device_id"];
      assert.deepEqual(await keptBy(page), { local, session: ["svc_counter"], cookies: [] });
    });
  });

  test("views while offline are sent with the next one, in their order and as one device", async () => {
    const [before, next] = [site.page("/offline", { calls: "" }), site.page("/online")];
    await visit(async (page, context) => {
      await page.goto(before);
      await scriptIsReady(page);
      await context.setOffline(true);
      const view = (title: string) =>
        page.evaluate(
          `new Promise((onerror) => mt('send', 'pageview', { page_title: '${title}' }, { onerror }))`,
        );
      await view("First");
      await view("Second");
      const local = ["svc_device_id", "svc_waiting"];
      assert.deepEqual(await keptBy(page), { local, session: ["svc_counter"], cookies: [] });
      await context.setOffline(false);
      await page.goto(next);
      const last = await oneHitAt(next);
      const offline = await hitsAt(before);
      assert.deepEqual(
        offline.map((hit) => [hit.url_title, hit.tracking_id]),
        [
          ["First", last.tracking_id],
          ["Second", last.tracking_id],
        ],
      );
      assert.ok(last.id > (offline.at(-1)?.id ?? ""));
      await deviceOf(page);
      assert.deepEqual(await keptBy(page), KNOWN);
    });
  });

  test("a view whose answer was lost is sent again and counts once, and so does the next one", async () => {
    const [lost, next] = [site.page("/lost"), site.page("/after-lost")];
    await visit(async (page) => {
      // The public web records the views, and no answer arrives.
      const unanswered = async (route: Route) => {
        const { pathname, search } = new URL(route.request().url());
        const [method, body] = [route.request().method(), route.request().postData()];
        const type = { "content-type": "application/x-www-form-urlencoded" };
        const own = visitor(baseUrl, { host: new URL(publicUrl).host });
        await own.ask(pathname + search, { method, ...(body && { body, headers: type }) });
        await route.abort();
      };
      await page.route("**/mtc/event", unanswered);
      await page.route("**/mtracking.gif*", unanswered);
      await page.goto(lost);
      await page.waitForFunction("localStorage.svc_waiting");
      await page.unrouteAll({ behavior: "wait" });
      await page.goto(next);
      const last = await oneHitAt(next);
      const first = await oneHitAt(lost);
      assert.deepEqual([first.tracking_id, first.contact_id], [last.tracking_id, last.contact_id]);
      assert.ok(first.date_left, "the next view leaves the one that was recorded");
    });
  });

  test("at most 20 views and 20 kB of them wait, the latest ones", async () => {
    const url = site.page("/bounded", { calls: "" });
    await visit(async (page, context) => {
      await page.goto(url);
      await scriptIsReady(page);
      await context.setOffline(true);
      const stored = async (attributes: string): Promise<{ page_title: string }[]> => {
        await page.evaluate(`Promise.all(Array.from({ length: 20 }, (_, index) =>
          new Promise((onerror) => mt('send', 'pageview', ${attributes}, { onerror }))))`);
        return JSON.parse(String(await page.evaluate("localStorage.svc_waiting")));
      };
      assert.equal((await stored("{ page_title: 'early' }")).length, 20);
      const views = await stored("{ page_title: String(index) }");
      assert.deepEqual(
        views.map((view) => view.page_title),
        Array.from({ length: 20 }, (_, index) => String(index)),
      );
      const long = await stored("{ page_title: String(index), text: 'x'.repeat(3_000) }");
      assert.ok(JSON.stringify(long).length <= 20_000);
      assert.equal(long.at(-1)?.page_title, "19");
    });
  });

  test("a view that the public web refuses for the moment waits, and one that it refuses for good does not", async () => {
    const url = site.page("/refused", { calls: "" });
    await visit(async (page) => {
      await page.goto(url);
      await scriptIsReady(page);
      for (const [status, local] of [
        [503, ["svc_device_id", "svc_waiting"]],
        [400, ["svc_device_id"]],
      ] as const) {
        await page.route("**/mtc/event", (route) => route.fulfill({ status, body: "{}", headers: SHARED }));
        await page.evaluate("new Promise((onerror) => mt('send', 'pageview', {}, { onerror }))");
        assert.deepEqual((await keptBy(page)).local, local, String(status));
        await page.unrouteAll();
        await page.evaluate("localStorage.clear()");
      }
    });
  });
});

/** Headers of answers that every site may read. */
const SHARED = { "access-control-allow-origin": "*" };

describe("visitors who do not want to be recognised", () => {
  const signals = [
    { name: "DNT", header: { dnt: "1" }, member: "doNotTrack", value: "'1'" },
    { name: "GPC", header: { "sec-gpc": "1" }, member: "globalPrivacyControl", value: "true" },
  ];
  for (const { name, header, member, value } of signals)
    test(`with ${name} no name is kept, earlier ids go, and the view is sent without any`, async () => {
      const [before, url] = [site.page(`/${name}-before`), site.page(`/${name}`)];
      await visit(async (page, context) => {
        await page.goto(before);
        await deviceOf(page);
        await context.setExtraHTTPHeaders(header);
        await context.addInitScript(`Object.defineProperty(navigator, '${member}', { get: () => ${value} })`);
        const sent = sentBy(page, publicUrl);
        const answered = page.waitForResponse(`${publicUrl}/mtc/event`);
        await page.goto(url);
        assert.equal(((await (await answered).json()) as Any).id, null);
        const views = sent.filter((parameters) => parameters.get("page_url") === url);
        assert.deepEqual(
          views.map((parameters) => parameters.get("do_not_track")),
          ["true"],
        );
        const ids = /^(mtc_id|mtc_sid|svc_device_id|consent)$/;
        assert.deepEqual(
          views.flatMap((parameters) => [...parameters.keys()].filter((key) => ids.test(key))),
          [],
        );
        await page.evaluate("mt('consent', true)");
        assert.deepEqual(await keptBy(page), NOTHING);
        assert.deepEqual(await hitsAt(url), []);
      });
    });

  test("refusal deletes the device and its ids, and later pages send no views until it is taken back", async () => {
    const [url, silent, again] = [
      site.page("/agreed"),
      site.page("/silent"),
      site.page("/again", { calls: "mt('consent', true);mt('send','pageview');" }),
    ];
    await visit(async (page) => {
      await page.goto(url);
      const device = await deviceOf(page);
      assert.equal((await devicesOf(device)).length, 1);
      await page.evaluate("mt('consent', false); mt('send', 'pageview')");
      await eventuallyEqual(() => devicesOf(device), []);
      assert.deepEqual(await keptBy(page), { local: ["svc_consent"], session: [], cookies: [] });
      const sent = sentBy(page, publicUrl);
      await page.goto(silent);
      await scriptIsReady(page);
      assert.equal(sent.length, 0);
      await page.goto(again);
      assert.notEqual((await oneHitAt(again)).tracking_id, device);
      await deviceOf(page);
      assert.deepEqual(await keptBy(page), KNOWN);
      assert.deepEqual(await hitsAt(silent), []);
      assert.equal((await hitsAt(url)).length, 1);
    });
  });

  test("with TRACKING_CONSENT=off a browser that signals refusal is recognised all the same", async () => {
    const url = site.page("/off");
    const ids = { success: 1, id: 7, sid: "s", device_id: "s" };
    await visit(async (page, context) => {
      await context.addInitScript("Object.defineProperty(navigator, 'doNotTrack', { get: () => '1' })");
      const body = (await server.ask("/mtc.js")).text.replace('"consent":"signal"', '"consent":"off"');
      await page.route("**/mtc.js", (route) =>
        route.fulfill({ body, contentType: "application/javascript" }),
      );
      await page.route("**/mtc/event", (route) => route.fulfill({ json: ids, headers: SHARED }));
      await page.goto(url);
      await deviceOf(page);
      assert.deepEqual(await keptBy(page), KNOWN);
    });
  });
});

test("slots are filled for a visitor who is known, and keep their own content elsewhere", async () => {
  const made = await api("POST", "dynamiccontents/new", {
    name: "For Viennese",
    isPublished: true,
    isCampaignBased: false,
    slotName: "browser-top",
    content: "<b>Servus</b>",
    filters: [
      {
        ...{ glue: "and", field: "timezone", object: "lead", type: "timezone", operator: "=" },
        properties: { filter: "Europe/Vienna" },
      },
    ],
  });
  assert.equal(made.status, 201, made.text);
  const url = site.page("/slots", {
    body: `<div data-slot="dwc" data-param-slot-name="browser-top">Hello</div>
      <p class="svc-slot" data-slot-name="browser-top">Hello</p>
      <p data-slot="dwc" data-param-slot-name="empty">Default</p>`,
  });
  await visit(
    async (page) => {
      // The contact service knows the contact a moment after its first hit.
      await eventually(async () => {
        const answered = page.waitForResponse(`${publicUrl}/dwc/browser-top?*`);
        await page.goto(url);
        assert.equal((await answered).status(), 200);
      });
      await eventuallyEqual(
        () => page.evaluate("[...document.body.children].map((element) => element.innerHTML)"),
        ["<b>Servus</b>", "<b>Servus</b>", "Default"],
      );
      assert.deepEqual(await keptBy(page), KNOWN);
    },
    { timezoneId: "Europe/Vienna" },
  );
});

test("GET /mtc.js answers less than 5 KB that every site may load, and 304 to a browser that has it", async () => {
  const script = await server.ask("/mtc.js");
  assert.ok(Buffer.byteLength(script.text) < 5_000, `${Buffer.byteLength(script.text)} bytes`);
  assert.deepEqual(
    ["content-type", "cache-control", "cross-origin-resource-policy", "set-cookie"].map(
      (name) => script.headers[name],
    ),
    ["application/javascript; charset=utf-8", "public, max-age=300", "cross-origin", undefined],
  );
  const { etag } = script.headers;
  for (const tag of [String(etag), `W/${etag}`, `"other", ${etag}`]) {
    const again = await server.ask("/mtc.js", { headers: { "if-none-match": tag } });
    assert.deepEqual([again.status, again.text], [304, ""], tag);
  }
});
