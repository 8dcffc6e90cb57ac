import assert from "node:assert/strict";
import { test } from "node:test";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { eventually } from "@tidings/testkit/eventually";
import { callContent, calledBy } from "./content-calls.ts";
import { startMailingStack } from "./mailing-stack.ts";
import { addresses, contactsOf } from "./newsletters.ts";
import { newPerson } from "./people.ts";
import { startTextProvider } from "./text-provider.ts";

/** Sends that campaigns, triggers and reports ask for, and marketing messages, which go from channel to channel. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const provider = await startTextProvider();
const { answers, requestsTo } = provider;
const actorKeyRing = generateActorKeyRing();
const stack = await startMailingStack({
  actorKeyRing,
  senders: "apart",
  server: {
    onRecipient: (address) => (address.startsWith("gone") ? "550 5.2.1 mailbox disabled" : undefined),
  },
  content: provider.content,
});
const { api, made, mailsTo } = stack;

const content = await callContent(stack, SendMethodService, actorKeyRing);
const outgoing = () => calledBy("Campaigns");
const PATIENCE = { timeoutMs: 60_000, intervalMs: 200 };

let count = 0;
const emailsOf = (name: string, many: number) => addresses(name, many).map((email) => ({ email }));
/** A contact with an address and a number of its own. */
async function contact(name: string, members: object = {}) {
  const digits = `152${String(++count).padStart(8, "0")}`;
  const email = `${name}-${count}@example.org`;
  const [id = 0] = await contactsOf(stack, [{ email, mobile: `0${digits}`, ...members }]);
  return { id, email, number: `+49${digits}` };
}
async function email(members: object = {}): Promise<number> {
  const made_ = {
    name: "Offer",
    subject: "Offer",
    isPublished: true,
    customHtml: "<p>Hello {contactfield=email}, {word}</p>",
  };
  return (await made("emails/new", { ...made_, ...members })).email.id;
}
async function sms(members: object = {}): Promise<number> {
  return (await made("smses/new", { name: "Offer", message: "Hello", isPublished: true, ...members })).sms.id;
}
async function message(channels: object[], members: object = {}): Promise<number> {
  const enabled = channels.map((channel) => ({ isEnabled: true, ...channel }));
  const { message: one } = await made("messages/new", {
    name: "Offer",
    isPublished: true,
    channels: enabled,
    ...members,
  });
  return one.id;
}
const inEmail = async (members: object = {}) => ({ channel: "email", channelId: await email(members) });
const inSms = async (members: object = {}) => ({ channel: "sms", channelId: await sms(members) });

interface Asked {
  channel?: string;
  itemId: number;
  contactIds: number[];
  occasion: string;
  isMarketing?: boolean;
}
async function ask(asked: Asked) {
  const of = { channel: "email", source: "campaign.event", sourceId: 5, isMarketing: true };
  const tokens = Buffer.from('{"word":"<b>bye</b>"}');
  return (await content.sendToContacts({ ...of, tokens, ...asked }, outgoing())).outcomes;
}
async function outcomesOf({ channel = "email", ...asked }: Asked) {
  return (await content.readSendOutcomes({ channel, ...asked }, outgoing())).outcomes;
}
const countOf = <T>(items: T[], key: (item: T) => string) =>
  Object.fromEntries([...Map.groupBy(items, key)].map(([name, some]) => [name, some.length]));

test("500 contacts asked for twice, and by two askers at once, get one mail each, and each has an outcome", async () => {
  const contactIds = await contactsOf(stack, [...emailsOf("many", 499), { email: "gone-many@example.org" }]);
  const asked = { itemId: await email(), contactIds, occasion: "campaign:5:1" };
  const [one, other] = await Promise.all([ask(asked), ask(asked)]);
  assert.deepEqual(
    one.map(({ contactId }) => contactId),
    contactIds,
  );
  const isNew = [...one, ...other].filter((outcome) => outcome.isNew);
  assert.equal(isNew.length, 500);
  assert.equal(new Set(isNew.map(({ contactId }) => contactId)).size, 500);
  await eventually(async () => {
    const outcomes = await outcomesOf(asked);
    assert.deepEqual(
      countOf(outcomes, ({ state }) => state),
      { sent: 499, failed: 1 },
    );
  }, PATIENCE);
  const again = await ask(asked);
  assert.deepEqual(
    countOf(again, ({ state, isNew: fresh }) => `${state} ${fresh}`),
    { "sent false": 499, "failed false": 1 },
  );
  const failed = again.find(({ state }) => state === "failed");
  assert.deepEqual(
    [failed?.contactId, failed?.code, failed?.reason],
    [contactIds.at(-1), 550, "5.2.1 mailbox disabled"],
  );
  assert.equal(mailsTo("many-").length, 499);
  assert.match(String(mailsTo("many-7@")[0]?.octets), /<b>bye<\/b>/);
});

