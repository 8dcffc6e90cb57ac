import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { FactService } from "@tidings/proto/tidings/api/v1/fact";
import { EmailRepliesSchema, EmailSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { callContent, calledBy } from "./content-calls.ts";
import { GONE, parsed, startMailingStack } from "./mailing-stack.ts";
import { addresses, segmentOf } from "./newsletters.ts";
import { publishedOn } from "./published.ts";
import { visitor } from "./visitor.ts";

/** Mails and their opens, from the ledger to the receiver of a webhook and to the events of other services. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** Mails wait here while a test does something meanwhile. */
let held: Promise<void> | undefined;
let begun: string | undefined;
const actorKeyRing = generateActorKeyRing();
const stack = await startMailingStack({
  actorKeyRing,
  hasOwnHost: true,
  server: {
    ...GONE,
    async onMail({ to }) {
      begun = to[0];
      await held;
      return undefined;
    },
  },
  content: { MAIL_CONNECTIONS: "1" },
});
const { api, baseUrl, publicUrl, made, mailsTo } = stack;
const { host } = new URL(publicUrl);

/** Items of the triggers, by their names, once there are so many. */
async function listen(t: TestContext, triggers: string[]) {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const { hook } = await made("hooks/new", { name: "Mails", webhookUrl: receiver.url, triggers });
  t.after(() => api("DELETE", `hooks/${hook.id}/delete`));
  return async (count: number): Promise<[string, Any][]> => {
    const requests = await receiver.waitFor(count);
    assert.equal(requests.length, count);
    return requests.map(({ body }) => {
      const [[trigger, [item]]] = Object.entries(JSON.parse(body)) as [[string, [Any]]];
      return [trigger, item];
    });
  };
}

async function emailOf(members: object = {}): Promise<number> {
  const { category } = await made("categories/new", { title: "Letters", bundle: "email" });
  const { email } = await made("emails/new", {
    ...{ name: "Letter", subject: "Hello {contactfield=firstname}", category: category.id },
    headers: { "X-Campaign": "Spring" },
    customHtml: `<html><body><p>{contactfield=email} {greeting}</p><a href="https://shop.example/">Shop</a>
      <a href="{unsubscribe_url}">Leave</a></body></html>`,
    ...members,
  });
  return email.id;
}

/** Sends of the email as events with this verb carry them, each with the email. */
async function factsOf(emailId: number, verb: string) {
  const events = await publishedOn(stack, `tidings.content.email.${verb}`, EmailSendsSchema);
  return events.flatMap(({ sends, emails }) =>
    sends
      .filter((send) => send.emailId === emailId)
      .map((send) => ({ ...send, email: emails.find((email) => email.id === emailId) })),
  );
}

/** Answers as a service lists them that begins later. */
async function listedReplies() {
  const facts = await callContent(stack, FactService, actorKeyRing);
  const asked = { type: EmailRepliesSchema.typeName, pageSize: 1_000 };
  const { events } = await facts.listFacts(asked, calledBy("Facts"));
  return events.map((event) => fromBinary(EmailRepliesSchema, event));
}

/** The path of the picture in a mail. */
function pixelIn(html: string): string {
  return (/src="([^"]*\.gif)"/.exec(html)?.[1] ?? "").slice(new URL(publicUrl).origin.length);
}

/** The mail that the server took for the address. */
async function mailTo(address: string) {
  const [mail, ...more] = mailsTo(address);
  assert.deepEqual(more, []);
  const read = await parsed(mail);
  return { ...read, html: String(read.html).trimEnd() };
}

