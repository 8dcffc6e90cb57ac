import assert from "node:assert/strict";
import { after, test } from "node:test";
import { VideoHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { eventually } from "@tidings/testkit/eventually";
import { make } from "./people.ts";
import { publishedOn } from "./published.ts";
import { query } from "./query.ts";
import { scrapeProcess } from "./scrape.ts";
import { startTestStack } from "./stack.ts";
import { visitor } from "./visitor.ts";

/** Players of videos report how far these were watched. */

const TOKEN_KEY = generateSecretKey();
const stack = await startTestStack({
  env: {
    gateway: {
      ...{ TRUSTED_PROXIES: "127.0.0.1/32", TRACKING_RATE: "0", PUBLIC_RATE_LIMIT: "0" },
      // A busy machine refuses hits first, of 64 at once some.
      PUBLIC_REQUESTS_IN_FLIGHT: "2000",
    },
    content: { PUBLIC_TOKEN_KEYS: TOKEN_KEY, HITS_DAYS: "62" },
  },
});
after(() => stack.stop());
const { api, baseUrl, database } = stack;

const report = (
  members: Record<string, string>,
  headers: Record<string, string> = {},
  browser = visitor(baseUrl),
) =>
  browser.ask("/video/hit", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(members).toString(),
  });
const hitsOf = (guid: string) =>
  query(database, `select * from content.video_hits where guid = '${guid}' order by id`);
const VIDEO = "https://videos.example/intro.mp4";

// The first ids for contacts come from the contact service.
await eventually(async () => assert.equal((await report({ guid: "ready" })).json.success, 1));

test("reports of one player are one hit of its visitor, whose time watched grows with its version", async () => {
  const browser = visitor(baseUrl);
  const headers = { "x-forwarded-for": "93.184.216.34", referer: "https://shop.example/a" };
  const first = await report(
    { guid: "grows", total_watched: "5.7", duration: "120", url: VIDEO },
    headers,
    browser,
  );
  assert.equal(first.json.success, 1);
  assert.match(String(first.json.device_id), /^[a-z0-9]{23}$/);
  for (const total_watched of ["40", "12", "x"])
    await report({ guid: "grows", total_watched, duration: "120", url: VIDEO }, headers, browser);
  const [hit, ...others] = await hitsOf("grows");
  assert.deepEqual(others, []);
  const expected = {
    version: 4,
    contact_id: first.json.id,
    time_watched: 40,
    duration: 120,
    url: VIDEO,
    ip: "93.184.216.34",
    referer: "https://shop.example/a",
    code: 200,
    verdict: "human",
    channel: null,
    tracking_id: first.json.device_id,
  };
  const said = Object.fromEntries(Object.keys(expected).map((name) => [name, hit?.[name]]));
  assert.deepEqual(said, expected);
  assert.ok(hit?.date_left);
  const events = (await publishedOn(stack, "tidings.content.video.hit", VideoHitsSchema))
    .flatMap(({ hits }) => hits)
    .filter(({ guid }) => guid === "grows");
  assert.deepEqual(
    events.map(({ id, version, timeWatched }) => [id, version, timeWatched]),
    [5, 40, 40, 40].map((watched, index) => [hit?.id, index + 1, watched]),
  );
  const latest = events.at(-1);
  assert.deepEqual(
    [latest?.url, latest?.duration, latest?.contactId, latest?.ip],
    [VIDEO, 120, first.json.id, "93.184.216.34"],
  );
});

test("64 reports of one player at once are one hit, and two browsers under one name are two", async () => {
  const [one, other] = ["videobrowser00000000001", "videobrowser00000000002"] as const;
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      report({ guid: "shared", total_watched: String(index + 1), svc_device_id: index % 2 ? one : other }),
    ),
  );
  for (const { status, json } of answers) assert.deepEqual([status, json.success], [200, 1]);
  const hits = await hitsOf("shared");
  assert.deepEqual(hits.map(({ tracking_id, time_watched }) => [tracking_id, time_watched]).toSorted(), [
    [one, 64],
    [other, 63],
  ]);
});

test("a report counts without what of it cannot be read", async () => {
  const hostile = [
    "guid=forgiving&total_watched=-1&duration=NaN&url=javascript:alert(1)",
    `guid=forgiving&total_watched=1e400&duration=${"9".repeat(400)}&url=${"x".repeat(5_000)}`,
    "guid=forgiving&total_watched=%FF%00&duration=Infinity",
  ];
  const browser = visitor(baseUrl);
  for (const body of hostile) {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const answer = await browser.ask("/video/hit", { method: "POST", headers, body });
    assert.deepEqual([answer.status, answer.json.success], [200, 1]);
  }
  const [hit, ...others] = await hitsOf("forgiving");
  assert.deepEqual([hit?.url, hit?.time_watched, hit?.duration, others], [null, 604_800, 604_800, []]);
  assert.equal((await report({ guid: "g".repeat(20_000) })).json.success, 1);
  assert.equal((await hitsOf("g".repeat(191))).length, 1);
  assert.equal((await report({ guid: "forged", ct: "x" })).json.success, 0);
  assert.deepEqual(await hitsOf("forged"), []);
  assert.equal((await visitor(baseUrl).ask("/video/hit")).status, 405);
});