test("a no wins, and each contact that is not chosen has a reason", async () => {
  const [no, bounced, unaddressed, twin, other] = (await contactsOf(stack, [
    { email: "no-1@example.org" },
    { email: "gone-2@example.org" },
    { firstname: "Nobody" },
    { email: "twin@example.org" },
    { firstname: "Twin" },
  ])) as [number, number, number, number, number];
  await stack.query(`update contact.contacts set email = 'twin@example.org' where id = ${other}`);
  await made(`contacts/${no}/dnc/email/add`, { reason: 1 });
  await made(`contacts/${bounced}/dnc/email/add`, { reason: 2 });
  const itemId = await email();
  const contactIds = [no, bounced, unaddressed, twin, other, 2_000_000_000];
  const outcomes = await ask({ itemId, contactIds, occasion: "campaign:6:1", isMarketing: false });
  assert.deepEqual(
    outcomes.slice(0, 3).map(({ state, reason }) => [state, reason]),
    [
      ["refused", "unsubscribed"],
      ["refused", "bounced"],
      ["refused", "no_address"],
    ],
  );
  // The twins share an address, which gets one mail.
  assert.deepEqual(
    outcomes
      .slice(3, 5)
      .map(({ state, reason }) => [state, reason])
      .toSorted(),
    [
      ["refused", "address_taken"],
      ["waiting", ""],
    ],
  );
  assert.equal(outcomes[5]?.reason, "not_found");
  const hidden = await email({ isPublished: false });
  for (const odd of [hidden, 2_000_000_000])
    assert.deepEqual(
      (await ask({ itemId: odd, contactIds: [twin], occasion: "campaign:6:1" }))[0]?.reason,
      "unpublished",
    );
  const hiddenSms = await sms({ isPublished: false });
  const [text] = await ask({
    channel: "sms",
    itemId: hiddenSms,
    contactIds: [twin],
    occasion: "campaign:6:1",
  });
  assert.equal(text?.reason, "unpublished");
});

test("a marketing email goes to a contact once whatever the occasion and waits for its limit; a transactional one goes for each occasion at once", async () => {
  const rule = { email: { frequency_number: 1, frequency_time: "DAY" } };
  const { id, email: address } = await contact("limited", { frequencyRules: rule });
  const send = async (itemId: number, occasion: string, isMarketing: boolean) =>
    (await ask({ itemId, contactIds: [id], occasion, isMarketing }))[0];
  const [marketing, other] = [await email(), await email()];
  assert.equal((await send(marketing, "campaign:7:1", true))?.isNew, true);
  await eventually(() => assert.equal(mailsTo(address).length, 1), PATIENCE);
  const again = await send(marketing, "campaign:7:2", true);
  assert.deepEqual([again?.state, again?.reason], ["refused", "already_received"]);
  await eventually(async () => {
    const [limited] = await stack.query(
      `select count(*) from contact.email_sends where contact_id = ${id} and date_sent is not null`,
    );
    assert.equal(Number(limited.count), 1);
  }, PATIENCE);
  await send(other, "campaign:8:1", true);
  await eventually(async () => {
    const [outcome] = await outcomesOf({ itemId: other, contactIds: [id], occasion: "campaign:8:1" });
    assert.deepEqual([outcome?.state, outcome?.reason], ["waiting", "frequency"]);
  }, PATIENCE);
  const transactional = await email();
  for (const occasion of ["trigger:9", "campaign:9:2"])
    assert.equal((await send(transactional, occasion, false))?.isNew, true);
  await eventually(() => assert.equal(mailsTo(address).length, 3), PATIENCE);
});

test("an email goes to users, owners and addresses once for each contact", async () => {
  const [{ id: ownerId }] = await stack.query("select id from content.users limit 1");
  await stack
    .query("update gateway.users set email = 'owner@example.org' where username = 'admin'")
    .catch(() => []);
  const { id } = await contact("about");
  const emailId = await email({ subject: "About {contactfield=email}" });
  const asked = {
    emailId,
    contactIds: [id, 2_000_000_000],
    occasion: "campaign:10:1",
    addresses: ["team@example.org", "TEAM@example.org"],
    userIds: [ownerId],
  };
  for (let time = 0; time < 2; time += 1) {
    const { outcomes } = await content.sendToAddresses(asked, outgoing());
    assert.ok(Object.keys(outcomes[0]?.states ?? {}).some((address) => /^team@/i.test(address)));
    assert.equal(outcomes[1]?.reason, "not_found");
  }
  await eventually(() => assert.equal(mailsTo("team@").length + mailsTo("TEAM@").length, 1), PATIENCE);
});

