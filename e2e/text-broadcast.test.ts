import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { SmsSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { newPerson } from "./people.ts";
import { publishedOn } from "./published.ts";
import { fieldsOf, startTextProvider } from "./text-provider.ts";
import { startVisitedStack } from "./visited-stack.ts";

/** Text messages to segments, from the API to a provider. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const SECRET = "generic-secret-0123";
const provider = await startTextProvider();
const { answers, requestsTo } = provider;
const stack = await startVisitedStack({
  env: {
    content: {
      ...provider.content,
      SMS_CALLBACKS: `generic:${SECRET}`,
    },
  },
});
after(() => stack.stop());
const { api, baseUrl, made } = stack;

const textsTo = (number: string) => requestsTo(number).map((request) => fieldsOf(request).Body);

let count = 0;
async function member(segmentId: number, members: object = {}): Promise<{ id: number; number: string }> {
  const digits = `153${String(++count).padStart(8, "0")}`;
  const { contact: one } = await made("contacts/new", {
    ...{ firstname: `Ada${count}`, email: `member-${count}@example.org`, mobile: `0${digits}` },
    ...members,
  });
  await made(`segments/${segmentId}/contact/${one.id}/add`, {});
  return { id: one.id, number: `+49${digits}` };
}

async function segment(): Promise<number> {
  const { list } = await made("segments/new", { name: `Readers ${++count}` });
  return list.id;
}

async function sms(lists: number[], members: object = {}): Promise<number> {
  const { sms: one } = await made("smses/new", {
    ...{
      name: "Spring",
      message: "Hello {contactfield=firstname}",
      isPublished: true,
      smsType: "list",
      lists,
    },
    ...members,
  });
  return one.id;
}

async function send(smsId: number, body: object = {}): Promise<Any> {
  const answer = await api("POST", `smses/${smsId}/send`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const sendOf = async (smsId: number, id: string): Promise<Any> =>
  ((await api("GET", `smses/${smsId}/sends/${id}`)).body as Any).send;
const sumOf = ({ queued, deferred, sending, sent, failed, suppressed, unknown, cancelled }: Any) =>
  queued + deferred + sending + sent + failed + suppressed + unknown + cancelled;

test("each member and each number gets a text message once, with its own values, however often it is sent", async () => {
  const lists = [await segment(), await segment()];
  const [first = 0, second = 0] = lists;
  const one = await member(first);
  await made(`segments/${second}/contact/${one.id}/add`, {});
  const twin = await member(second, { mobile: "", phone: one.number });
  const other = await member(second);
  const no = await member(first);
  await made(`contacts/${no.id}/dnc/sms/add`, {});
  const without = await member(first, { mobile: "" });
  const malformed = await member(first, { mobile: "call me" });
  const refused = await member(second);
  answers.set(refused.number, { status: 400, body: '{"message":"No such number"}' });
  const smsId = await sms(lists);
  const calls = await Promise.all([send(smsId), send(smsId), send(smsId)]);
  assert.deepEqual(
    ["sentCount", "failedCount", "queuedCount"].map((name) =>
      calls.reduce((sum, call) => sum + call[name], 0),
    ),
    [2, 2, 0],
  );
  const late = await member(first);
  assert.equal((await send(smsId)).sentCount, 1);
  assert.deepEqual(textsTo(one.number).length, 1);
  assert.match(textsTo(other.number)[0] ?? "", /^Hello Ada\d+$/);
  assert.notEqual(textsTo(other.number)[0], textsTo(late.number)[0]);
  assert.deepEqual([textsTo(late.number).length, textsTo(no.number).length], [1, 0]);
  const rows: Any[] = ((await api("GET", `sends?channel=sms&smsId=${smsId}`)).body as Any).sends;
  const stateOf = (id: number) => rows.filter(({ contactId }) => contactId === id).map(({ state }) => state);
  assert.deepEqual(stateOf(malformed.id), ["failed"]);
  assert.deepEqual(stateOf(refused.id), ["failed"]);
  assert.deepEqual(
    [stateOf(no.id), stateOf(without.id), stateOf(twin.id).length + stateOf(one.id).length],
    [[], [], 1],
  );
  assert.ok(rows.every(({ occasion }) => occasion === "list"));
  assert.equal(((await api("GET", `smses/${smsId}`)).body as Any).sms.sentCount, 3);
  const { sends } = (await api("GET", `smses/${smsId}/sends`)).body as Any;
  assert.equal(sends.length, 4);
  for (const broadcast of sends) assert.equal(sumOf(broadcast), broadcast.chosen);
  const failed = (await publishedOn(stack, "tidings.content.sms.failed", SmsSendsSchema)).flatMap(
    (event) => event.sends,
  );
  assert.deepEqual(
    failed
      .filter(({ smsId: of }) => of === smsId)
      .map(({ contactId }) => contactId)
      .toSorted(),
    [malformed.id, refused.id].toSorted(),
  );
});

test("failed text messages are tried again by name, as a job, and those that arrived stay one message", async () => {
  const list = await segment();
  const [one, other] = [await member(list), await member(list)];
  answers.set(other.number, { status: 400, body: '{"message":"No such number"}' });
  const smsId = await sms([list]);
  const { sentCount, failedCount } = await send(smsId);
  assert.deepEqual([sentCount, failedCount], [1, 1]);
  const replay = async (body: object) => api("POST", "sends/replay", body);
  for (const body of [{ smsId, emailId: 1 }, { smsId: "x" }, { smsId, code: 100_000 }])
    assert.equal((await replay(body)).status, 400, JSON.stringify(body));
  for (const body of [{ smsId: 2_000_000_000 }, { smsId: 2_000_000_000, code: 400 }])
    assert.equal((await replay(body)).status, 404);
  assert.equal((await replay({ tweetId: 1 })).status, 409);
  answers.clear();
  const { job } = (await replay({ smsId, code: 400 })).body as Any;
  await eventually(async () => {
    const found = ((await api("GET", `jobs/${job.id}`)).body as Any).job;
    assert.deepEqual([found.state, found.done], ["done", 1]);
  });
  await eventually(async () => assert.equal(textsTo(other.number).length, 2));
  await eventually(async () => {
    const { sends } = (await api("GET", `sends?channel=sms&smsId=${smsId}&state=sent`)).body as Any;
    assert.equal(sends.length, 2);
  });
  assert.equal(textsTo(one.number).length, 1);
  assert.equal(((await api("GET", `smses/${smsId}`)).body as Any).sms.sentCount, 2);
});

test("a text message to single contacts, one without segments, and odd bodies begin nothing", async () => {
  const list = await segment();
  const one = await member(list);
  const template = await sms([], { smsType: "template" });
  assert.deepEqual(await send(template), {
    ...{ success: 1, sentCount: 0, failedCount: 0, failedRecipients: 0, queuedCount: 0 },
  });
  const smsId = await sms([list]);
  for (const [body, named] of [
    [{ lists: [2_000_000_000] }, "lists"],
    [{ lists: "x" }, "lists"],
    [{ limit: 0 }, "limit"],
    [{ limit: "many" }, "limit"],
    [{ batch: 1_000_001 }, "batch"],
  ] as const) {
    const { status, text } = await api("POST", `smses/${smsId}/send`, body);
    assert.equal(status, 400, JSON.stringify(body));
    assert.ok(text.includes(named), text);
  }
  assert.equal((await api("POST", `smses/${await sms([list], { isPublished: false })}/send`)).status, 404);
  assert.equal((await api("POST", "smses/2000000000/send")).status, 404);
  const viewer = await newPerson(stack, { "sms:smses": ["viewown"] });
  assert.equal((await viewer.api("POST", `smses/${smsId}/send`)).status, 404);
  assert.equal((await viewer.api("GET", `smses/${smsId}/sends`)).status, 404);
  assert.deepEqual(textsTo(one.number), []);
  assert.equal((await api("GET", `smses/${smsId}/sends/018f3b1e-7a1c-7d4e-8f00-0123456789ab`)).status, 404);
});

test("a paused send begins no message, a resumed one goes on, and a cancelled one ends with what was sent", async () => {
  const list = await segment();
  const members = [await member(list), await member(list), await member(list)];
  for (const { number } of members) answers.set(number, { status: 503, body: "busy" });
  const smsId = await sms([list]);
  const sending = send(smsId);
  await eventually(async () => {
    const { sends } = (await api("GET", `smses/${smsId}/sends`)).body as Any;
    assert.equal(sends[0]?.deferred, 3);
  });
  const [{ id }] = ((await api("GET", `smses/${smsId}/sends`)).body as Any).sends;
  const control = (action: string) => api("POST", `smses/${smsId}/sends/${id}/${action}`);
  assert.equal(((await control("pause")).body as Any).send.state, "paused");
  answers.clear();
  const before = provider.requests.length;
  await stack.query(`update content.text_sends set due_at = now() where sms_id = ${smsId}`);
  // A message to a contact who asks is not held back.
  const direct = await sms([], { smsType: "template" });
  const { id: contactId } = members[0] ?? { id: 0 };
  assert.equal(
    ((await api("POST", `smses/${direct}/contact/${contactId}/send`)).body as Any).status,
    "Delivered",
  );
  assert.equal(provider.requests.length, before + 1);
  await control("resume");
  await eventually(async () => assert.equal((await sendOf(smsId, id)).sent, 3));
  await eventually(async () => assert.ok((await sendOf(smsId, id)).finishedAt));
  assert.equal((await control("cancel")).status, 409);
  await sending;
  for (const { number } of members) answers.set(number, { status: 503, body: "busy" });
  const other = await sms([list]);
  const second = send(other);
  await eventually(async () => {
    const { sends } = (await api("GET", `smses/${other}/sends`)).body as Any;
    assert.equal(sends[0]?.deferred, 3);
  });
  const [{ id: otherId }] = ((await api("GET", `smses/${other}/sends`)).body as Any).sends;
  await api("POST", `smses/${other}/sends/${otherId}/cancel`);
  await eventually(async () => {
    const { state, cancelled } = await sendOf(other, otherId);
    assert.deepEqual([state, cancelled], ["cancelled", 3]);
  });
  await second;
});

test("a published text message with a time to come begins at it by itself, and stops at its end", async () => {
  const list = await segment();
  const one = await member(list);
  const times = { publishUp: new Date(Date.now() + 3_000).toISOString() };
  const smsId = await sms([list], times);
  assert.deepEqual(textsTo(one.number), []);
  await eventually(async () => assert.equal(textsTo(one.number).length, 1), { timeoutMs: 30_000 });
  assert.equal(((await api("GET", `smses/${smsId}/sends`)).body as Any).sends.length, 1);
  const over = await sms([list], { publishUp: "2020-01-01 00:00:00", publishDown: "2021-01-01 00:00:00" });
  assert.equal((await api("POST", `smses/${over}/send`)).status, 404);
});

test("a report of a send whose broadcast is over is counted in it", async () => {
  const list = await segment();
  const one = await member(list);
  answers.set(one.number, { drop: true });
  const smsId = await sms([list]);
  const { send: begun } = await send(smsId);
  await eventually(async () => {
    const { state, unknown } = await sendOf(smsId, begun.id);
    assert.deepEqual([state, unknown], ["finished", 1]);
  });
  const [{ hash }] = ((await api("GET", `sends?channel=sms&smsId=${smsId}`)).body as Any).sends;
  const body = JSON.stringify([{ event: "delivered", hash, time: Date.now() }]);
  const mac = createHmac("sha256", SECRET).update(body).digest("hex");
  const headers = { "tidings-signature": `sha256=${mac}` };
  const answer = await fetch(`${baseUrl}/sms/generic/callback`, { method: "POST", headers, body });
  assert.equal(answer.status, 200);
  const { sent, unknown, chosen } = await sendOf(smsId, begun.id);
  assert.deepEqual([sent, unknown, chosen], [1, 0, 1]);
});
