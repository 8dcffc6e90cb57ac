import assert from "node:assert/strict";
import { after, test } from "node:test";
import { EmailOpenDevicesSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { axeViolations } from "./axe.ts";
import { startBrowser } from "./browser.ts";
import { judgedIn } from "./judged.ts";
import { startMailingStack } from "./mailing-stack.ts";
import { publishedOn } from "./published.ts";
import { scrapeProcess } from "./scrape.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { ONE_CLICK } from "./unsubscribe-link.ts";
import { BROWSER, visitor } from "./visitor.ts";

/** The way back from a mail by its reader: opens and clicks with the verdict on who made them, and the preference centre. */

const stack = await startMailingStack({ hasOwnHost: true, content: { SHOW_PREFERENCES: "true" } });
const { sink } = stack;
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);
const browser = (agent?: string) => visitor(baseUrl, { host, ...(agent && { agent }) });

const judged = judgedIn(stack);
const GMAIL = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
const APPLE_PRIVACY = "Mozilla/5.0";

async function publishedEmail(): Promise<number> {
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "template", isPublished: true },
    customHtml: `<html><body><a href="https://shop.example/one">One</a> <a href="https://shop.example/two">Two</a>
      <a href="{webview_url}">View</a> <a href="{unsubscribe_url}">Leave</a></body></html>`,
  });
  return email.id;
}

const mailOf = (emailId: number, members: object = {}) => sendToReader(stack, sink, emailId, members);

const sendOf = async ({ contactId }: SentMail) => {
  const [send] = await query(
    `select is_read, open_count, machine_open_count, machine_click_count, state, viewed_in_browser from content.sends where contact_id = ${contactId}`,
  );
  return send;
};
const hitsOf = ({ emailId }: SentMail) =>
  query(
    `select contact_id, verdict, verdict_reason from content.page_hits where email_id = ${emailId} order by id`,
  );
const readCountOf = async (emailId: number) =>
  ((await api("GET", `emails/${emailId}`)).body as unknown as { email: { readCount: number } }).email
    .readCount;