async function sendMessage(
  id: number,
  contactId: number,
  headers: Record<string, string> = {},
): Promise<Any> {
  const answer = await api("POST", `messages/${id}/contact/${contactId}/send`, {}, headers);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

test("a marketing message goes out in the first channel that takes it, and once under an Idempotency-Key", async () => {
  const id = await message([await inEmail(), await inSms()]);
  const plain = await contact("first");
  assert.deepEqual(await sendMessage(id, plain.id), {
    success: 1,
    status: "sent",
    channel: "email",
    failed: {},
  });
  const gone = await contact("gone");
  assert.deepEqual(await sendMessage(id, gone.id), {
    ...{ success: 1, status: "sent", channel: "sms" },
    failed: { email: "5.2.1 mailbox disabled" },
  });
  const refusing = await contact("refusing");
  await made(`contacts/${refusing.id}/dnc/email/add`, { reason: 1 });
  const { channel, failed } = await sendMessage(id, refusing.id);
  assert.deepEqual([channel, failed], ["sms", { email: "unsubscribed" }]);
  assert.deepEqual(
    [requestsTo(plain.number).length, requestsTo(gone.number).length, mailsTo(refusing.email).length],
    [0, 1, 0],
  );
  const once = await contact("once");
  const key = { "idempotency-key": "message-once" };
  await Promise.all([1, 2, 3].map(() => api("POST", `messages/${id}/contact/${once.id}/send`, {}, key)));
  assert.equal((await sendMessage(id, once.id, key)).status, "sent");
  assert.equal(mailsTo(once.email).length, 1);
});

test("the contact's rules order the channels; those without a transport are skipped, and none is sent after all refused", async () => {
  const rules = { sms: { frequency_number: 9, frequency_time: "DAY", preferred_channel: 1 } };
  const id = await message([await inEmail(), await inSms()]);
  const { id: contactId, number, email: address } = await contact("prefers", { frequencyRules: rules });
  assert.equal((await sendMessage(id, contactId)).channel, "sms");
  assert.deepEqual([requestsTo(number).length, mailsTo(address).length], [1, 0]);
  const { tweet } = await made("tweets/new", { name: "Tweet", text: "Hello" });
  const unsendable = await message([
    { channel: "tweet", channelId: tweet.id },
    await inEmail({ isPublished: false }),
    await inSms(),
  ]);
  const none = await contact("none", { mobile: "" });
  const answer = await sendMessage(unsendable, none.id);
  const failed = { tweet: "no_transport", email: "unpublished", sms: "Missing phone number for contact." };
  assert.deepEqual(answer, {
    ...{ success: false, status: "failed", channel: null, failed },
    reason: failed.sms,
  });
  const hidden = await message([await inEmail()], { isPublished: false });
  assert.equal((await sendMessage(hidden, none.id)).reason, "The marketing message is not published.");
  assert.equal((await sendMessage(await message([]), none.id)).success, false);
});

test("a message whose channel may have sent it goes to no other channel", async () => {
  const rules = { sms: { frequency_number: 9, frequency_time: "DAY", preferred_channel: 1 } };
  const id = await message([await inEmail(), await inSms()]);
  const { id: contactId, number, email: address } = await contact("unsure", { frequencyRules: rules });
  answers.set(number, { drop: true });
  const { success, status, channel } = await sendMessage(id, contactId);
  assert.deepEqual([success, status, channel], [false, "unknown", "sms"]);
  // Nor once somebody decides that it did not.
  const { sends } = (await api("GET", `sends?channel=sms&contactId=${contactId}`)).body as Any;
  assert.deepEqual([sends.length, sends[0].occasion.endsWith(":sms")], [1, true]);
  const { body } = await api("POST", `sends/${sends[0].id}/resolve`, { as: "failed" });
  assert.equal((body as Any).send.state, "failed");
  const after_ = await contact("unsure-after");
  await sendMessage(id, after_.id);
  assert.equal(mailsTo(address).length, 0);
});

test("however often senders are killed between channels, a message is sent in one channel at most", async () => {
  const many = 120;
  const base = count;
  count += many;
  const all = Array.from({ length: many }, (_, index) => ({
    // The mail server refuses every other one.
    email: `${index % 2 ? "gone" : "killed"}-between-${index}@example.org`,
    mobile: `0152${String(base + index + 1).padStart(8, "0")}`,
  }));
  const contactIds = await contactsOf(stack, all);
  const itemId = await message([await inEmail(), await inSms()]);
  const asked = { channel: "message", itemId, contactIds, occasion: "campaign:11:1", isMarketing: false };
  const chosen = await ask(asked);
  assert.deepEqual(
    countOf(chosen, ({ isNew }) => String(isNew)),
    { true: many },
  );
  for (let round = 0; round < 3; round += 1) {
    const sender = stack.process("content-2");
    sender.kill("SIGKILL");
    // The leases of the killed process run out.
    for (const table of ["sends", "text_sends"])
      await stack.query(
        `update content.${table} set due_at = now(), leased_until = null where state in ('waiting', 'started')`,
      );
    await stack.query("update content.message_sends set due_at = now() where state = 'waiting'");
    await sender.restart();
    await ask(asked);
    await eventually(async () => {
      const outcomes = await outcomesOf(asked);
      assert.ok(outcomes.filter(({ state }) => state === "sent").length > round * 20);
    }, PATIENCE);
  }
  const outcomes = await eventually(async () => {
    const decided = await outcomesOf(asked);
    assert.equal(decided.filter(({ state }) => state === "sent" || state === "unknown").length, many);
    return decided;
  }, PATIENCE);
  for (const [index, { email: address, mobile }] of all.entries()) {
    const sent = mailsTo(address).length + requestsTo(`+49${mobile.slice(1)}`).length;
    const outcome = outcomes.find(({ contactId }) => contactId === contactIds[index]);
    assert.ok(outcome?.state === "sent" ? sent === 1 : sent <= 1, `${address} was sent ${sent} times`);
    if (outcome?.state === "sent") assert.equal(outcome.channel, index % 2 ? "sms" : "email");
  }
});

test("a request that no caller may make is refused with the field, and changes nothing", async () => {
  const itemId = await email();
  const { id } = await contact("hostile");
  const refusedAs = async (asked: object, field: string) =>
    assert.rejects(ask({ itemId, contactIds: [id], occasion: "campaign:1:1", ...asked }), (error: Any) => {
      assert.equal(error.violations?.[0]?.field, field, String(error));
      return true;
    });
  for (const occasion of [
    "",
    "list",
    "direct:1",
    "message:campaign:1:1:email",
    "campaign:",
    "campaign:1'",
    `campaign:${"1".repeat(151)}`,
  ])
    await refusedAs({ occasion }, "occasion");
  for (const channel of ["", "fax", "mobile_notification", "constructor", "__proto__"])
    await refusedAs({ channel }, "channel");
  for (const source of ["", "api'; drop", "x".repeat(51)]) await refusedAs({ source }, "source");
  await refusedAs({ contactIds: Array.from({ length: 501 }, (_, index) => index + 1) }, "contactIds");
  await refusedAs({ contactIds: [-1] }, "contactIds");
  for (const tokens of ["[1]", '"x"', '{"a b":"1"}', '{"a":{}}'])
    await refusedAs({ tokens: Buffer.from(tokens) }, tokens.includes("{}") ? "tokens.a" : "tokens");
  await assert.rejects(
    content.sendToAddresses(
      {
        emailId: itemId,
        contactIds: [id],
        occasion: "trigger:1",
        addresses: ["a@b.example\r\nBcc: x@y.example"],
      },
      outgoing(),
    ),
  );
  assert.deepEqual(await ask({ itemId, contactIds: [], occasion: "campaign:1:1" }), []);
  const messageId = await message([await inEmail()]);
  const path = `messages/${messageId}/contact/${id}/send`;
  const statusOf = async (rights: Record<string, string[]>) =>
    (await (await newPerson(stack, rights)).api("POST", path)).status;
  assert.equal(await statusOf({ "lead:leads": ["full"] }), 403);
  assert.equal(await statusOf({ "channel:messages": ["full"] }), 403);
  assert.equal(await statusOf({ "channel:messages": ["viewown"], "lead:leads": ["full"] }), 404);
  for (const odd of ["2000000000", "99999999999999999999", "0", "-1", "1e3", "%00"])
    for (const hostile of [
      `messages/${odd}/contact/${id}/send`,
      `messages/${messageId}/contact/${odd}/send`,
    ]) {
      const { status } = await api("POST", hostile);
      assert.ok(status === 404 || status === 400, `${hostile}: ${status}`);
    }
  assert.equal(mailsTo("hostile").length, 0);
});
