import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { judgedIn } from "./judged.ts";
import { publishedOn } from "./published.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Visits of pages to which a click in an unread mail led: they have the verdict of that click. */

const sink = await startMailSink();
after(() => sink.close());
const stack = await startVisitedStack({
  hasOwnHost: true,
  env: {
    content: { MAIL_URL: `smtp://127.0.0.1:${sink.port}?tls=off`, MAIL_FROM: "Shop <shop@mail.example>" },
  },
});
after(() => stack.stop());
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);
const browser = (language?: string) => {
  const { ask, ...own } = visitor(baseUrl, { host });
  const headers: Record<string, string> = language ? { "accept-language": language } : {};
  return { ...own, ask: (path: string, sent = {}) => ask(path, { headers, ...sent }) };
};
type Browser = ReturnType<typeof browser>;

const judged = judgedIn(stack);
let count = 0;

/** A landing page that greets its reader, beside one more. */
async function sitePages() {
  const greeting = `<body><p>Hello {contactfield=firstname|stranger}</p><p>{dwc=offer}</p></body>`;
  const page = async (name: string, members: object = {}): Promise<{ id: number; alias: string }> => {
    const alias = `${name}-${++count}`;
    return (
      await made("pages/new", { title: alias, alias, isPublished: true, customHtml: greeting, ...members })
    ).page;
  };
  return { page, landing: await page("landing"), prices: await page("prices") };
}

await made("dynamiccontents/new", {
  ...{
    name: "For Ada",
    isPublished: true,
    isCampaignBased: false,
    slotName: "offer",
    content: "<b>For Ada</b>",
  },
  filters: [
    {
      ...{ glue: "and", field: "firstname", object: "lead", type: "text", operator: "=" },
      properties: { filter: "Ada" },
    },
  ],
});

/** How often dynamic contents were shown to the reader of a mail. */
const shownTo = async ({ contactId }: SentMail) =>
  (await query(`select sent_count from content.dynamic_content_stats where contact_id = ${contactId}`)).map(
    ({ sent_count }) => Number(sent_count),
  );

/** An email with these links. */
async function emailOf(...links: string[]): Promise<number> {
  const anchors = links.map((link) => `<a href="${link}">x</a>`).join(" ");
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "template", isPublished: true },
    customHtml: `<html><body>${anchors}</body></html>`,
  });
  return email.id;
}
const mailOf = (emailId: number): Promise<SentMail> => sendToReader(stack, sink, emailId);

/** The path on the public web to which a link leads; empty where it leads elsewhere. */
async function leadsTo(by: Browser, link: string): Promise<string> {
  const { location = "" } = (await by.ask(link)).headers;
  const { pathname, search, host: there } = new URL(String(location), publicUrl);
  return there === host ? pathname + search : "";
}

/** Follows a link and where it leads on the public web, as browsers and scanners do; answers the page. */
async function follow(by: Browser, link: string): Promise<string> {
  let answer = await by.ask(link);
  for (let hops = 0; hops < 5 && answer.status >= 300 && answer.status < 400; hops += 1) {
    const { pathname, search, host: there } = new URL(String(answer.headers.location), publicUrl);
    if (there !== host) break;
    answer = await by.ask(pathname + search);
  }
  return answer.text;
}

const deviceOf = (by: Browser) => by.cookies.get("svc_device_id") ?? "";
const visitorOf = async (by: Browser) => {
  const [row] = await query(
    `select contact_id, is_proven from content.visitor_devices where id = '${deviceOf(by)}'`,
  );
  return row && [row.contact_id, row.is_proven];
};
const hitsOfPage = async ({ id }: { id: number }) =>
  (
    await query(
      `select contact_id, verdict, verdict_reason, tracking_id, date_left is not null as is_left from content.page_hits where page_id = ${id} order by id`,
    )
  ).map(({ ...row }) => row);
const countsOf = async ({ id }: { id: number }) => {
  const { page } = (await api("GET", `pages/${id}`)).body as unknown as {
    page: { hits: number; uniqueHits: number };
  };
  return [page.hits, page.uniqueHits];
};
const isReadOf = async ({ contactId }: SentMail) =>
  (await query(`select is_read, machine_click_count from content.sends where contact_id = ${contactId}`)).map(
    ({ is_read, machine_click_count }) => [is_read, machine_click_count],
  );
const hitsPublished = async () =>
  (await publishedOn(stack, "tidings.content.page.hit", PageHitsSchema)).flatMap(({ hits }) => hits);