test("a person's click marks its mail read once; clicks of scanners, bots and programs do not", async () => {
  const emailId = await publishedEmail();
  const mails = {
    lone: await mailOf(emailId),
    scanned: await mailOf(emailId),
    pictured: await mailOf(emailId),
  };
  const more = { bot: await mailOf(emailId), forged: await mailOf(emailId), unknown: await mailOf(emailId) };
  const { lone, scanned, pictured } = mails;
  const { bot, forged, unknown } = more;
  await query(
    `update content.sends set state = 'unknown', date_sent = null where contact_id = ${unknown.contactId}`,
  );
  await query(`update content.emails set sent_count = sent_count - 1 where id = ${emailId}`);

  // Somebody whose mail program shows no pictures follows one link, twice.
  for (let time = 0; time < 2; time += 1) {
    const { status, headers } = await browser().ask(lone.links[0] ?? "");
    assert.deepEqual([status, headers.location], [302, "https://shop.example/one"]);
  }
  await browser().ask(unknown.links[0] ?? "");
  // A scanner with the words of a browser follows all links.
  for (const link of [...scanned.links, scanned.view]) await browser().ask(link);
  // Somebody sees the pictures, and follows all links at once: these clicks do not wait.
  await browser(GMAIL).ask(pictured.pixel);
  for (const link of pictured.links) await browser().ask(link);
  await eventually(async () => {
    const hits = (await hitsOf(pictured)).filter(({ contact_id }) => contact_id === pictured.contactId);
    assert.equal(hits.length, 2);
  });
  // Machines that say so.
  await browser("Barracuda Sentinel (EE)").ask(bot.links[0] ?? "");
  await browser(APPLE_PRIVACY).ask(bot.pixel);
  await browser().ask(bot.links[1] ?? "", { method: "HEAD" });
  // A link without a signature of ours leads on, and counts nowhere.
  const tampered = (forged.links[0] ?? "").replace(/ct=.{6}/, "ct=AAAAAA");
  assert.equal((await browser().ask(tampered)).status, 302);

  assert.equal((await sendOf(lone))?.is_read, false);
  await judged(async () => {
    assert.deepEqual(
      { ...(await sendOf(lone)) },
      {
        ...{ is_read: true, open_count: 1, machine_open_count: 0, machine_click_count: 0, state: "sent" },
        viewed_in_browser: false,
      },
    );
    const { is_read, machine_open_count, machine_click_count } = (await sendOf(scanned)) ?? {};
    assert.deepEqual([is_read, machine_open_count, machine_click_count], [false, 1, 2]);
    const settled = await sendOf(unknown);
    assert.deepEqual([settled?.state, settled?.is_read], ["sent", true]);
  });
  const machine = await sendOf(bot);
  assert.deepEqual(
    [machine?.is_read, machine?.machine_open_count, machine?.machine_click_count],
    [false, 1, 2],
  );
  assert.deepEqual([(await sendOf(pictured))?.open_count, (await sendOf(forged))?.is_read], [1, false]);
  // Read are: the lone one, the one with pictures, and the one whose outcome was not known.
  assert.equal(await readCountOf(emailId), 3);
  const { email } = (await api("GET", `emails/${emailId}`)).body as unknown as {
    email: { sentCount: number };
  };
  assert.equal(email.sentCount, 6);

  const hits = await hitsOf(lone);
  const people = hits.filter(({ verdict }) => verdict === "human").map(({ contact_id }) => contact_id);
  assert.deepEqual(
    people.toSorted(),
    [lone, lone, pictured, pictured, unknown].map(({ contactId }) => contactId).toSorted(),
  );
  assert.equal(hits.filter(({ verdict_reason }) => verdict_reason === "scanner").length, 2);
  // The links of the email count people.
  const [links] = await query(
    `select sum(hits)::int as hits from content.channel_url_trackables where channel = 'email' and channel_id = ${emailId}`,
  );
  assert.equal(links?.hits, 5);
  // The contact service hears of each once.
  await eventually(async () => {
    const rows = await query(
      `select contact_id, read_count from contact.email_sends where email_id = ${emailId} and date_read is not null order by contact_id`,
    );
    assert.deepEqual(
      rows.map(({ contact_id, read_count }) => [contact_id, read_count]),
      [lone, pictured, unknown]
        .map(({ contactId }) => [contactId, 1])
        .toSorted(([one = 0], [other = 0]) => one - other),
    );
  });
  // A click after that changes nothing.
  await browser().ask(lone.links[1] ?? "");
  await eventually(async () => assert.equal((await hitsOf(lone)).length, hits.length + 1));
  assert.deepEqual([(await sendOf(lone))?.open_count, await readCountOf(emailId)], [1, 3]);
  const { value } = await scrapeProcess(stack, "content");
  assert.equal(value("tidings_mail_opens_total", { by: "picture", verdict: "prefetch" }), 1);
  assert.equal(value("tidings_mail_opens_total", { by: "click", verdict: "scanner" }), 2);
});

const devicesOf = async ({ contactId }: SentMail) =>
  (
    await query(
      `select d.contact_id, d.device_id, d.ip, count(*)::int as opens from content.email_send_devices d
       join content.sends s on s.hash = d.send_hash where s.contact_id = ${contactId} group by 1, 2, 3`,
    )
  ).map(({ ...row }) => row);
const idOf = async (reader: ReturnType<typeof browser>) => {
  const { json } = await reader.hit({ page_url: "https://shop.example/" });
  return { id: String(json.device_id), contactId: Number(json.id) };
};

