import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Entity } from "./client.ts";
import { FIRST_FIELD, MAIL_FIELD, thankingForm } from "./form-fields.ts";
import { make } from "./people.ts";
import { query } from "./query.ts";
import { startTestStack } from "./stack.ts";
import { uploader } from "./uploader.ts";
import { visitor } from "./visitor.ts";

/** Every setting of docs/tracking.md that others leave at its default, at another value. */

const SHOP = "https://shop.example";
const stack = await startTestStack({
  env: {
    gateway: {
      TRUSTED_PROXIES: "127.0.0.1/32",
      TRACKING_RATE: "1/min burst 6",
      FORM_RATE: "2/min",
      FORM_RATE_OF_ALL: "12/min",
      DOWNLOAD_RATE: "3/min",
      PREVIEW_RATE: "1/min",
    },
    content: {
      PUBLIC_PREFIX: "acme",
      TRACKING_ORIGINS: SHOP,
      TRACKING_CONSENT: "off",
      TRACKING_IP: "short",
      DO_NOT_TRACK_IPS: "198.51.100.0/24",
      MACHINE_NETWORKS: "203.0.113.0/24",
      BOT_AGENTS: "Acmewatch",
      FORM_UPDATES: "proven",
      FORM_BYTES_MAX: "2000",
    },
  },
});
after(() => stack.stop());
const { api, baseUrl, database } = stack;

