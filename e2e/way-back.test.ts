import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { simpleParser } from "mailparser";
import { scrapeProcess } from "./scrape.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** The way back from a mail by its reader: opens, clicks, and the verdict on who made them. */

const sink = await startMailSink();
after(() => sink.close());
const stack = await startVisitedStack({
  hasOwnHost: true,
  env: {
    content: {
      ...{ MAIL_URL: `smtp://127.0.0.1:${sink.port}?tls=off`, MAIL_FROM: "Shop <shop@mail.example>" },
    },
  },
});
after(() => stack.stop());
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);
const browser = (agent?: string) => visitor(baseUrl, { host, ...(agent && { agent }) });

/** Clicks in mails that nobody has read wait for 10 s. */
const JUDGED = { timeoutMs: 25_000, intervalMs: 200 };
const GMAIL = "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)";
const APPLE_PRIVACY = "Mozilla/5.0";

interface Mail {
  contactId: number;
  emailId: number;
  links: string[];
  pixel: string;
  view: string;
  unsubscribe: string;
}

let count = 0;
async function publishedEmail(): Promise<number> {
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "template", isPublished: true },
    customHtml: `<html><body><a href="https://shop.example/one">One</a> <a href="https://shop.example/two">Two</a>
      <a href="{webview_url}">View</a> <a href="{unsubscribe_url}">Leave</a></body></html>`,
  });
  return email.id;
}

/** A mail to a contact of its own, as paths of the public web. */
async function mailOf(emailId: number): Promise<Mail> {
  const address = `reader-${++count}@example.org`;
  const { contact } = await made("contacts/new", { email: address, firstname: "Ada" });
  await made(`emails/${emailId}/contact/${contact.id}/send`, {});
  const mail = sink.taken.find(({ to }) => to.includes(address));
  const { html } = await simpleParser(Buffer.from(mail?.octets ?? "", "latin1"));
  const paths = [...String(html).matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address = ""]) => {
    const { pathname, search } = new URL(address.replaceAll("&amp;", "&"));
    return pathname + search;
  });
  const find = (start: string) => paths.find((path) => path.startsWith(start)) ?? "";
  return {
    ...{ contactId: contact.id, emailId },
    links: paths.filter((path) => path.startsWith("/r/")),
    pixel: paths.find((path) => path.endsWith(".gif")) ?? "",
    view: find("/email/view/"),
    unsubscribe: find("/email/unsubscribe/"),
  };
}

const sendOf = async ({ contactId }: Mail) => {
  const [send] = await query(
    `select is_read, open_count, machine_open_count, machine_click_count, state, viewed_in_browser from content.sends where contact_id = ${contactId}`,
  );
  return send;
};
const hitsOf = ({ emailId }: Mail) =>
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
  await eventually(async () => {
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
  }, JUDGED);
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