test("a direct send and each mail of a broadcast arrive at a webhook once, with the subject and the content that the mail server got", async (t) => {
  const items = await listen(t, ["svc.email_on_send"]);
  const emails = addresses("mail", 120);
  const { id, contactIds } = await segmentOf(stack, [...emails, "gone-1@example.org"], { firstname: "Ada" });
  const [directId, listId] = [
    await emailOf({ emailType: "template" }),
    await emailOf({ emailType: "list", isPublished: true, lists: [id] }),
  ];
  const direct = { email: "direct@example.org", firstname: "Zoë & Co" };
  const { contact } = await made("contacts/new", direct);
  await made(`emails/${directId}/contact/${contact.id}/send`, { tokens: { greeting: "<b>Hi</b>" } });
  assert.equal((await made(`emails/${listId}/send`, {})).sentCount, 120);
  const received = await items(121);
  const byAddress = new Map(
    received.map(([trigger, item]) => {
      assert.equal(trigger, "svc.email_on_send");
      return [item.contact.email, item];
    }),
  );
  assert.deepEqual([...byAddress.keys()].toSorted(), [...emails, direct.email].toSorted());
  for (const [address, item] of byAddress) {
    const mail = await mailTo(address);
    assert.equal(item.subject, mail.subject);
    assert.equal(item.content.replaceAll("\r\n", "\n").trimEnd(), mail.html);
    assert.ok(mail.messageId?.includes(item.idHash));
    assert.equal(item.headers["X-Campaign"], "Spring");
  }
  const one = byAddress.get(direct.email);
  assert.deepEqual(
    [one.contact.id, one.contact.firstname, one.source, one.tokens, one.contentHash],
    [contact.id, direct.firstname, ["api", 0], { greeting: "<b>Hi</b>" }, null],
  );
  assert.deepEqual(
    [one.email.id, one.email.emailType, one.email.category.title],
    [directId, "template", "Letters"],
  );
  const member = byAddress.get("mail-0@example.org");
  assert.deepEqual(
    [member.contact.id, member.source, member.tokens],
    [contactIds[0], ["broadcast", listId], {}],
  );
  assert.match(member.headers["List-Unsubscribe"], /\/email\/unsubscribe\//);
});

test("each open by a person arrives at a webhook once, with the stat of its mail; machines and replies notify nobody", async (t) => {
  const { id, contactIds } = await segmentOf(stack, ["opens@example.org"], { firstname: "Ada" });
  const emailId = await emailOf({ emailType: "list", isPublished: true, lists: [id] });
  await made(`emails/${emailId}/send`, {});
  const items = await listen(t, ["svc.email_on_open"]);
  const { html, messageId } = await mailTo("opens@example.org");
  const hash = messageId?.slice(1, 37) ?? "";
  const pixel = pixelIn(html);
  await visitor(baseUrl, { host, agent: "Googlebot/2.1" }).ask(pixel);
  await made(`emails/reply/${hash}`, {});
  await Promise.all([1, 2, 3].map(() => visitor(baseUrl, { host }).ask(pixel)));
  const received = await items(3);
  assert.deepEqual(
    received.map(([trigger, { stat }]) => [trigger, stat.openCount]),
    [1, 2, 3].map((openCount) => ["svc.email_on_open", openCount]),
  );
  const { stat } = received.at(-1)?.[1] ?? {};
  assert.deepEqual(
    [
      stat.trackingHash,
      stat.emailAddress,
      stat.isRead,
      stat.isFailed,
      stat.lead.id,
      stat.email.id,
      stat.source,
    ],
    [hash, "opens@example.org", true, false, contactIds[0], emailId, "broadcast"],
  );
  assert.match(stat.lastOpened, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
});

test("each answer that the API records is an event, with the send and its email whole", async () => {
  const { id, contactIds } = await segmentOf(stack, ["answers@example.org"], { firstname: "Ada" });
  const emailId = await emailOf({ emailType: "list", isPublished: true, lists: [id] });
  await made(`emails/${emailId}/send`, {});
  const hash = (await mailTo("answers@example.org")).messageId?.slice(1, 37) ?? "";
  await made(`emails/reply/${hash}`, {});
  await made(`emails/reply/${hash}`, {});
  const events = await publishedOn(stack, "tidings.content.email.replied", EmailRepliesSchema);
  const ours = events.filter(({ replies }) => replies.some(({ sendId }) => sendId === hash));
  const replies = ours.flatMap((event) => event.replies);
  const rows = await stack.query(
    `select id from content.send_replies where send_hash = '${hash}' order by id`,
  );
  assert.deepEqual(
    replies.map((reply) => [reply.id, reply.contactId, reply.emailId, reply.messageId]),
    rows.map((row) => [row.id, contactIds[0], emailId, ""]),
  );
  assert.equal(rows.length, 2);
  assert.ok(replies.every(({ dateReplied }) => dateReplied));
  const [first] = ours;
  assert.deepEqual(
    [first?.answered?.sends[0]?.address, first?.answered?.emails[0]?.name],
    ["answers@example.org", "Letter"],
  );
  const listed = await listedReplies();
  assert.deepEqual(
    listed.flatMap((event) => event.replies).filter(({ sendId }) => sendId === hash),
    replies,
  );
  const answered = listed.flatMap((event) => event.answered?.sends ?? []).filter(({ id }) => id === hash);
  assert.deepEqual(
    answered.map(({ address }) => address),
    ["answers@example.org"],
  );
});

test("hooks/triggers names all 14 triggers", async () => {
  const { triggers } = (await api("GET", "hooks/triggers")).body as Any;
  assert.equal(Object.keys(triggers).length, 14);
});

test("events carry each send whole, with its email, once for each fact: queued, then sent, failed or suppressed", async () => {
  const emails = ["fact-1@example.org", "fact-2@example.org", "gone-fact@example.org"];
  const { id, contactIds } = await segmentOf(stack, emails, { firstname: "Ada" });
  const emailId = await emailOf({ emailType: "list", isPublished: true, lists: [id] });
  const facts = (verb: string) => factsOf(emailId, verb);
  const { promise, resolve: release } = Promise.withResolvers<void>();
  [held, begun] = [promise, undefined];
  const sending = made(`emails/${emailId}/send`, {});
  await eventually(() => assert.ok(begun));
  const later = begun === emails[0] ? 1 : 0;
  await made(`contacts/${contactIds[later]}/dnc/email/add`, {});
  release();
  await sending;
  const [queued, sent, failed] = [await facts("queued"), await facts("sent"), await facts("failed")];
  const suppressed = await facts("suppressed");
  assert.equal(new Set(queued.map((send) => send.id)).size, 3);
  for (const { state, listId, occasion, isBulk, source, sourceId, email } of queued) {
    assert.deepEqual([state, listId, occasion, isBulk], ["waiting", id, "list", true]);
    assert.deepEqual([source, sourceId], ["broadcast", emailId]);
    assert.deepEqual([email?.name, email?.emailType, email?.language], ["Letter", "list", "en"]);
    assert.equal(JSON.parse(Buffer.from(email?.category ?? []).toString()).title, "Letters");
  }
  const decided = [...sent, ...failed, ...suppressed].map((send) => [
    ...[send.address, send.state, send.isFailed, send.retryCount, send.code, send.reason],
  ]);
  assert.deepEqual(decided, [
    [begun, "sent", false, 0, 250, ""],
    ["gone-fact@example.org", "failed", true, 0, 550, "5.1.1 no such mailbox"],
    [emails[later], "suppressed", false, 0, undefined, "manual"],
  ]);
});

test("an open of a mail whose outcome nobody knew publishes that the mail was sent, and counts it", async () => {
  const emailId = await emailOf({ emailType: "template" });
  const { contact } = await made("contacts/new", { email: "unknown@example.org" });
  await made(`emails/${emailId}/contact/${contact.id}/send`, {});
  const asUnknown = "set state = 'unknown', date_sent = null";
  await stack.query(`update content.sends ${asUnknown} where email_id = ${emailId}`);
  await stack.query(`update content.emails set sent_count = 0 where id = ${emailId}`);
  await visitor(baseUrl, { host }).ask(pixelIn((await mailTo("unknown@example.org")).html));
  const [sent, opened] = [await factsOf(emailId, "sent"), await factsOf(emailId, "opened")];
  assert.deepEqual([sent.length, opened.length], [2, 1]);
  assert.deepEqual([sent[1]?.state, sent[1]?.version], ["sent", opened[0]?.version]);
  assert.ok(sent[1]?.dateSent);
  const { email } = (await api("GET", `emails/${emailId}`)).body as Any;
  assert.deepEqual([email.sentCount, email.readCount], [1, 1]);
});