let hosts = 0;
/** The headers of a person at an address of their own: limits count by it. */
const somebody = (): Record<string, string> => ({ "x-forwarded-for": `93.184.${++hosts}.34` });
const page = (path: string) => ({ page_url: `${SHOP}${path}`, page_title: path });
const hitAt = async (path: string) => {
  const [hit] = await query(database, `select * from content.page_hits where url = '${SHOP}${path}'`);
  return hit;
};
const form = (
  await make(
    api,
    "forms",
    "form",
    thankingForm("Limited", [
      MAIL_FIELD,
      FIRST_FIELD,
      { label: "Last", alias: "last", type: "text", mappedObject: "contact", mappedField: "lastname" },
    ]),
  )
).id;
const send = (members: Record<string, string>, headers = somebody(), browser = visitor(baseUrl)) =>
  browser.ask(`/form/submit/ajax?formId=${form}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(members).toString(),
  });

await eventually(async () =>
  assert.equal((await visitor(baseUrl).hit(page("/ready"), somebody())).json.success, 1),
);

test("PUBLIC_PREFIX is the word in cookies, forms and the script", async () => {
  const browser = visitor(baseUrl);
  await browser.hit(page("/prefix"), somebody());
  assert.deepEqual([...browser.cookies.keys()].toSorted(), ["acme_device_id", "acme_referer_id", "mtc_id"]);
  assert.match((await browser.ask(`/form/${form}`)).text, /name="acmeform\[mail\]"/);
  assert.match((await browser.ask("/mtc.js")).text, /"prefix":"acme"/);
});

test("TRACKING_CONSENT=off knows a browser that signals refusal, TRACKING_IP=short keeps no whole address", async () => {
  const headers = { ...somebody(), dnt: "1", "sec-gpc": "1" };
  const { json } = await visitor(baseUrl).hit({ ...page("/off"), do_not_track: "true" }, headers);
  assert.ok(json.id);
  assert.match(String((await hitAt("/off"))?.ip), /^93\.184\.\d+\.0$/);
});

test("DO_NOT_TRACK_IPS, MACHINE_NETWORKS and BOT_AGENTS make a machine, for that reason", async () => {
  const seen = async (path: string, address: string, agent?: string) => {
    const browser = visitor(baseUrl, agent ? { agent } : {});
    const { json } = await browser.hit(page(path), { "x-forwarded-for": address });
    const hit = await hitAt(path);
    return [json.id, hit?.verdict, hit?.verdict_reason, hit?.contact_id];
  };
  assert.deepEqual(await seen("/excluded", "198.51.100.7"), [null, "machine", "excluded", null]);
  assert.deepEqual(await seen("/network", "203.0.113.7"), [null, "machine", "network", null]);
  const agent = "Mozilla/5.0 (acmeWatch 2)";
  assert.deepEqual(await seen("/agent", "93.184.250.7", agent), [null, "machine", "agent", null]);
});

test("TRACKING_ORIGINS lets its origins read answers with cookies, and no others", async () => {
  const asked = async (origin: string) => {
    const { headers, json } = await visitor(baseUrl).hit(page("/origin"), { ...somebody(), origin });
    const { "access-control-allow-origin": allowed, "access-control-allow-credentials": credentials } =
      headers;
    return [json.success, allowed, credentials];
  };
  assert.deepEqual(await asked(SHOP), [1, SHOP, "true"]);
  assert.deepEqual(await asked("https://elsewhere.example"), [0, undefined, undefined]);
  const contacts = "select count(*) from content.visitor_devices";
  const before = await query(database, contacts);
  const headers = { ...somebody(), origin: "https://elsewhere.example" };
  const browser = visitor(baseUrl);
  assert.deepEqual((await browser.ask("/mtc", { headers })).json, []);
  assert.equal((await browser.ask("/dwc/top", { headers })).status, 204);
  const push = await browser.ask("/notification/subscribe", { method: "POST", headers });
  assert.deepEqual(push.json, { success: 0 });
  assert.equal(browser.cookies.size, 0);
  assert.deepEqual(await query(database, contacts), before);
});

test("FORM_UPDATES=proven: who only says an address fills in what is not known of its contact, and overwrites nothing", async () => {
  await make(api, "contacts", "contact", { email: "known@settings.example", firstname: "Ada" });
  const namesOf = async () => {
    const { contacts } = (await api("GET", "contacts?search=email:known@settings.example")).body;
    const [known] = Object.values(contacts as unknown as Record<string, Entity>);
    const { fields } = known as unknown as { fields: { all: Record<string, string> } };
    return [fields.all.firstname, fields.all.lastname];
  };
  const mail = { "acmeform[mail]": "known@settings.example" };
  const browser = visitor(baseUrl);
  const sendAs = (members: Record<string, string>) => send(members, somebody(), browser);
  // First as nobody, whom the contact is then merged with.
  await sendAs({ "acmeform[first]": "Eve" });
  await sendAs({ ...mail, "acmeform[last]": "L." });
  await eventually(async () => assert.deepEqual(await namesOf(), ["Ada", "L."]));
  // The browser is that contact's now, but has proven nothing.
  await sendAs({ ...mail, "acmeform[first]": "Eve", "acmeform[last]": "Other" });
  assert.equal((await send({ ...mail, "acmeform[first]": "Mallory" })).json.success, 1);
  const { total } = (await api("GET", `forms/${form}/submissions`)).body;
  await eventually(async () => {
    const open = await query(database, "select from content.jobs where kind = 'form_submission'");
    assert.equal(open.length, 0);
  });
  assert.equal(Number(total), 4);
  assert.deepEqual(await namesOf(), ["Ada", "L."]);
});

test("FORM_UPDATES=proven: who made the contact corrects it", async () => {
  const browser = visitor(baseUrl);
  const mail = { "acmeform[mail]": "own@settings.example" };
  const firstName = async () => {
    const { contacts } = (await api("GET", "contacts?search=email:own@settings.example")).body;
    const [own] = Object.values(contacts as unknown as Record<string, Entity>);
    return (own as unknown as { fields: { all: Record<string, string> } } | undefined)?.fields.all.firstname;
  };
  await send({ ...mail, "acmeform[first]": "Grcae" }, somebody(), browser);
  await eventually(async () => assert.equal(await firstName(), "Grcae"));
  await send({ ...mail, "acmeform[first]": "Grace" }, somebody(), browser);
  await eventually(async () => assert.equal(await firstName(), "Grace"));
});

test("FORM_BYTES_MAX refuses a longer form, and nothing of it is kept", async () => {
  const totalOf = async () => (await api("GET", `forms/${form}/submissions`)).body.total;
  const before = await totalOf();
  assert.equal((await send({ "acmeform[first]": "x".repeat(2_001) })).status, 413);
  assert.equal(await totalOf(), before);
});

test("TRACKING_RATE: so many hits of an address at once, others are not touched, the image is answered", async () => {
  const headers = somebody();
  const statuses = [];
  for (let index = 0; index < 7; index += 1)
    statuses.push((await visitor(baseUrl).hit(page("/rate"), headers)).status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429]);
  const refused = await visitor(baseUrl).hit(page("/rate"), headers);
  assert.ok(Number(refused.headers["retry-after"]) > 0);
  const image = await visitor(baseUrl).ask("/mtracking.gif", { headers });
  assert.deepEqual([image.status, image.headers["content-type"]], [200, "image/gif"]);
  assert.equal((await visitor(baseUrl).hit(page("/rate"), somebody())).status, 200);
});

test("FORM_RATE limits a form and an address, FORM_RATE_OF_ALL the form from everywhere", async () => {
  const headers = somebody();
  const own = [];
  for (let index = 0; index < 3; index += 1) own.push((await send({}, headers)).status);
  assert.equal(own.at(-1), 429);
  const all = [];
  for (let index = 0; index < 12; index += 1) all.push((await send({})).status);
  assert.equal(all.at(-1), 429);
});

test("DOWNLOAD_RATE and PREVIEW_RATE limit an address", async () => {
  const upload = uploader(baseUrl);
  const file = (await upload.file("assets", "text.txt", "text")).name;
  const asset = await make(api, "assets", "asset", {
    title: "Limited",
    isPublished: true,
    storageLocation: "local",
    file,
  });
  const statusesOf = async (path: string, times: number) => {
    const headers = somebody();
    const statuses = [];
    for (let index = 0; index < times; index += 1)
      statuses.push((await visitor(baseUrl).ask(path, { headers })).status);
    return statuses;
  };
  const path = new URL(String(asset.downloadUrl)).pathname;
  assert.deepEqual(await statusesOf(path, 4), [200, 200, 200, 429]);
  assert.equal((await statusesOf("/page/preview/1", 2)).at(-1), 429);
});

test("PREVIEW_RATE counts previews of forms and pages by one address together, and no form that is not a preview", async () => {
  const headers = somebody();
  const statusOf = async (path: string, sent = headers) =>
    (await visitor(baseUrl).ask(path, { headers: sent })).status;
  const link = await api("POST", `forms/${form}/preview-link`, {});
  assert.equal(link.status, 200, link.text);
  const { pathname, search } = new URL(String((link.body as unknown as { url: string }).url));
  const preview = pathname + search;
  assert.deepEqual([await statusOf(preview), await statusOf(preview)], [200, 429]);
  assert.equal(await statusOf("/page/preview/1"), 429);
  assert.equal(await statusOf(`/form/${form}`), 200);
  assert.equal(await statusOf(preview, somebody()), 200);
});
