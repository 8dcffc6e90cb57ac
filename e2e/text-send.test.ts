import assert from "node:assert/strict";
import { after, test } from "node:test";
import { SmsSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { newPerson } from "./people.ts";
import { publishedOn } from "./published.ts";
import { scrapeProcess } from "./scrape.ts";
import { fieldsOf, startTextProvider } from "./text-provider.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Text messages, from the API to a provider, and what follows. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const provider = await startTextProvider();
const { answers, requestsTo } = provider;
const stack = await startVisitedStack({
  hasOwnHost: true,
  env: {
    content: {
      ...provider.content,
    },
  },
});
after(() => stack.stop());
const { api, baseUrl, publicUrl, made } = stack;

let count = 0;
/** A contact with a number of its own, as it is written and as the provider gets it. */
async function contact(members: object = {}): Promise<{ id: number; number: string }> {
  const digits = `151${String(++count).padStart(8, "0")}`;
  const { contact: one } = await made("contacts/new", {
    ...{ firstname: "Ada", email: `text-${count}@example.org`, mobile: `0${digits}` },
    ...members,
  });
  return { id: one.id, number: `+49${digits}` };
}

async function sms(members: object = {}): Promise<number> {
  const { sms: one } = await made("smses/new", {
    ...{ name: "Spring", message: "Hello {contactfield=firstname|you}", isPublished: true },
    ...members,
  });
  return one.id;
}

async function send(smsId: number, contactId: number, headers: Record<string, string> = {}): Promise<Any> {
  const answer = await api("POST", `smses/${smsId}/contact/${contactId}/send`, {}, headers);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

async function rowOf(contactId: number): Promise<Any> {
  const rows = await stack.query(
    `select id, state, reason, code from content.text_sends where contact_id = ${contactId} order by id desc`,
  );
  return rows[0];
}

test("a text message goes to its contact once, with values and tracked links, and counts", async () => {
  const smsId = await sms({
    message: "Hello {contactfield=firstname|you}, see https://shop.example/?a=1&b=2. {contactfield=city|Bye}",
  });
  const { id, number } = await contact({ firstname: "Zoë & Co", phone: "030 999" });
  const { result, ...answer } = await send(smsId, id);
  assert.deepEqual(answer, { success: 1, status: "Delivered", errors: [] });
  const [request, ...more] = requestsTo(number);
  assert.deepEqual(more, []);
  assert.equal(request?.path, "/messages");
  assert.equal(request?.headers.authorization, `Basic ${Buffer.from("account:secret").toString("base64")}`);
  const { Body: body = "", From: from } = request ? fieldsOf(request) : {};
  assert.equal(from, "+4930111");
  const [, link = ""] = /^Hello Zoë & Co, see (http\S+)\. Bye$/.exec(body) ?? [];
  const { statId, ...said } = result;
  assert.deepEqual(said, {
    ...{ sent: true, type: "svc.sms.sms", status: "svc.sms.timeline.status.delivered" },
    ...{ id: smsId, name: "Spring", content: body },
  });
  assert.equal(((await api("GET", `smses/${smsId}`)).body as Any).sms.sentCount, 1);
  const [fact] = (await publishedOn(stack, "tidings.content.sms.sent", SmsSendsSchema)).flatMap(
    ({ sends, smses }) => sends.map((one) => ({ ...one, name: smses[0]?.name })),
  );
  assert.deepEqual(
    [fact?.id, fact?.contactId, fact?.smsId, fact?.address, fact?.content, fact?.name, fact?.state],
    [statId, id, smsId, number, body, "Spring", "sent"],
  );
  assert.notEqual(fact?.responseDetails, "");
  const host = new URL(publicUrl).host;
  const followed = await visitor(baseUrl, { host }).ask(link.slice(new URL(publicUrl).origin.length));
  assert.deepEqual([followed.status, followed.headers.location], [302, "https://shop.example/?a=1&b=2"]);
  await eventually(async () => {
    const [hit] = await stack.query(
      `select source, source_id from content.page_hits where contact_id = ${id}`,
    );
    assert.deepEqual(hit, { source: "sms", source_id: smsId });
    const found = (await api("GET", `contacts?search=sms_sent:${smsId}`)).body as Any;
    assert.deepEqual(Object.keys(found.contacts), [String(id)]);
    const clicked = (await publishedOn(stack, "tidings.content.sms.clicked", SmsSendsSchema)).flatMap(
      ({ sends }) => sends,
    );
    assert.deepEqual(
      clicked.map((one) => [one.id, one.version - (fact?.version ?? 0), one.ip !== ""]),
      [[statId, 1, true]],
    );
  });
});

test("GET sends too, and one Idempotency-Key sends one message, however often and at once it comes", async () => {
  const smsId = await sms();
  const { id, number } = await contact();
  const got = await api("GET", `smses/${smsId}/contact/${id}/send`);
  assert.deepEqual([got.status, (got.body as Any).status], [200, "Delivered"]);
  const key = { "idempotency-key": "text-once" };
  const path = `smses/${smsId}/contact/${id}/send`;
  await Promise.all([1, 2, 3].map(() => api("POST", path, {}, key)));
  const last = await send(smsId, id, key);
  assert.deepEqual([last.success, last.status], [1, "Delivered"]);
  assert.equal(requestsTo(number).length, 2);
  // The key is the occasion of the send, also once its answer is kept no more.
  await stack.query("truncate content.kept_answers");
  const later = await send(smsId, id, key);
  assert.deepEqual([later.status, later.result], ["Delivered", last.result]);
  assert.equal(requestsTo(number).length, 2);
});

test("a message that is refused for good, has no number or no text, fails with the reason and is not counted", async () => {
  const smsId = await sms();
  const refused = await contact();
  answers.set(refused.number, { status: 400, body: '{"code":21211,"message":"Not a <b>mobile</b> number"}' });
  const answer = await send(smsId, refused.id);
  assert.deepEqual([answer.success, answer.status], [false, "Not a mobile number"]);
  assert.deepEqual(answer.errors, [{ message: "Not a mobile number" }]);
  const { state, code } = await rowOf(refused.id);
  assert.deepEqual([state, code], ["failed", 400]);
  const statusOf = async (members: object, message = "Hi") => {
    const { id } = await contact(members);
    const { success, status } = await send(await sms({ message }), id);
    return [success, status];
  };
  const missing = [false, "Missing phone number for contact."];
  assert.deepEqual(await statusOf({ mobile: "" }), missing);
  assert.deepEqual(await statusOf({ mobile: "call me" }), [false, "The phone number is malformed."]);
  assert.deepEqual(await statusOf({ firstname: "" }, "{contactfield=firstname}"), [
    false,
    "The text message is empty.",
  ]);
  const long = await statusOf({}, "x".repeat(1_601));
  assert.deepEqual(long, [false, "The rendered text is longer than 1600 characters."]);
  const landline = await contact({ mobile: "", phone: "+1 (415) 555-2671" });
  assert.equal((await send(smsId, landline.id)).status, "Delivered");
  assert.equal(requestsTo("+14155552671").length, 1);
  assert.equal(((await api("GET", `smses/${smsId}`)).body as Any).sms.sentCount, 1);
});

test("nothing goes to a contact who said no, nor of an unpublished message, and too many messages wait", async () => {
  const smsId = await sms();
  const no = await contact();
  await made(`contacts/${no.id}/dnc/sms/add`, { reason: 3 });
  const refused = await send(smsId, no.id);
  const words = "Contact is not contactable on the SMS channel.";
  assert.deepEqual([refused.success, refused.status, refused.errors], [false, words, [{ message: words }]]);
  assert.equal(refused.result.status, "svc.sms.campaign.failed.not_contactable");
  const mailed = await contact();
  await made(`contacts/${mailed.id}/dnc/email/add`, {});
  assert.equal((await send(smsId, mailed.id)).status, "Delivered");
  const other = await contact();
  for (const members of [{ isPublished: false }, { publishUp: "2200-01-01 00:00:00" }]) {
    const { success, status } = await send(await sms(members), other.id);
    assert.deepEqual([success, status], [false, "The specified SMS was unpublished."]);
  }
  const frequent = await contact({
    frequencyRules: { sms: { frequency_number: 1, frequency_time: "DAY" } },
  });
  assert.equal((await send(smsId, frequent.id)).status, "Delivered");
  await eventually(async () => {
    const { success, status, result } = await send(smsId, frequent.id);
    assert.deepEqual([success, status, result.sent], [1, "Scheduled", false]);
  });
  await eventually(async () => {
    const { state, reason } = await rowOf(frequent.id);
    assert.deepEqual([state, reason], ["waiting", "frequency"]);
  });
  assert.deepEqual([requestsTo(no.number).length, requestsTo(other.number).length], [0, 0]);
});

test("while the provider is away messages wait; then they go on, except to a contact who said no meanwhile", async () => {
  const smsId = await sms();
  const [one, other] = [await contact(), await contact()];
  for (const { number } of [one, other]) answers.set(number, { status: 503, body: "busy" });
  const sending = [one, other].map(({ id }) => send(smsId, id));
  await eventually(async () => {
    for (const { id } of [one, other]) {
      const { state, code } = await rowOf(id);
      assert.deepEqual([state, code], ["waiting", 503]);
    }
  });
  await made(`contacts/${other.id}/dnc/sms/add`, {});
  answers.clear();
  const before = requestsTo(other.number).length;
  await stack.query(`update content.text_sends set due_at = now() where sms_id = ${smsId}`);
  const [sent, refused] = await Promise.all(sending);
  assert.deepEqual([sent.success, sent.status], [1, "Delivered"]);
  const words = "Contact is not contactable on the SMS channel.";
  assert.deepEqual([refused.success, refused.status], [false, words]);
  assert.equal((await rowOf(other.id)).state, "suppressed");
  assert.equal(requestsTo(other.number).length, before);
});

test("a message is not sent again where the provider hung up after the request", async () => {
  const smsId = await sms();
  const { id, number } = await contact();
  answers.set(number, { drop: true });
  const answer = await send(smsId, id);
  assert.equal(answer.success, false);
  assert.equal(answer.status, "The provider of text messages did not answer: delivery_failed.");
  answers.clear();
  const next = await contact();
  await send(smsId, next.id);
  assert.equal((await rowOf(id)).state, "unknown");
  assert.deepEqual([requestsTo(number).length, requestsTo(next.number).length], [1, 1]);
  assert.equal(((await api("GET", `smses/${smsId}`)).body as Any).sms.sentCount, 1);
});

test("a followed link settles the one send that may have brought it, and none where it may have been another", async () => {
  const smsId = await sms({ message: "See https://shop.example/spring" });
  const [one, twice] = [await contact(), await contact()];
  await send(smsId, twice.id);
  for (const { id, number } of [one, twice]) {
    answers.set(number, { drop: true });
    await send(smsId, id);
  }
  const host = new URL(publicUrl).host;
  const follow = async (number: string) => {
    const request = requestsTo(number)[0];
    const [link = ""] = /http\S+$/.exec((request && fieldsOf(request).Body) ?? "") ?? [];
    const followed = await visitor(baseUrl, { host }).ask(link.slice(new URL(publicUrl).origin.length));
    assert.equal(followed.status, 302);
  };
  assert.equal((await smsOf(smsId)).sentCount, 1);
  for (const { number } of [twice, one, one]) await follow(number);
  await eventually(async () => assert.equal((await rowOf(one.id)).state, "sent"));
  assert.equal((await rowOf(twice.id)).state, "unknown");
  assert.equal((await smsOf(smsId)).sentCount, 2);
  const events = await publishedOn(stack, "tidings.content.sms.sent", SmsSendsSchema);
  const own = events.flatMap(({ sends }) => sends).filter(({ contactId }) => contactId === one.id);
  assert.equal(own.length, 1);
});

test("sending needs the rights to view text messages and the contact, and ids that are there", async () => {
  const smsId = await sms();
  const { id, number } = await contact();
  const path = `smses/${smsId}/contact/${id}/send`;
  const statusOf = async (rights: Record<string, string[]>) =>
    (await (await newPerson(stack, rights)).api("POST", path)).status;
  assert.equal(await statusOf({ "lead:leads": ["full"] }), 403);
  assert.equal(await statusOf({ "sms:smses": ["full"] }), 403);
  assert.equal(await statusOf({ "sms:smses": ["viewown"], "lead:leads": ["full"] }), 404);
  for (const odd of ["2000000000", "99999999999999999999", "0", "-1", "1e3", "x", "%00", "1;drop"]) {
    for (const hostile of [`smses/${odd}/contact/${id}/send`, `smses/${smsId}/contact/${odd}/send`]) {
      const { status } = await api("POST", hostile);
      assert.ok(status === 404 || status === 400, `${hostile}: ${status}`);
    }
  }
  assert.equal(requestsTo(number).length, 0);
});

const listed = async (query: string, as = api): Promise<Any> => {
  const answer = await as("GET", `sends?channel=sms&${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
const smsOf = async (id: number) => ((await api("GET", `smses/${id}`)).body as Any).sms;

test("GET /sends?channel=sms lists text messages as they were sent, by text message, contact and state, page by page", async () => {
  const smsId = await sms();
  const [one, refused] = [await contact(), await contact()];
  answers.set(refused.number, { status: 422, body: '{"message":"No such number"}' });
  await send(smsId, refused.id);
  const { result } = await send(smsId, one.id);
  const { sends, next } = await listed(`smsId=${smsId}`);
  const [{ id, dueAt, startedAt, dateSent, ...row }, { state, reason, code, contactId, text }] = sends;
  assert.match(id, /^sms-\d+$/);
  for (const time of [dueAt, startedAt, dateSent]) assert.ok(Date.parse(time) > 0, time);
  assert.equal(typeof row.occasion, "string");
  assert.deepEqual(row, {
    ...{ channel: "sms", occasion: row.occasion, state: "sent", reason: null, smsId, contactId: one.id },
    ...{ address: one.number, hash: result.statId, code: 201, text: "Hello Ada" },
    ...{ undelivered: null, dateUndelivered: null, dateDelivered: null },
  });
  const failed = ["failed", "No such number", 422, refused.id, "Hello Ada"];
  assert.deepEqual([state, reason, code, contactId, text], failed);
  assert.equal(next, null);
  const idsOf = async (query: string) => (await listed(query)).sends.map((send: Any) => send.id);
  const ids = sends.map((send: Any) => send.id);
  assert.deepEqual(await idsOf(`smsId=${smsId}&state=failed`), [ids[1]]);
  assert.deepEqual(await idsOf(`contactId=${one.id}`), [ids[0]]);
  assert.deepEqual(await idsOf(`contactId=${one.id}&smsId=${await sms()}`), []);
  await send(await sms(), one.id);
  assert.deepEqual(await idsOf(`contactId=${one.id}&smsId=${smsId}`), [ids[0]]);
  const page = await listed(`smsId=${smsId}&limit=1`);
  assert.deepEqual([page.sends.length, page.next], [1, ids[0]]);
  const rest = await listed(`smsId=${smsId}&limit=1&after=${page.next}`);
  assert.deepEqual(
    [rest.sends[0].id, (await listed(`smsId=${smsId}&after=${rest.next}`)).sends],
    [ids[1], []],
  );
  assert.deepEqual(((await api("GET", `sends?contactId=${one.id}`)).body as Any).sends, []);
  for (const [query, named] of [
    ...[
      ["channel=sms", "smsId"],
      ["channel=fax&emailId=1", "channel"],
      ["smsId=1", "channel=sms"],
    ],
    ...[
      ["channel=sms&emailId=1", "emailId"],
      ["channel=sms&smsId=x", "smsId"],
      ["channel[]=sms", "channel"],
    ],
    ...[
      ["channel=sms&smsId=1&after=1", "after"],
      ["channel=sms&smsId=1&after=sms-x", "after"],
    ],
    ...[
      ["channel=sms&smsId=1&state=lost", "state"],
      ["channel=sms&state=sent", "smsId"],
    ],
  ] as [string, string][]) {
    const { status, text: words } = await api("GET", `sends?${query}`);
    assert.equal(status, 400, query);
    assert.ok(words.includes(named), words);
  }
});

test("POST /sends/ID/resolve decides a text message of unknown outcome once, with its count and its event, or sends it again", async () => {
  const smsId = await sms();
  const lost = [await contact(), await contact(), await contact()];
  for (const { id, number } of lost) {
    answers.set(number, { drop: true });
    await send(smsId, id);
  }
  answers.clear();
  const { sends } = await listed(`smsId=${smsId}&state=unknown`);
  const unknown: string[] = (await listed("state=unknown")).sends.map((one: Any) => one.id);
  assert.ok(sends.every(({ id }: Any) => unknown.includes(id)));
  const [third, second, first] = sends.map(({ id }: Any) => id);
  const resolve = (id: string, as: unknown) => api("POST", `sends/${id}/resolve`, { as });
  assert.equal((await resolve(first, "perhaps")).status, 400);
  const outcomes = await Promise.all([1, 2, 3].map(() => resolve(first, "sent")));
  assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), [200, 409, 409]);
  const sent = outcomes.find(({ status }) => status === 200)?.body as Any;
  assert.deepEqual([sent.send.id, sent.send.state, sent.send.dateSent], [first, "sent", sent.send.startedAt]);
  assert.equal(((await resolve(second, "failed")).body as Any).send.state, "failed");
  assert.equal((await smsOf(smsId)).sentCount, 1);
  const hashes = sends.map(({ hash }: Any) => hash);
  for (const [verb, hash] of [
    ["sent", hashes[2]],
    ["failed", hashes[1]],
  ] as const) {
    const events = await publishedOn(stack, `tidings.content.sms.${verb}`, SmsSendsSchema);
    const own = events.flatMap((event) => event.sends).filter((one) => hashes.includes(one.id));
    assert.deepEqual(
      own.map((one) => [one.id, one.state]),
      [[hash, verb]],
    );
  }
  assert.equal(((await resolve(third, "again")).body as Any).send.state, "queued");
  await eventually(async () => assert.equal((await smsOf(smsId)).sentCount, 2));
  assert.deepEqual(
    lost.map(({ number }) => requestsTo(number).length),
    [1, 1, 2],
  );
  for (const odd of [
    "sms-2000000000",
    "sms-0",
    "sms-",
    "sms-1e3",
    "sms-99999999999999999999",
    "fax-1",
    "notice-1",
  ])
    assert.equal((await resolve(odd, "sent")).status, 404, odd);
});

test("sends of text messages need the rights of the text message and the contact, and notices an administrator", async () => {
  const smsId = await sms();
  const { id, number } = await contact();
  answers.set(number, { drop: true });
  await send(smsId, id);
  const [{ id: sendId }] = (await listed(`smsId=${smsId}`)).sends;
  const asPerson = async (rights: Record<string, string[]>) => (await newPerson(stack, rights)).api;
  const contacts = { "lead:leads": ["full"] };
  const resolve = async (as: typeof api) =>
    (await as("POST", `sends/${sendId}/resolve`, { as: "sent" })).status;

  const mailer = await asPerson({ "email:emails": ["full"], ...contacts });
  assert.equal((await mailer("GET", `sends?channel=sms&smsId=${smsId}`)).status, 403);
  assert.equal((await mailer("GET", "sends?channel=notice")).status, 403);
  assert.equal(await resolve(mailer), 403);
  for (const rights of [
    { "sms:smses": ["viewown", "editown"], ...contacts },
    { "sms:smses": ["full"], "lead:leads": ["viewown"] },
    { "sms:smses": ["full"] },
  ]) {
    const some = await asPerson(rights);
    for (const query of [`smsId=${smsId}`, `contactId=${id}`, "state=unknown"])
      assert.ok(
        (await listed(query, some)).sends.every((one: Any) => one.id !== sendId),
        query,
      );
    assert.equal(await resolve(some), 404);
  }
  const reader = await asPerson({ "sms:smses": ["viewown", "viewother"], ...contacts });
  assert.equal((await listed(`contactId=${id}`, reader)).sends[0].id, sendId);
  assert.equal(await resolve(reader), 403);
  assert.equal((await reader("GET", `sends?contactId=${id}`)).status, 403);
  assert.equal(await resolve(await asPerson({ "sms:smses": ["full"], ...contacts })), 200);
});

test("text messages are counted by transport and outcome, without what is secret in the URL", async () => {
  const counts = async () => {
    const { value } = await scrapeProcess(stack, "content");
    const transport = `form+http://127.0.0.1:${provider.port}`;
    return ["taken", "refused", "unknown"].map(
      (outcome) => value("tidings_text_hand_overs_total", { transport, outcome }) ?? Number.NaN,
    );
  };
  const [taken = 0, refused = 0, unknown = 0] = await counts();
  const smsId = await sms();
  const gone = await contact();
  answers.set(gone.number, { status: 422 });
  for (const { id } of [gone, await contact()]) await send(smsId, id);
  assert.deepEqual(await counts(), [taken + 1, refused + 1, unknown]);
});

test("each text message arrives at a webhook once, with its contact and its content", async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const { hook } = await made("hooks/new", {
    ...{ name: "Texts", webhookUrl: receiver.url, triggers: ["svc.sms_on_send"] },
  });
  t.after(() => api("DELETE", `hooks/${hook.id}/delete`));
  const smsId = await sms();
  const [one, refused] = [await contact(), await contact()];
  answers.set(refused.number, { status: 422 });
  await send(smsId, refused.id);
  await send(smsId, one.id);
  const [request, ...more] = await receiver.waitFor(1);
  assert.deepEqual(more, []);
  const [[trigger, [item]]] = Object.entries(JSON.parse(request?.body ?? "")) as [[string, [Any]]];
  assert.equal(trigger, "svc.sms_on_send");
  assert.deepEqual([item.smsId, item.content, item.contact.id], [smsId, "Hello Ada", one.id]);
  assert.equal(item.contact.fields.core.firstname.value, "Ada");
});