test("each open by a known device leaves a row with that device; other opens leave none", async () => {
  const emailId = await publishedEmail();
  const [clicked, opened, forwarded] = [await mailOf(emailId), await mailOf(emailId), await mailOf(emailId)];
  // The device of a click is new, and becomes that of the contact with the verdict. A second click is no open.
  const clicker = browser();
  for (let time = 0; time < 2; time += 1) await clicker.ask(clicked.links[0] ?? "");
  // A browser without cookies, a forged id, a machine, and a browser that asks to be left alone.
  const known = browser();
  const { id: deviceId, contactId: owner } = await idOf(known);
  const cookie = `svc_device_id=${deviceId}`;
  await browser().ask(opened.pixel);
  await browser().ask(opened.pixel, { headers: { cookie: `svc_device_id=${"x".repeat(23)}` } });
  await browser("curl/8").ask(opened.pixel, { headers: { cookie } });
  await browser().ask(opened.pixel, { headers: { cookie, dnt: "1" } });
  assert.deepEqual(await devicesOf(opened), []);
  for (let time = 0; time < 2; time += 1)
    await browser().ask(opened.pixel, { headers: { cookie, "x-forwarded-for": "192.0.2.7" } });
  await browser().ask(opened.view, { headers: { cookie, "x-forwarded-for": "192.0.2.7" } });
  const row = { contact_id: owner, device_id: deviceId, ip: "192.0.2.7" };
  await eventually(async () => assert.deepEqual(await devicesOf(opened), [{ ...row, opens: 3 }]));
  // The web view of an unread mail waits, with its device.
  await browser().ask(forwarded.view, { headers: { cookie, "x-forwarded-for": "192.0.2.7" } });
  await judged(async () => {
    assert.deepEqual(await devicesOf(forwarded), [{ ...row, opens: 1 }]);
    const [device] = await devicesOf(clicked);
    assert.deepEqual([device?.contact_id, device?.opens], [clicked.contactId, 1]);
  });
  const events = await publishedOn(stack, "tidings.content.email_device.opened", EmailOpenDevicesSchema);
  const published = events.flatMap(({ devices }) => devices).filter((device) => device.deviceId === deviceId);
  assert.deepEqual(
    published.map(({ contactId, ip }) => [contactId, ip]),
    Array(4).fill([owner, "192.0.2.7"]),
  );
  // Rows go with the contact of the device, which is made a moment after its first visit.
  await eventually(async () => assert.equal((await api("GET", `contacts/${owner}`)).status, 200));
  assert.equal((await api("DELETE", `contacts/${owner}/delete`)).status, 200);
  await eventually(async () =>
    assert.deepEqual([await devicesOf(opened), await devicesOf(forwarded)], [[], []]),
  );
});

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const segment = async (name: string, members: object = {}): Promise<number> =>
  (
    await made("segments/new", {
      name,
      isPublished: true,
      isGlobal: true,
      isPreferenceCenter: true,
      ...members,
    })
  ).list.id;
const contactOf = async ({ contactId }: SentMail): Promise<Any> =>
  ((await api("GET", `contacts/${contactId}`)).body as Any).contact;
const segmentsOf = async ({ contactId }: SentMail): Promise<number[]> =>
  (
    await query(
      `select segment_id from contact.segment_contacts where contact_id = ${contactId} and not manually_removed order by segment_id`,
    )
  ).map(({ segment_id }) => segment_id);
