import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailingStack } from "./mailing-stack.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { visitor } from "./visitor.ts";

/** The web view shows a mail with the values that it went out with, for MAIL_TOKENS_DAYS. */

const stack = await startMailingStack({ hasOwnHost: true });
const { api, baseUrl, publicUrl, made, query } = stack;
const { host } = new URL(publicUrl);

const IN_VIENNA = [
  {
    ...{ glue: "and", field: "city", object: "lead", type: "text", operator: "=" },
    properties: { filter: "Vienna" },
  },
];
const newEmail = async (html: string): Promise<number> =>
  (
    await made("emails/new", {
      ...{ name: "News", subject: "For {contactfield=firstname}", isPublished: true },
      customHtml: `<html><body>${html} <a href="{webview_url}">View</a></body></html>`,
      dynamicContent: [
        {
          tokenName: "Offer",
          content: "Usual",
          filters: [{ content: "Offer in {contactfield=city}", filters: IN_VIENNA }],
        },
      ],
    })
  ).email.id;
/** The text of a mail, or of its web view, without its links and its picture. */
const textOf = (html: string) =>
  html.replace(/<body[^>]*>([\s\S]*?) <a [\s\S]*/, "$1").replace(/^[\s\S]*<body>/, "");
const viewed = async ({ view }: SentMail) => {
  const { status, text } = await visitor(baseUrl, { host }).ask(view);
  assert.equal(status, 200);
  return textOf(text).replace(/^<html>/, "");
};
const mailed = ({ html }: SentMail) => textOf(html).replace(/^<html>/, "");
const valuesOf = ({ contactId }: SentMail) =>
  query(
    `select v.filled from content.mail_values v join content.sends s on s.hash = v.send_hash where s.contact_id = ${contactId}`,
  );

const TEMPLATE = `Hello {contactfield=firstname|you} {contactfield=position|none}, {dynamiccontent="Offer"} at {today|Y-m-d H:i:s}.`;
const ADA = { firstname: "<b>Ada", city: "Vienna", timezone: "Pacific/Kiritimati" };
const OTHER = { firstname: "Grace", city: "Graz", position: "Admiral", timezone: "UTC" };

test("the web view shows the mail as it went out, whatever its contact became, also while the contact service is away", async () => {
  const mail = await sendToReader(stack, stack.sink, await newEmail(TEMPLATE), ADA);
  assert.match(mailed(mail), /Ada none, Offer in Vienna at \d{4}-/);
  assert.equal((await api("PATCH", `contacts/${mail.contactId}/edit`, OTHER)).status, 200);
  assert.equal(await viewed(mail), mailed(mail));
  const service = stack.process("contact");
  service.kill("SIGKILL");
  try {
    assert.equal(await viewed(mail), mailed(mail));
  } finally {
    await service.restart();
  }
});

test("only the values that the template reads are kept, and none of a mail that reads none", async () => {
  const id = await newEmail("Hello {contactfield=lastname}");
  const members = { ...ADA, lastname: "Lovelace", company: "Secret Ltd", address1: "Secret street" };
  const read = await sendToReader(stack, stack.sink, id, members);
  const [row] = await valuesOf(read);
  const { at, ...rest } = row?.filled ?? {};
  assert.ok(Math.abs(at - Date.now()) < 3_600_000);
  // The usual subject and the contents of the email name two more.
  assert.deepEqual(rest, {
    fields: { firstname: "Ada", lastname: "Lovelace", city: "Vienna" },
    versions: { Offer: 0 },
  });
  const { email } = await made("emails/new", {
    ...{ name: "Plain", subject: "Plain", isPublished: true },
    customHtml: `<html><body>Hello <a href="{webview_url}">View</a></body></html>`,
  });
  const plain = await sendToReader(stack, stack.sink, email.id, members);
  assert.deepEqual(await valuesOf(plain), []);
  assert.equal(await viewed(plain), "Hello");
});

test("values go with their contact, and after MAIL_TOKENS_DAYS; then the web view has the present ones", async () => {
  const id = await newEmail(TEMPLATE);
  const [erased, old, recent] = [
    await sendToReader(stack, stack.sink, id, ADA),
    await sendToReader(stack, stack.sink, id, ADA),
    await sendToReader(stack, stack.sink, id, ADA),
  ];
  assert.equal((await api("DELETE", `contacts/${erased.contactId}/delete`)).status, 200);
  const [{ hash } = { hash: "" }] = await query(
    `select hash from content.sends where contact_id = ${old.contactId}`,
  );
  await api("PATCH", `contacts/${old.contactId}/edit`, OTHER);
  await api("PATCH", `contacts/${recent.contactId}/edit`, OTHER);
  await query(
    `update content.mail_values set date_added = now() - interval '30 days 1 minute' where send_hash = '${hash}'`,
  );
  await query("update content.jobs set due_at = now() where kind = 'mail_values'");
  // The worker looks for due jobs by itself within its poll interval.
  await eventually(
    async () => {
      assert.deepEqual([await valuesOf(old), (await valuesOf(recent)).length], [[], 1]);
      const [left] = await query(
        "select count(*)::int as count from content.mail_values v where not exists (select from content.sends s where s.hash = v.send_hash)",
      );
      assert.equal(left?.count, 0);
      assert.deepEqual(await query(`select from content.sends where contact_id = ${erased.contactId}`), []);
    },
    { timeoutMs: 60_000, intervalMs: 200 },
  );
  assert.match(await viewed(old), /^Hello Grace Admiral, Usual at /);
  assert.equal(await viewed(recent), mailed(recent));
});