test("a person who may not be known leaves no row, and a machine one without a contact", async () => {
  const person = visitor(baseUrl);
  assert.equal((await report({ guid: "private" }, { dnt: "1" }, person)).json.id, null);
  assert.equal(person.cookies.size, 0);
  assert.deepEqual(await hitsOf("private"), []);
  const machine = visitor(baseUrl, { agent: "Googlebot/2.1 (+http://www.google.com/bot.html)" });
  await report({ guid: "machine" }, {}, machine);
  const [hit] = await hitsOf("machine");
  assert.deepEqual([hit?.contact_id, hit?.verdict], [null, "machine"]);
});

test("tidings_video_reports_total counts recorded reports by the verdict on their visitor", async () => {
  const verdicts = ["human", "nobody", "machine"];
  const counts = async () => {
    const { value } = await scrapeProcess(stack, "content");
    return verdicts.map((verdict) => value("tidings_video_reports_total", { verdict }) ?? 0);
  };
  const before = await counts();
  const browser = visitor(baseUrl);
  for (const total_watched of ["1", "2"]) await report({ guid: "measured", total_watched }, {}, browser);
  await report({ guid: "measured" }, { dnt: "1" });
  await report({ guid: "measured" }, {}, visitor(baseUrl, { agent: "Googlebot/2.1" }));
  const added = [2, 1, 1];
  assert.deepEqual(
    await counts(),
    before.map((count, index) => count + (added[index] ?? 0)),
  );
});

test("a signed link gives the contact and the channel, and sites elsewhere may read the answer", async () => {
  const { id } = await make(api, "contacts", "contact", { firstname: "Ada" });
  const ct = publicTokens([TOKEN_KEY], "click").sign(`${id} email 7 7`);
  const answer = await report({ guid: "linked", ct }, { origin: "https://shop.example" });
  assert.equal(answer.headers["access-control-allow-origin"], "*");
  const [hit] = await hitsOf("linked");
  assert.deepEqual([hit?.contact_id, hit?.channel, hit?.channel_id], [id, "email", 7]);
  const preflight = await visitor(baseUrl).ask("/video/hit", {
    method: "OPTIONS",
    headers: { origin: "https://shop.example", "access-control-request-method": "POST" },
  });
  assert.equal(preflight.status, 204);
});

test("a deleted contact's videos go, and a merged one's are the survivor's", async () => {
  const [kept, gone] = [visitor(baseUrl), visitor(baseUrl)];
  const merged = (await report({ guid: "merged" }, {}, kept)).json.id;
  const erased = (await report({ guid: "erased" }, {}, gone)).json.id;
  const { id: survivor } = await make(api, "contacts", "contact", { firstname: "Grace" });
  for (const id of [merged, erased])
    await eventually(async () => assert.equal((await api("GET", `contacts/${id}`)).status, 200));
  const ct = publicTokens([TOKEN_KEY], "click").sign(`${survivor} email 7 7`);
  await report({ guid: "proof", ct }, {}, kept);
  assert.equal((await api("DELETE", `contacts/${erased}/delete`)).status, 200);
  await eventually(async () => {
    assert.deepEqual(await hitsOf("erased"), []);
    assert.equal((await hitsOf("merged"))[0]?.contact_id, survivor);
  });
});

test("months of visits that are older than HITS_DAYS are detached, and their sums stay", async () => {
  const page = await make(api, "pages", "page", { title: "Old", alias: "old", isPublished: true });
  const tables = {
    page_hits: "date_hit",
    asset_downloads: "date_download",
    video_hits: "date_hit",
    focus_stats: "date_added",
  };
  const old = "2020-01-15";
  for (const [table, column] of Object.entries(tables))
    await query(
      database,
      `set search_path to content;
       create table ${table}_2020_01 partition of ${table} for values from ('2020-01-01') to ('2020-02-01');
       insert into ${table} (id, contact_id, ${column}) values (gen_random_uuid(), 1, '${old}')`,
    );
  await query(
    database,
    `update content.pages set hits = 1 where id = ${page.id};
     insert into content.dynamic_content_stats (id, dynamic_content_id, contact_id, source, date_sent, last_sent)
       values (gen_random_uuid(), 1, 1, 'old', '${old}', '${old}'), (gen_random_uuid(), 1, 1, 'new', '${old}', now());
     update content.jobs set due_at = now() where kind in ('month_partitions', 'shown_retention')`,
  );
  await eventually(async () => {
    for (const [table, column] of Object.entries(tables)) {
      const rows = await query(database, `select 1 from content.${table} where ${column} < '2021-01-01'`);
      assert.deepEqual(rows, [], table);
      assert.equal((await query(database, `select 1 from content.${table}_2020_01`)).length, 1, table);
    }
    const shown = await query(
      database,
      "select source from content.dynamic_content_stats where contact_id = 1",
    );
    assert.deepEqual(shown, [{ source: "new" }]);
  });
  assert.equal((await hitsOf("grows")).length, 1);
  const { body } = await api("GET", `pages/${page.id}`);
  assert.equal((body as unknown as { page: { hits: number } }).page.hits, 1);
});