const tokenOf = ({ unsubscribe }: SentMail) => unsubscribe.split("/").at(-1) ?? "";
const choose = (token: string, form: [string, string][] | Record<string, string>) =>
  browser().ask(`/email/preferences/${token}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  });

test("the preference centre changes what the contact of the link may choose, and nothing else", async () => {
  const emailId = await publishedEmail();
  const reader = await mailOf(emailId, { mobile: "+43 1 2345" });
  const other = await mailOf(emailId);
  const [entered, left] = [await segment("Enter & win"), await segment("Leave")];
  const [closed, secret] = [
    await segment("Closed", { isPreferenceCenter: false }),
    await segment("Unpublished", { isPublished: false }),
  ];
  const { category } = await made("categories/new", { title: "Offers", bundle: "global" });
  const { category: ofPages } = await made("categories/new", { title: "Pages", bundle: "page" });
  for (const id of [left, closed]) await made(`segments/${id}/contact/${reader.contactId}/add`, {});

  const page = await browser().ask(reader.unsubscribe);
  assert.match(page.text, /Enter &amp; win/);
  assert.doesNotMatch(page.text, /Closed|Unpublished|Pages/);
  assert.match(page.text, /Offers/);
  assert.match(page.text, /id="sms_number"/);
  assert.doesNotMatch((await browser().ask(other.unsubscribe)).text, /id="sms_number"/);
  assert.deepEqual(await segmentsOf(reader), [left, closed]);

  const wrong: [string, string][] = [
    ["email_number", "0"],
    ["email_number", "x"],
    ["email_unit", "YEAR"],
    ["email_pause_from", "2027-02-30"],
    ["email_pause_to", "2027-02-01"],
  ];
  for (const [name, value] of wrong) {
    const refused = await choose(tokenOf(reader), { email_number: "1", email_unit: "DAY", [name]: value });
    assert.equal(refused.status, 400, `${name}=${value}`);
    assert.match(refused.text, /aria-invalid="true"/);
  }
  const long = await choose(tokenOf(reader), { email_number: "1".repeat(30_000) });
  assert.equal(long.status, 400);
  // A forged token, and one for another purpose.
  const forged = `${tokenOf(reader).slice(0, -2)}AA`;
  const ofPixel = reader.pixel.slice("/email/".length, -".gif".length);
  for (const token of [forged, ofPixel, "x"])
    assert.equal((await choose(token, { email_number: "1" })).status, 404);
  assert.deepEqual((await contactOf(reader)).frequencyRules ?? {}, {});

  const ids = [entered, left, closed, secret, 2_000_000_00].map(String);
  const saved = await choose(tokenOf(reader), [
    ...Object.entries({ email_number: "2", email_unit: "WEEK", sms_number: "", sms_unit: "DAY" }),
    ...Object.entries({ email_pause_from: "2027-01-01", email_pause_to: "2027-01-31", preferred: "email" }),
    ...ids.map((id): [string, string] => ["segment_shown", id]),
    ...[entered, secret].map((id): [string, string] => ["segment", String(id)]),
    ...[category.id, ofPages.id].map((id): [string, string] => ["category_shown", String(id)]),
    ["contact", String(other.contactId)],
  ]);
  assert.deepEqual([saved.status, /Saved/.test(saved.text)], [200, true]);
  await eventually(async () => {
    const { email } = (await contactOf(reader)).frequencyRules;
    assert.deepEqual(
      [email.frequencyNumber, email.frequencyTime, email.preferredChannel, email.pauseFromDate.slice(0, 10)],
      [2, "WEEK", true, "2027-01-01"],
    );
    assert.deepEqual(await segmentsOf(reader), [entered, closed]);
  });
  const subscriptions = await query(
    "select contact_id, category_id, is_subscribed from content.category_subscriptions",
  );
  assert.deepEqual(
    subscriptions.map(({ ...row }) => row),
    [{ contact_id: reader.contactId, category_id: category.id, is_subscribed: false }],
  );
  const refused = async () =>
    query(`select category_id from contact.refused_categories where contact_id = ${reader.contactId}`);
  await eventually(async () => assert.deepEqual(await refused(), [{ category_id: category.id }]));
  // A contact service that never heard of it asks for all choices when it begins.
  for (const text of [
    "delete from contact.refused_categories",
    "update contact.projected_versions set version = 0 where kind = 'category_subscription'",
    "delete from contact.projection_builds where name = 'contact_categories'",
  ])
    await query(text);
  stack.process("contact").kill("SIGKILL");
  await stack.process("contact").restart();
  await eventually(async () => assert.deepEqual(await refused(), [{ category_id: category.id }]));
  assert.deepEqual([await segmentsOf(other), (await contactOf(other)).frequencyRules ?? {}], [[], {}]);
  // The page shows what was chosen.
  await eventually(async () => {
    const again = (await browser().ask(reader.unsubscribe)).text;
    assert.match(again, /value="2027-01-31"/);
    assert.match(again, new RegExp(`name="segment" value="${entered}" checked`));
    assert.doesNotMatch(again, new RegExp(`name="category" value="${category.id}" checked`));
  });

  // A send to segments leaves out who does not hear of its category; one click still unsubscribes from everything.
  const { email: news } = await made("emails/new", {
    ...{ name: "Offers", subject: "Offers", emailType: "list", isPublished: true, lists: [entered] },
    ...{ customHtml: "<p>Hi</p>", category: category.id },
  });
  await made(`segments/${entered}/contact/${other.contactId}/add`, {});
  await eventually(async () => assert.equal((await segmentsOf(other)).length, 1));
  const { wouldSend, excluded } = await made(`emails/${news.id}/dry-run`, {});
  assert.deepEqual([wouldSend, excluded.refused_category], [1, 1]);
  const { sentCount } = await made(`emails/${news.id}/send`, {});
  assert.equal(sentCount, 1);
  const [sent] = await query(`select contact_id from content.sends where email_id = ${news.id}`);
  assert.equal(sent?.contact_id, other.contactId);
  const explained = (await api("GET", `emails/${news.id}/contact/${reader.contactId}/explain`)).body as Any;
  const rule = explained.rules.find(({ rule }: Any) => rule === "category");
  assert.deepEqual([explained.verdict, rule.holds, rule.detail], ["wont", false, "category"]);
  const click = await browser().ask(other.unsubscribe, {
    method: "POST",
    body: ONE_CLICK,
  });
  assert.match(click.text, /You are unsubscribed/);
  await eventually(async () => assert.equal((await contactOf(other)).doNotContact.length, 1));
  assert.match((await browser().ask(other.unsubscribe)).text, /Subscribe again/);
});

test("axe finds nothing on the preference centre at 320 px, and it works without script", async () => {
  const browser = await startBrowser();
  after(() => browser.close());
  const reader = await mailOf(await publishedEmail(), { mobile: "+43 1 2345" });
  await segment("Lists of a very long name ".repeat(4).trim());
  const options = { userAgent: BROWSER, viewport: { width: 320, height: 700 } };
  const checked = await browser.newContext({ ...options, bypassCSP: true });
  const page = await checked.newPage();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(publicUrl + reader.unsubscribe);
    await page.fill("#email_pause_from", "2027-02-01");
    for (const place of ["form", "problems"]) {
      assert.deepEqual(await axeViolations(page), [], place);
      const width = await page.evaluate("document.documentElement.scrollWidth");
      assert.equal(width, 320, place);
      if (place === "form") await page.getByRole("button", { name: "Save" }).click();
      await page.waitForLoadState();
    }
    assert.match((await page.getByRole("alert").textContent()) ?? "", /Nothing was changed/);
  }
  await checked.close();

  const plain = await browser.newContext({ ...options, javaScriptEnabled: false });
  const form = await plain.newPage();
  await form.goto(publicUrl + reader.unsubscribe);
  await form.getByLabel("At most").first().fill("3");
  await form.getByLabel("in", { exact: true }).first().selectOption("MONTH");
  await form.getByLabel(/very long name/).check();
  await form.getByRole("button", { name: "Save" }).click();
  assert.equal(await form.getByRole("heading").textContent(), "Saved");
  await plain.close();
  await eventually(async () => {
    assert.equal((await contactOf(reader)).frequencyRules.email.frequencyNumber, 3);
    assert.equal((await segmentsOf(reader)).length, 1);
  });
});

test("while the contact service is away a reader can unsubscribe, and choices are kept and passed on later", async () => {
  const reader = await mailOf(await publishedEmail());
  const service = stack.process("contact");
  service.kill("SIGKILL");
  try {
    const page = await browser().ask(reader.unsubscribe);
    assert.match(page.text, /Do you want to stop getting emails/);
    const saved = await choose(tokenOf(reader), { email_number: "4", email_unit: "DAY" });
    assert.deepEqual([saved.status, /Saved/.test(saved.text)], [200, true]);
  } finally {
    await service.restart();
  }
  await eventually(
    async () => assert.equal((await contactOf(reader)).frequencyRules.email.frequencyNumber, 4),
    {
      timeoutMs: 40_000,
      intervalMs: 200,
    },
  );
});
