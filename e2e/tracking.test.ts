import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Visitors of pages that are tracked, through the gateway. */

const stack = await startVisitedStack();
after(() => stack.stop());
const { api, baseUrl, query } = stack;

/** Members of an answer, as a test reads them. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const page = (path: string) => ({ page_url: `https://shop.example${path}`, page_title: `Page ${path}` });
const ADDRESS = { "x-forwarded-for": "93.184.216.34" };

async function contact(id: unknown) {
  const { status, body } = await api("GET", `contacts/${id}`);
  assert.equal(status, 200);
  return body.contact as Any;
}

async function letVisitorsSayEmail() {
  const { fields } = (await api("GET", "fields/contact?search=email&limit=5")).body as Any;
  const email = fields.find((field: { alias: string }) => field.alias === "email");
  await api("PATCH", `fields/contact/${email.id}/edit`, { isPubliclyUpdatable: true });
}

test("a first hit makes an anonymous contact, and a second one is that contact's", async () => {
  const browser = visitor(baseUrl);
  const first = await browser.hit({ ...page("/a?utm_source=letter"), timezone: "Europe/Vienna" }, ADDRESS);
  assert.equal(first.json.success, 1);
  assert.match(String(first.json.device_id), /^[a-z0-9]{23}$/);
  assert.equal(browser.cookies.get("svc_device_id"), first.json.device_id);
  assert.equal(browser.cookies.get("mtc_id"), String(first.json.id));
  const second = await browser.hit(page("/b"), ADDRESS);
  assert.equal(second.json.id, first.json.id);
  await eventually(async () => {
    const { fields, ipAddresses, utmtags } = await contact(first.json.id);
    assert.equal(fields.all.timezone, "Europe/Vienna");
    assert.deepEqual(Object.keys(ipAddresses), ["93.184.216.34"]);
    assert.equal(utmtags[0].utmSource, "letter");
    const { body } = await api("GET", `contacts/${first.json.id}/devices`);
    assert.equal((body as Any).devices[0].deviceOsName, "Windows");
  });
  const hits = await query(
    `select url, date_left is not null as is_left, version from content.page_hits where contact_id = ${first.json.id} order by id`,
  );
  assert.deepEqual(
    hits.map((hit) => [hit.url, hit.is_left, hit.version]),
    [
      ["https://shop.example/a?utm_source=letter", true, 2],
      ["https://shop.example/b", false, 1],
    ],
  );
});

test("64 first hits of one device at once are one contact", async () => {
  const id = "abcdefghijklmnopqrstuv1";
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      visitor(baseUrl).hit({ ...page(`/${index}`), svc_device_id: id }),
    ),
  );
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
  const [row] = await query(
    `select count(*)::int as hits from content.page_hits where tracking_id = '${id}'`,
  );
  assert.equal(row?.hits, 64);
  await eventually(() => contact(answers[0]?.json.id));
});

test("machines, and people who do not want to be known, become no contacts and get no cookies", async () => {
  const machine = visitor(baseUrl, { agent: "Googlebot/2.1 (+http://www.google.com/bot.html)" });
  assert.deepEqual((await machine.hit(page("/machine"))).json, {
    success: 1,
    id: null,
    sid: null,
    device_id: null,
    events: {},
  });
  assert.equal(machine.cookies.size, 0);
  const [kept] = await query(
    "select verdict, verdict_reason, contact_id from content.page_hits where url like '%/machine'",
  );
  assert.deepEqual(kept, { verdict: "machine", verdict_reason: "agent", contact_id: null });
  for (const headers of [{ dnt: "1" }, { "sec-gpc": "1" }]) {
    const person = visitor(baseUrl);
    assert.equal((await person.hit(page("/private"), headers)).json.id, null);
    assert.equal(person.cookies.size, 0);
  }
  assert.deepEqual(await query("select 1 from content.page_hits where url like '%/private'"), []);
  const [headed] = [await visitor(baseUrl).ask("/mtc", { headers: { "sec-purpose": "prefetch" } })];
  assert.deepEqual(headed?.json, []);
});

test("the image records a hit by its query, plain or packed in either way", async () => {
  const gif = async (path: string) => {
    const answer = await visitor(baseUrl).ask(path, {
      headers: { referer: "https://shop.example/by-referer" },
    });
    assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "image/gif"]);
  };
  await gif("/mtracking.gif?page_url=https%3A%2F%2Fshop.example%2Fplain");
  await gif("/mtracking.gif");
  const packed = Buffer.from(JSON.stringify({ page_url: "https://shop.example/json" })).toString("base64");
  await gif(`/mtracking.gif?d=${encodeURIComponent(packed)}`);
  const url = "https://shop.example/serialised";
  const older = Buffer.from(`a:1:{s:8:"page_url";s:${url.length}:"${url}";}`).toString("base64");
  await gif(`/mtracking.gif?d=${encodeURIComponent(older)}`);
  const object = Buffer.from('O:8:"stdClass":1:{s:8:"page_url";s:1:"x";}').toString("base64");
  await gif(`/mtracking.gif?d=${encodeURIComponent(object)}`);
  for (const path of ["plain", "by-referer", "json", "serialised"])
    assert.equal(
      (await query(`select 1 from content.page_hits where url = 'https://shop.example/${path}'`)).length > 0,
      true,
      path,
    );
});

test("a hit counts without the members of it that cannot be read", async () => {
  const answer = await visitor(baseUrl).ask(`/mtc/event?page_title=%FF%00&${"x=1&".repeat(300)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"page_url": {"a": 1}, "page_language": ["x"], "tags": ',
  });
  assert.equal(answer.json.success, 1);
  const long = await visitor(baseUrl).hit({
    ...page("/long"),
    page_title: "t".repeat(20_000),
    page_referrer: "\u202E\0",
  });
  assert.equal(long.json.success, 1);
});

test("a hit with publicly updatable values finds the contact, merges the visitor in, and shows nothing of it", async () => {
  await letVisitorsSayEmail();
  const known = (await api("POST", "contacts/new", { firstname: "Ada", email: "ada@tracked.example" })).body
    .contact;
  const browser = visitor(baseUrl);
  const before = await browser.hit(page("/before"));
  const said = { ...page("/said"), email: "ada@tracked.example", firstname: "Eve" };
  await eventually(async () => {
    assert.equal((await browser.hit(said)).json.id, before.json.id, "the id that was given first");
    const [hit] = await query("select contact_id from content.page_hits where url like '%/before'");
    assert.equal(hit?.contact_id, known.id);
  });
  assert.equal((await contact(known.id)).fields.all.firstname, "Ada", "firstname is not publicly updatable");
});

test("the values of first hits are all kept, whether the visitor or the values arrive first", async () => {
  await letVisitorsSayEmail();
  const emails = Array.from({ length: 60 }, (_, index) => `first${index}@tracked.example`);
  const answers = await Promise.all(
    emails.map((email, index) =>
      visitor(baseUrl).hit({ ...page(`/first/${index}`), email, tags: "first-hit" }),
    ),
  );
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, emails.length);
  await eventually(async () => {
    const { body } = await api("GET", "contacts?search=tag:first-hit&limit=100");
    const kept = Object.values((body as Any).contacts).map((each) => (each as Any).fields.all.email);
    assert.deepEqual(kept.toSorted(), emails.toSorted());
  });
});

test("new visitors who say the same address at the same time are one contact, and no values are lost", async () => {
  await letVisitorsSayEmail();
  const tags = Array.from({ length: 24 }, (_, index) => `same-${index}`);
  await Promise.all(
    tags.map((tag) => visitor(baseUrl).hit({ ...page("/same"), email: "same@tracked.example", tags: tag })),
  );
  await eventually(async () => {
    const { body } = await api("GET", "contacts?search=email:same@tracked.example");
    const found = Object.values((body as Any).contacts) as Any[];
    assert.equal(found.length, 1);
    const kept = found[0].tags.map(({ tag }: { tag: string }) => tag);
    assert.deepEqual(kept.toSorted(), tags.toSorted());
  });
});

test("a report of leaving sets the leave time of the device's last hit, and makes neither hit nor contact", async () => {
  const browser = visitor(baseUrl);
  await browser.hit(page("/stayed"));
  const { device_id } = (await browser.hit(page("/left"))).json;
  const left = async () =>
    (
      await query(
        `select date_left from content.page_hits where tracking_id = '${device_id}' order by id desc`,
      )
    )[0]?.date_left;
  assert.equal(await left(), null);
  const unknown = "abcdefghijklmnopqrstuv9";
  for (const members of [{ left: "1" }, { left: "1", svc_device_id: unknown }]) {
    const nobody = await visitor(baseUrl).hit(members);
    assert.deepEqual([nobody.json.success, nobody.json.device_id], [1, null]);
  }
  assert.equal(await left(), null);
  assert.equal((await visitor(baseUrl).hit({ left: "1", svc_device_id: String(device_id) })).json.success, 1);
  const leftAt = await left();
  assert.ok(leftAt);
  await browser.hit({ left: "1" });
  assert.deepEqual(await left(), leftAt, "the first report counts");
  const ids = `('${device_id}', '${unknown}')`;
  assert.equal((await query(`select 1 from content.page_hits where tracking_id in ${ids}`)).length, 2);
  assert.equal((await query(`select 1 from content.visitor_devices where id in ${ids}`)).length, 1);
});

test("a report of leaving marks the hit that it names, by its signed id or its address, and no other tab's", async () => {
  const browser = visitor(baseUrl);
  const device = browser.hit({ ...page("/tab-0") }).then(({ json }) => String(json.device_id));
  const id = await device;
  const one = await browser.hit(page("/tab-1"));
  const two = await browser.hit(page("/tab-2"));
  await browser.hit(page("/tab-3"));
  const times = async () =>
    Object.fromEntries(
      (
        await query(
          `select right(url, 5) as tab, date_left is not null as is_left from content.page_hits where tracking_id = '${id}'`,
        )
      ).map(({ tab, is_left }) => [tab, is_left]),
    );
  // Each view leaves the one before.
  assert.deepEqual(await times(), { "tab-0": true, "tab-1": true, "tab-2": true, "tab-3": false });
  await query(`update content.page_hits set date_left = null where tracking_id = '${id}'`);
  await browser.hit({ left: "1", hit: String(one.json.hit) });
  assert.deepEqual(await times(), { "tab-0": false, "tab-1": true, "tab-2": false, "tab-3": false });
  await browser.hit({ left: "1", page_url: "https://shop.example/tab-0" });
  assert.deepEqual(await times(), { "tab-0": true, "tab-1": true, "tab-2": false, "tab-3": false });
  await browser.hit({ left: "1", page_url: "https://shop.example/elsewhere" });
  await visitor(baseUrl).hit({ left: "1", page_url: "https://shop.example/tab-2" });
  await browser.hit({ left: "1", hit: `${two.json.hit}x`, page_url: "https://shop.example/elsewhere" });
  assert.deepEqual(await times(), { "tab-0": true, "tab-1": true, "tab-2": false, "tab-3": false });
});

test("a hit that is sent again under its key counts once: one row, one event, one contact, one UTM row", async () => {
  const browser = visitor(baseUrl);
  const sent = {
    ...page("/keyed?utm_source=keyed"),
    svc_device_id: "keyedbrowser00000000001",
    hit_key: "0b7d6a2e-4f7d-4c59-9f0a-1d2c3b4a5f60",
  };
  const answers = await Promise.all(Array.from({ length: 32 }, () => visitor(baseUrl).hit(sent)));
  const [id] = answers.map(({ json }) => json.id);
  assert.ok(answers.every(({ json }) => json.success === 1 && json.id === id));
  const hits = async () =>
    (
      await query(
        "select url from content.page_hits where tracking_id = 'keyedbrowser00000000001' order by id",
      )
    ).map(({ url }) => String(url).slice(20));
  assert.deepEqual(await hits(), ["/keyed?utm_source=keyed"]);
  const next = { ...sent, ...page("/next"), hit_key: "n".repeat(23) };
  await browser.hit(next);
  // The one before comes once more, late.
  await browser.hit(sent);
  await browser.hit({ ...next, hit_key: "o".repeat(23) });
  assert.deepEqual(await hits(), ["/keyed?utm_source=keyed", "/next", "/next"]);
  const open = await query(
    "select url from content.page_hits where tracking_id = 'keyedbrowser00000000001' and date_left is null",
  );
  assert.equal(open.length, 1, "the late one is not the page that the visitor is on");
  for (const hit_key of ["", "short", "x".repeat(65), `${"k".repeat(22)}é`])
    await browser.hit({ ...next, hit_key });
  assert.equal((await hits()).length, 7, "a text that is no key names nothing");
  await eventually(async () => {
    const { utmtags } = await contact(id);
    assert.deepEqual(
      utmtags.map(({ utmSource }: Any) => utmSource),
      ["keyed"],
    );
  });
});

test("an address without a page is a hit with code 404, of a machine too, and not for an icon", async () => {
  const browser = visitor(baseUrl);
  const missing = await browser.ask("/no-such-page?utm_source=letter&a=1", { headers: ADDRESS });
  assert.equal(missing.status, 404);
  assert.match(missing.text, /<h1>Not found<\/h1>/);
  const hits = () => query("select * from content.page_hits where url like '%/no-such-page%' order by id");
  const [hit] = await hits();
  assert.deepEqual(
    [hit?.code, hit?.page_id, hit?.contact_id, hit?.verdict, (hit as Any).query.a],
    [404, null, Number(browser.cookies.get("mtc_id")), "human", "1"],
  );
  const machine = visitor(baseUrl, { agent: "Googlebot/2.1 (+http://www.google.com/bot.html)" });
  assert.equal((await machine.ask("/no-such-page")).status, 404);
  assert.deepEqual(
    (await hits()).map(({ contact_id, verdict }) => [contact_id === null, verdict]),
    [
      [false, "human"],
      [true, "machine"],
    ],
  );
  for (const headers of [{ "sec-fetch-dest": "image" }, { dnt: "1" }] as Record<string, string>[])
    assert.equal((await visitor(baseUrl).ask("/no-such-page", { headers })).status, 404);
  assert.equal((await hits()).length, 2);
});

test("segments follow hits, and the contact's timeline of pages moves with a merge", async () => {
  const browser = visitor(baseUrl);
  const { id } = (await browser.hit(page("/wanted"))).json;
  const segment = (
    await api("POST", "segments/new", {
      name: "Wanted",
      filters: [
        {
          glue: "and",
          field: "hit_url",
          object: "behaviors",
          type: "text",
          operator: "endsWith",
          properties: { filter: "/wanted-2" },
        },
      ],
    })
  ).body as Any;
  await eventually(() => contact(id));
  await browser.hit(page("/wanted-2"));
  await eventually(async () => {
    const { body } = await api("GET", `contacts?search=segment:${segment.list.alias}`);
    assert.deepEqual(Object.keys(body.contacts), [String(id)]);
  });
});

test("other origins are refused where origins are named", async () => {
  const browser = visitor(baseUrl);
  const answer = await browser.hit(page("/origin"), { origin: "https://shop.example" });
  assert.equal(answer.headers["access-control-allow-origin"], "*");
  assert.equal(answer.headers["access-control-allow-credentials"], undefined);
});

test("consent that is taken back deletes cookie and device", async () => {
  const browser = visitor(baseUrl);
  await browser.hit(page("/kept"));
  const device = browser.cookies.get("svc_device_id");
  await browser.hit({ ...page("/withdrawn"), consent: "0" });
  assert.equal(browser.cookies.get("svc_device_id"), undefined);
  assert.deepEqual(await query(`select 1 from content.visitor_devices where id = '${device}'`), []);
});