test("a scanner with a browser's agent that follows links to pages of ours becomes no contact, and its visits are a machine's", async () => {
  const { landing, prices } = await sitePages();
  const mail = await mailOf(
    await emailOf(`${publicUrl}/${landing.alias}`, "https://shop.example/one", `{pagelink=${prices.id}}`),
  );
  const scanner = browser();
  const direct = mail.paths.find((path) => path.startsWith(`/${prices.alias}`)) ?? "";
  const landingAddress = await leadsTo(scanner, mail.links[0] ?? "");
  await scanner.ask(landingAddress);
  for (const link of [mail.links[1] ?? "", direct]) await follow(scanner, link);
  assert.match((await scanner.ask(`/${prices.alias}`)).text, /Hello Ada/, "its link names the reader");
  await scanner.hit({ page_url: "https://shop.example/scanned", page_title: "Scanned" });
  assert.deepEqual([await hitsOfPage(landing), await visitorOf(scanner)], [[], undefined]);

  const machine = { contact_id: null, verdict: "machine", verdict_reason: "scanner" };
  await judged(async () => {
    const unknown = { ...machine, tracking_id: null, is_left: false };
    assert.deepEqual(await hitsOfPage(landing), [unknown]);
    assert.deepEqual(await hitsOfPage(prices), [unknown, unknown]);
  });
  assert.deepEqual(await isReadOf(mail), [[false, 3]]);
  assert.deepEqual(
    [await countsOf(landing), await countsOf(prices)],
    [
      [0, 0],
      [0, 0],
    ],
  );
  assert.equal(await visitorOf(scanner), undefined);
  assert.deepEqual(
    (await hitsPublished()).filter(({ contactId }) => contactId === mail.contactId),
    [],
  );
  const { identity = [] } = (await api("GET", `contacts/${mail.contactId}/identity`)).body as unknown as {
    identity?: { proof: string }[];
  };
  assert.deepEqual(
    identity.filter(({ proof }) => proof === "link"),
    [],
  );
  assert.deepEqual(await shownTo(mail), []);
  // The address to which the click of a machine led names no reader later, either.
  const seen = await hitsOfPage(landing);
  await browser().ask(landingAddress);
  await judged(async () => assert.deepEqual(await hitsOfPage(landing), [...seen, ...seen]));
});

test("a reader is greeted at once on each page, and the visits count as theirs with their own times once the click is judged", async () => {
  const { landing, prices } = await sitePages();
  const mail = await mailOf(await emailOf(`${publicUrl}/${landing.alias}`));
  const [before] = await query("select max(id) as id from contact.contacts");
  const reader = browser();
  const startedAt = Date.now();
  const shown = await follow(reader, mail.links[0] ?? "");
  assert.match(shown, /Hello Ada.*For Ada/);
  // The script on the page completes the visit while that waits.
  const [, token = ""] = /name="svc-hit" content="([^"]+)"/.exec(shown) ?? [];
  assert.equal((await reader.hit({ hit: token, timezone: "Europe/Vienna" })).json.success, 1);
  assert.match((await reader.ask(`/${prices.alias}`)).text, /Hello Ada/);
  assert.equal((await reader.ask("/dwc/offer")).json.content, "<b>For Ada</b>");
  const { json } = await reader.hit({ page_url: "https://shop.example/cart", page_title: "Cart" });
  assert.equal(json.id, mail.contactId);
  await reader.hit({ left: "1", hit: String(json.hit) });
  const leftAt = Date.now();
  assert.deepEqual([await hitsOfPage(landing), await countsOf(landing)], [[], [0, 0]]);
  assert.deepEqual(await shownTo(mail), []);

  const own = {
    contact_id: mail.contactId,
    verdict: "human",
    verdict_reason: null,
    tracking_id: deviceOf(reader),
  };
  await judged(async () => {
    assert.deepEqual(await hitsOfPage(landing), [{ ...own, is_left: true }]);
    assert.deepEqual(await hitsOfPage(prices), [{ ...own, is_left: true }]);
  });
  const zone = `select query ->> 'timezone' as zone from content.page_hits where page_id = ${landing.id}`;
  assert.deepEqual(await query(zone), [{ zone: "Europe/Vienna" }]);
  assert.deepEqual([await countsOf(landing), await shownTo(mail)], [[1, 1], [3]]);
  assert.deepEqual(await isReadOf(mail), [[true, 0]]);
  assert.deepEqual(await visitorOf(reader), [mail.contactId, true]);
  const times = await query(
    `select extract(epoch from date_hit) * 1000 as hit, extract(epoch from date_left) * 1000 as left from content.page_hits
     where contact_id = ${mail.contactId} order by id`,
  );
  assert.equal(times.length, 4);
  // Clocks of test and database may differ by a little.
  const isWithin = (time: string) => Number(time) > startedAt - 1_000 && Number(time) < leftAt + 1_000;
  assert.ok(
    times.every(({ hit, left }) => isWithin(hit) && isWithin(left)),
    JSON.stringify(times),
  );
  // No contact began meanwhile, that would have become a part of the reader.
  const begun = await query(`select id from contact.contacts where id > ${before?.id}`);
  assert.deepEqual(begun, []);
  const published = (await hitsPublished()).filter(({ contactId }) => contactId === mail.contactId);
  assert.deepEqual([...new Set(published.map(({ verdict }) => verdict))], ["human"]);
  // From now on visits count at once.
  await reader.ask(`/${prices.alias}`);
  assert.equal((await hitsOfPage(prices)).length, 2);
});

