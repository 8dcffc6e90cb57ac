import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { SmsRepliesSchema, SmsSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventually } from "@tidings/testkit/eventually";
import { publishedOn } from "./published.ts";
import { scrapeProcess } from "./scrape.ts";
import { fieldsOf, startTextProvider } from "./text-provider.ts";
import { startVisitedStack } from "./visited-stack.ts";

/** The way back of text messages: reports of providers, and answers. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const TOKEN = "twilio-token-0123";
const SECRET = "generic-secret-0123";
const provider = await startTextProvider();
const { answers, requestsTo } = provider;
const stack = await startVisitedStack({
  env: {
    content: {
      ...provider.content,
      SMS_CALLBACKS: `twilio:${TOKEN},generic:${SECRET}`,
    },
  },
});
after(() => stack.stop());
const { api, baseUrl, publicUrl, made } = stack;

let count = 0;
async function contact(members: object = {}): Promise<{ id: number; number: string }> {
  const digits = `152${String(++count).padStart(8, "0")}`;
  const { contact: one } = await made("contacts/new", {
    ...{ firstname: "Ada", email: `reply-${count}@example.org`, mobile: `0${digits}` },
    ...members,
  });
  return { id: one.id, number: `+49${digits}` };
}

const { sms } = await made("smses/new", { name: "Spring", message: "Hello", isPublished: true });
const send = async (contactId: number): Promise<Any> =>
  (await api("POST", `smses/${sms.id}/contact/${contactId}/send`)).body;
const sendsOf = async (contactId: number): Promise<Any[]> =>
  ((await api("GET", `sends?channel=sms&contactId=${contactId}`)).body as Any).sends;
const sentCount = async () => ((await api("GET", `smses/${sms.id}`)).body as Any).sms.sentCount;

/** A contact who got a text message, and the address for reports that the provider got with it. */
async function reader(members?: object) {
  const one = await contact(members);
  assert.equal((await send(one.id)).status, "Delivered");
  return { ...one, ...lastTo(one.number) };
}

function lastTo(number: string) {
  const request = requestsTo(number).at(-1);
  const address = new URL((request && fieldsOf(request).StatusCallback) ?? "");
  return { hash: address.searchParams.get("send") ?? "", reports: address.pathname + address.search };
}

interface Posted {
  status: number;
  text: string;
  type: string | null;
}