test("a picture that is seen while a click waits changes nothing for the visits of that browser", async () => {
  const { landing, prices } = await sitePages();
  const mail = await mailOf(await emailOf(`${publicUrl}/${landing.alias}`));
  const [before] = await query("select max(id) as id from contact.contacts");
  const reader = browser();
  await reader.ask(mail.links[0] ?? "");
  await reader.ask(mail.pixel);
  await eventually(async () => assert.deepEqual(await isReadOf(mail), [[true, 0]]));
  assert.match((await reader.ask(`/${prices.alias}`)).text, /Hello Ada/);
  assert.deepEqual(await hitsOfPage(prices), []);
  await judged(async () => {
    const [hit] = await hitsOfPage(prices);
    assert.deepEqual([hit?.contact_id, hit?.verdict], [mail.contactId, "human"]);
  });
  assert.deepEqual(await query(`select id from contact.contacts where id > ${before?.id}`), []);
});

test("a link of a mail to a page that leads on to its translation is one click of a person", async () => {
  const { page } = await sitePages();
  const english = await page("english", { language: "en" });
  const german = await page("german", { language: "de", translationParent: english.id });
  const mail = await mailOf(await emailOf(`{pagelink=${english.id}}`));
  const reader = browser("de");
  await follow(reader, mail.paths.find((path) => path.startsWith(`/${english.alias}`)) ?? "");
  await judged(async () => assert.deepEqual(await isReadOf(mail), [[true, 0]]));
  const hits = [...(await hitsOfPage(english)), ...(await hitsOfPage(german))];
  assert.deepEqual(
    hits.map(({ contact_id, verdict }) => [contact_id, verdict]),
    [
      [mail.contactId, "human"],
      [mail.contactId, "human"],
    ],
  );
});

test("a reader who sends a form is known by the form at once, and one who takes consent back is not recorded", async () => {
  const { landing } = await sitePages();
  const { form } = await made("forms/new", {
    ...{ name: "Ask", isPublished: true, postAction: "message", postActionProperty: "Thank you" },
    fields: [
      { label: "City", alias: "city", type: "text", mappedObject: "contact", mappedField: "city" },
      { label: "Send", alias: "send", type: "button" },
    ],
  });
  const emailId = await emailOf(`${publicUrl}/${landing.alias}`);
  const [asking, leaving] = [await mailOf(emailId), await mailOf(emailId)];
  const [asker, leaver] = [browser(), browser()];
  await follow(asker, asking.links[0] ?? "");
  await asker.ask(`/form/submit/ajax?formId=${form.id}`, {
    ...{ method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" } },
    body: new URLSearchParams({ "svcform[city]": "Graz" }).toString(),
  });
  assert.deepEqual(await visitorOf(asker), [asking.contactId, true]);
  await follow(leaver, leaving.links[0] ?? "");
  const device = deviceOf(leaver);
  await leaver.hit({ consent: "0" });
  await judged(async () => {
    const { contact } = (await api("GET", `contacts/${asking.contactId}`)).body as unknown as {
      contact: { fields: { all: { city: string } } };
    };
    assert.equal(contact.fields.all.city, "Graz");
    assert.deepEqual(await isReadOf(leaving), [[true, 0]]);
    assert.deepEqual(await isReadOf(asking), [[true, 0]]);
  });
  assert.deepEqual(await query(`select id from content.page_hits where tracking_id = '${device}'`), []);
  assert.deepEqual(await query(`select id from content.visitor_devices where id = '${device}'`), []);
  assert.deepEqual(
    (await hitsOfPage(landing)).map(({ contact_id }) => contact_id),
    [asking.contactId],
  );
  assert.equal((await countsOf(landing))[0], 2);
});