async function post(path: string, body: string, headers: Record<string, string>): Promise<Posted> {
  const response = await fetch(baseUrl + path, { method: "POST", headers, body });
  return { status: response.status, text: await response.text(), type: response.headers.get("content-type") };
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const INCOMING = "/sms/twilio/callback";

/** Signs a form as its provider does. */
function signed(path: string, form: Record<string, string>): Record<string, string> {
  const written = Object.keys(form)
    .toSorted()
    .map((name) => name + form[name])
    .join("");
  const mac = createHmac("sha1", TOKEN).update(new URL(publicUrl).origin + path + written);
  return { ...FORM, "x-twilio-signature": mac.digest("base64") };
}

async function twilio(path: string, form: Record<string, string>): Promise<Posted> {
  return post(path, new URLSearchParams(form).toString(), signed(path, form));
}

async function report(
  { number, reports }: { number: string; reports: string },
  MessageStatus: string,
  ErrorCode = "",
) {
  const form = { MessageSid: `SM${number}`, To: number, MessageStatus, ...(ErrorCode && { ErrorCode }) };
  const answer = await twilio(reports, form);
  assert.deepEqual([answer.status, answer.text], [200, "<Response/>"]);
}

async function say(number: string, Body: string, MessageSid: string = randomUUID()): Promise<string> {
  const answer = await twilio(INCOMING, {
    MessageSid,
    SmsStatus: "received",
    From: number,
    To: "+4930111",
    Body,
  });
  assert.equal(answer.status, 200);
  return MessageSid;
}

async function generic(items: unknown): Promise<{ status: number; body: Any }> {
  const body = typeof items === "string" ? items : JSON.stringify(items);
  const mac = createHmac("sha256", SECRET).update(body).digest("hex");
  const answer = await post("/sms/generic/callback", body, { "tidings-signature": `sha256=${mac}` });
  return { status: answer.status, body: answer.text.startsWith("{") ? JSON.parse(answer.text) : answer.text };
}

const outcome = (counts: object) => ({
  taken: 0,
  known: 0,
  unmatched: 0,
  ignored: 0,
  setAside: 0,
  ...counts,
});
const REFUSED = "Contact is not contactable on the SMS channel.";
const noOf = async (id: number): Promise<Any> => {
  const { doNotContact } = ((await api("GET", `contacts/${id}`)).body as Any).contact;
  return doNotContact.map(({ reason, channel, channelId }: Any) => [reason, channel, channelId]);
};

test("a reply is kept once, with the latest text message that went to its number, and published", async () => {
  const one = await reader();
  await send(one.id);
  const latest = lastTo(one.number);
  const sid = await say(one.number, "Ja,\nbitte 😀");
  await Promise.all([1, 2, 3].map(() => say(one.number, "Ja,\nbitte 😀", sid)));
  const rows = await stack.query(
    `select contact_id, sms_id, send_hash, address, content from content.text_replies where contact_id = ${one.id}`,
  );
  const reply = { contact_id: one.id, sms_id: sms.id, send_hash: latest.hash, address: one.number };
  assert.deepEqual(rows, [{ ...reply, content: "Ja,\nbitte 😀" }]);
  const events = await publishedOn(stack, "tidings.content.sms.replied", SmsRepliesSchema);
  const own = events.flatMap(({ replies, smses }) =>
    replies.map((fact) => [
      fact.contactId,
      fact.smsId,
      fact.sendHash,
      fact.address,
      fact.content,
      smses[0]?.name,
    ]),
  );
  assert.deepEqual(
    own.filter(([contactId]) => contactId === one.id),
    [[one.id, sms.id, latest.hash, one.number, "Ja,\nbitte 😀", "Spring"]],
  );
  assert.equal((await send(one.id)).status, "Delivered");
});

test("stop is obeyed at once for every contact with the number, however it is written, and start takes it back", async () => {
  const one = await reader();
  const [national, spaced] = [
    `0${one.number.slice(3)}`,
    `+49 (0) ${one.number.slice(3, 6)}/${one.number.slice(6)}`,
  ];
  const others = [await contact({ mobile: "", phone: national }), await contact({ mobile: spaced })];
  const stranger = await contact({ mobile: `+1${one.number.slice(3)}` });
  await say(one.number, " STOP ");
  assert.equal((await send(one.id)).status, REFUSED);
  await eventually(async () => {
    for (const { id } of [one, ...others]) assert.deepEqual(await noOf(id), [[1, "sms", sms.id]]);
  });
  for (const { id } of others) assert.equal((await send(id)).status, REFUSED);
  assert.deepEqual(await noOf(stranger.id), []);
  await say(one.number, "Start");
  await eventually(async () => {
    for (const { id } of [one, ...others]) assert.deepEqual(await noOf(id), []);
  });
  await eventually(async () => assert.equal((await send(one.id)).status, "Delivered"));
});

test("start lifts no refusal that somebody else made", async () => {
  const [manual, gone, own] = [await reader(), await reader(), await reader()];
  await made(`contacts/${manual.id}/dnc/sms/add`, { reason: 3 });
  await report(gone, "undelivered", "30005");
  await say(own.number, "stop");
  await eventually(async () => {
    assert.deepEqual(await noOf(gone.id), [[2, "sms", sms.id]]);
    assert.deepEqual(await noOf(own.id), [[1, "sms", sms.id]]);
  });
  for (const { number } of [manual, gone, own]) await say(number, "start");
  await eventually(async () => assert.deepEqual(await noOf(own.id), []));
  await eventually(async () => {
    const jobs = await stack.query("select key from content.jobs where kind in ('number_consent')");
    assert.deepEqual(jobs, []);
  });
  for (const { id } of [manual, gone]) assert.equal((await send(id)).status, REFUSED);
  assert.deepEqual((await noOf(manual.id))[0]?.[0], 3);
  assert.deepEqual(await noOf(gone.id), [[2, "sms", sms.id]]);
});

test("a word of consent that somebody recorded takes effect once, also when events were forgotten meanwhile", async () => {
  const [stopped, started, stranger] = [await reader(), await reader(), await contact()];
  const firstStop = await say(stopped.number, "STOP");
  const strangersStop = await say(stranger.number, "stop");
  const firstStart = await say(started.number, "start");
  await eventually(async () => {
    for (const { id } of [stopped, stranger]) assert.deepEqual((await noOf(id))[0]?.[0], 1);
  });
  for (const { number } of [stopped, stranger]) await say(number, "start");
  await say(started.number, "stop");
  const settled = async () => {
    const jobs = await stack.query("select key from content.jobs where kind = 'number_consent'");
    assert.deepEqual(jobs, []);
    for (const { id } of [stopped, stranger]) assert.deepEqual(await noOf(id), []);
    assert.deepEqual((await noOf(started.id))[0]?.[0], 1);
  };
  await eventually(settled);
  const report = { MessageSid: `SM${stopped.number}`, To: stopped.number, MessageStatus: "delivered" };
  await twilio(stopped.reports, report);
  // A year passes, and events are forgotten.
  await stack.query("update content.callback_events set date_added = date_added - interval '1 year'");
  await stack.query("update content.jobs set due_at = now() where kind = 'callback_retention'");
  await eventually(async () => {
    const kept = await stack.query("select key from content.callback_events where isfinite(date_added)");
    assert.deepEqual(kept, []);
  });
  await say(stopped.number, "STOP", firstStop);
  await say(stranger.number, "stop", strangersStop);
  await say(started.number, "start", firstStart);
  await settled();
  for (const { id } of [stopped, stranger]) assert.equal((await send(id)).status, "Delivered");
  assert.equal((await send(started.id)).status, REFUSED);
  // A new word counts.
  await say(stopped.number, "STOP");
  assert.equal((await send(stopped.id)).status, REFUSED);
});

test("a report settles a send of unknown outcome once, as sent or as failed, with its count and its event", async () => {
  const [there, lost] = [await contact(), await contact()];
  const reported: { number: string; reports: string; hash: string }[] = [];
  for (const one of [there, lost]) {
    answers.set(one.number, { drop: true });
    await send(one.id);
    assert.equal((await sendsOf(one.id))[0].state, "unknown");
    reported.push({ ...one, ...lastTo(one.number) });
  }
  const [first, second] = reported;
  assert.ok(first && second);
  const before = await sentCount();
  await Promise.all([1, 2, 3].map(() => report(first, "queued")));
  await report(first, "delivered");
  await report(second, "failed", "30007");
  const [sent] = await sendsOf(there.id);
  assert.deepEqual(
    [sent.state, typeof sent.dateSent, typeof sent.dateDelivered],
    ["sent", "string", "string"],
  );
  const [failed] = await sendsOf(lost.id);
  assert.deepEqual([failed.state, failed.code, failed.reason], ["failed", 30_007, "blocked (30007)"]);
  assert.equal(await sentCount(), before + 1);
  for (const [verb, { hash }] of [
    ["sent", first],
    ["failed", second],
  ] as const) {
    const events = await publishedOn(stack, `tidings.content.sms.${verb}`, SmsSendsSchema);
    const own = events.flatMap(({ sends }) => sends).filter(({ id }) => id === hash);
    assert.equal(own.length, 1, verb);
  }
  answers.clear();
  assert.equal((await send(lost.id)).status, "Delivered");
});

test("a number that does not exist is not written to again, and a failure for now or of a filter silences nobody", async () => {
  const [gone, off, filtered] = [await reader(), await reader(), await reader()];
  const before = await sentCount();
  await report(gone, "undelivered", "30005");
  await report(off, "undelivered", "30003");
  await report(filtered, "failed", "30007");
  const states = await Promise.all(
    [gone, off, filtered].map(async ({ id }) => {
      const [{ state, undelivered, code }] = await sendsOf(id);
      return [state, undelivered, code];
    }),
  );
  assert.deepEqual(states, [
    ["sent", "hard", 30_005],
    ["sent", "soft", 30_003],
    ["sent", "blocked", 30_007],
  ]);
  assert.equal((await send(gone.id)).status, REFUSED);
  await eventually(async () => assert.deepEqual(await noOf(gone.id), [[2, "sms", sms.id]]));
  for (const { id } of [off, filtered]) assert.equal((await send(id)).status, "Delivered");
  assert.equal(await sentCount(), before + 2);
  const events = await publishedOn(stack, "tidings.content.sms.undelivered", SmsSendsSchema);
  const own = events.flatMap(({ sends }) => sends).filter(({ id }) => id === gone.hash);
  assert.deepEqual(
    own.map(({ undelivered, isFailed }) => [undelivered, isFailed]),
    [["hard", true]],
  );
});

test("a callback without a right signature is a 403 and changes nothing, and one that nobody signs a 404", async () => {
  const one = await reader();
  const form = { MessageSid: "SM-forged", SmsStatus: "received", From: one.number, Body: "stop" };
  const body = new URLSearchParams(form).toString();
  const right = signed(INCOMING, form);
  const forged: [string, string, Record<string, string>][] = [
    [INCOMING, body, FORM],
    [INCOMING, body.replace("stop", "stop%21"), right],
    [`${INCOMING}?send=${one.hash}`, body, right],
    [INCOMING, body, { ...FORM, "x-twilio-signature": "AAAA" }],
    ["/sms/generic/callback", "[]", { "tidings-signature": "sha256=00" }],
    ["/sms/generic/callback", body, right],
  ];
  const refused = async () => {
    const { samples } = await scrapeProcess(stack, "content");
    return samples
      .filter(
        ({ name, labels }) =>
          name === "tidings_callbacks_refused_total" && labels.provider?.startsWith("sms/"),
      )
      .reduce((sum, { value }) => sum + value, 0);
  };
  const before = await refused();
  for (const [path, sent, headers] of forged)
    assert.equal((await post(path, sent, headers)).status, 403, `${path} ${sent}`);
  assert.equal((await refused()) - before, forged.length);
  for (const path of ["/sms/other/callback", "/sms/constructor/callback", "/sms/callback", "/sms/twilio"])
    assert.equal((await post(path, body, right)).status, 404, path);
  assert.equal((await fetch(baseUrl + INCOMING)).status, 404);
  assert.equal((await post(INCOMING, "x".repeat(1_100_000), FORM)).status, 413);
  const many = Array.from({ length: 300 }, (_, index) => `n${index}=1`).join("&");
  assert.equal((await post(INCOMING, many, FORM)).status, 400);
  assert.equal((await send(one.id)).status, "Delivered");
  assert.equal((await generic("{")).status, 400);
  assert.equal((await generic(Array.from({ length: 5_001 }, () => 0))).status, 413);
});

test("thousands of generic items are taken together, bad ones are set aside, and the same callback at once counts once", async () => {
  const [one, other] = [await reader(), await reader()];
  const time = Date.now();
  const unknown = Array.from({ length: 3_000 }, (_, index) => ({
    ...{ event: "delivered", hash: randomUUID(), time, id: `nobody-${index}` },
  }));
  const bad = [
    null,
    7,
    [],
    {},
    { event: "hard", hash: one.hash },
    { event: "hard", hash: one.hash, time: 1 },
  ];
  const items = [
    ...[...unknown, ...bad],
    {
      event: "soft",
      hash: one.hash,
      time,
      reason: "a\u0000b \ud800",
      code: 999_999_999,
      id: "x".repeat(5_000),
    },
    { event: "hard", hash: one.hash, address: "+4915999999999", time },
    { event: "reply", address: other.number, text: "a\u0000b\ud800", time },
    { event: "reply", address: "not a number", text: "Hello", time },
  ];
  const callbacks = await Promise.all(Array.from({ length: 3 }, () => generic(items)));
  assert.ok(callbacks.every(({ status }) => status === 200));
  const sum = (name: string) => callbacks.reduce((total, { body }) => total + body[name], 0);
  assert.deepEqual(["taken", "unmatched", "known", "ignored", "setAside"].map(sum), [
    2,
    3_002,
    2 * 3_004,
    0,
    3 * bad.length,
  ]);
  const [{ reason, code, undelivered }] = await sendsOf(one.id);
  assert.deepEqual([reason, code, undelivered], ["a b", null, "soft"]);
  const rows = await stack.query(`select content from content.text_replies where contact_id = ${other.id}`);
  assert.deepEqual(rows, [{ content: "ab\ufffd" }]);
  const old = await generic([
    { event: "reply", address: other.number, text: "stop", time: time - 40 * 86_400_000 },
  ]);
  assert.deepEqual(old.body, outcome({ setAside: 1 }));
  assert.equal((await send(other.id)).status, "Delivered");
});

test("a stop holds while the contact service is away, and reaches every contact of the number once it is back", async () => {
  const one = await reader();
  const other = await contact({ mobile: "", phone: one.number });
  const service = stack.process("contact");
  service.kill("SIGKILL");
  await service.exited;
  await say(one.number, "stop");
  const refusals = await stack.query(
    `select channel, reason from content.send_refusals where contact_id = ${one.id}`,
  );
  assert.deepEqual(refusals, [{ channel: "sms", reason: 1 }]);
  await service.restart();
  await eventually(
    async () => {
      for (const { id } of [one, other]) assert.deepEqual(await noOf(id), [[1, "sms", sms.id]]);
    },
    { timeoutMs: 90_000 },
  );
  assert.equal((await send(one.id)).status, REFUSED);
});

test("replies go with their contact, and news of text messages are counted by provider and kind", async () => {
  const one = await reader();
  await say(one.number, "Hello");
  await api("DELETE", `contacts/${one.id}/delete`);
  await eventually(
    async () => {
      const rows = await stack.query(`select from content.text_replies where contact_id = ${one.id}`);
      assert.equal(rows.length, 0);
    },
    { timeoutMs: 60_000 },
  );
  const { value } = await scrapeProcess(stack, "content");
  for (const kind of ["taken", "delivered", "hard", "soft", "blocked", "reply"])
    assert.ok((value("tidings_text_feedback_total", { provider: "twilio", kind }) ?? 0) > 0, kind);
});
