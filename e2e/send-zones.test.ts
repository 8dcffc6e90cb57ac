import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { createTestDatabase, queryAsSuperuser } from "@tidings/testkit/postgres";
import { simpleParser } from "mailparser";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/**
 * The database has the time zone of Lord Howe Island, whose clocks change by half an hour, and all processes that of Samoa, which skipped a day.
 * Nothing of sending depends on that: times are UTC, and days are those of the contact.
 */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const TZ = "Pacific/Apia";
const LORD_HOWE = "Australia/Lord_Howe";
const PATIENCE = { timeoutMs: 60_000, intervalMs: 100 };
const sink = await startMailSink();
after(() => sink.close());
const database = await createTestDatabase();
after(database.drop);
const [own] = await queryAsSuperuser(database, "select current_database() as name");
await queryAsSuperuser(database, `alter database ${own?.name} set timezone = '${LORD_HOWE}'`);
const stack = await startVisitedStack({
  database,
  env: {
    ...{ gateway: { TZ }, contact: { TZ }, campaign: { TZ }, webhook: { TZ }, reporting: { TZ } },
    content: {
      ...{ TZ, SHOW_PREFERENCES: "true" },
      ...{ MAIL_URL: `smtp://127.0.0.1:${sink.port}?tls=off`, MAIL_FROM: "Shop <shop@mail.example>" },
    },
  },
});
after(() => stack.stop());
const { api, baseUrl, made } = stack;
const ask = visitor(baseUrl).ask;
const mailsTo = (address: string) => sink.taken.filter(({ to }) => to.includes(address));
const contactOf = async (id: number): Promise<Any> =>
  ((await api("GET", `contacts/${id}`)).body as Any).contact;
const newEmail = async (members: object): Promise<number> =>
  (
    await made("emails/new", {
      ...{ name: "News", subject: "News", isPublished: true },
      customHtml: `<p>{today|c}</p><a href="{unsubscribe_url}">Leave</a>`,
      ...members,
    })
  ).email.id;
/** A day as a zone's calendar has it, days from now. */
const dayIn = (timeZone: string, days = 0) =>
  new Date(Date.parse(new Intl.DateTimeFormat("sv", { timeZone }).format(Date.now())) + days * 86_400_000)
    .toISOString()
    .slice(0, "2026-12-24".length);

async function choosePause({ unsubscribe }: SentMail, from: string, to: string): Promise<void> {
  const answer = await ask(`/email/preferences/${unsubscribe.split("/").at(-1)}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      ...{ email_number: "", email_unit: "DAY", email_pause_from: from, email_pause_to: to },
    }).toString(),
  });
  assert.equal(answer.status, 200, answer.text);
}

test("mails and the API have the right times, whatever zone the database and the processes are in", async () => {
  const emailId = await newEmail({ customHtml: `<p>[{today|c}] [{contactfield=last_active|datetime}]</p>` });
  for (const timezone of ["Europe/Berlin", "America/New_York", LORD_HOWE, "Pacific/Apia"]) {
    const members = { timezone, lastActive: "2027-03-28 01:30:00", attribution_date: "30 Dec 2011" };
    const { html, contactId } = await sendToReader(stack, sink, emailId, members);
    const [, today = "", active] = /\[(.*)\] \[(.*)\]/.exec(html) ?? [];
    const sinceMs = Date.now() - Date.parse(today);
    assert.ok(sinceMs > -2_000 && sinceMs < 120_000, `${today} in ${timezone}`);
    const local = new Intl.DateTimeFormat("sv", {
      timeZone: timezone,
      dateStyle: "short",
      timeStyle: "medium",
    });
    assert.equal(today.slice(0, 19).replace("T", " "), local.format(Date.parse(today)));
    const style = { timeZone: timezone, dateStyle: "long", timeStyle: "short" } as const;
    assert.equal(active, new Intl.DateTimeFormat("en", style).format(Date.parse("2027-03-28T01:30:00Z")));
    const contact = await contactOf(contactId);
    assert.equal(contact.lastActive, "2027-03-28T01:30:00+00:00");
    assert.equal(contact.fields.all.attribution_date, "2011-12-30 00:00:00");
    const [send] = ((await api("GET", `sends?contactId=${contactId}`)).body as Any).sends;
    assert.match(send.dateSent, /\+00:00$/);
    assert.ok(Math.abs(Date.now() - Date.parse(send.dateSent)) < 120_000, send.dateSent);
    const mail = await simpleParser(Buffer.from(sink.taken.at(-1)?.octets ?? "", "latin1"));
    assert.ok(Math.abs(Date.now() - Number(mail.date)) < 120_000, String(mail.date));
  }
});

test("an email that is previewed for a day on which clocks change has the local times of its contact", async () => {
  const emailId = await newEmail({ customHtml: "<p>[{today|c}] [{today|c|+1 day}]</p>" });
  for (const [timezone, at, today, tomorrow] of [
    ["Europe/Berlin", "2027-03-28T00:30:00Z", "2027-03-28T01:30:00+01:00", "2027-03-29T01:30:00+02:00"],
    ["America/New_York", "2027-11-06T05:30:00Z", "2027-11-06T01:30:00-04:00", "2027-11-07T01:30:00-04:00"],
    [LORD_HOWE, "2027-10-01T15:45:00Z", "2027-10-02T02:15:00+10:30", "2027-10-03T02:45:00+11:00"],
    ["Pacific/Apia", "2011-12-29T15:00:00Z", "2011-12-29T05:00:00-10:00", "2011-12-31T05:00:00+14:00"],
  ] as const) {
    const { contact } = await made("contacts/new", { firstname: "Ada", timezone });
    const { url } = await made(`emails/${emailId}/preview-link`, { contactId: contact.id, at });
    const { pathname, search } = new URL(url);
    const { text } = await ask(pathname + search);
    assert.ok(text.includes(`[${today}] [${tomorrow}]`), `${timezone}: ${text}`);
  }
});

test("a pause that a reader chooses is whole days of the reader, also those on which clocks change, and is shown so", async () => {
  const emailId = await newEmail({});
  for (const [timezone, from, to, first, last] of [
    ["Europe/Berlin", "2027-03-28", "2027-03-28", "2027-03-27T23:00:00+00:00", "2027-03-28T21:59:59+00:00"],
    [
      "America/New_York",
      "2027-03-13",
      "2027-03-14",
      "2027-03-13T05:00:00+00:00",
      "2027-03-15T03:59:59+00:00",
    ],
    [LORD_HOWE, "2027-04-04", "2027-04-04", "2027-04-03T13:00:00+00:00", "2027-04-04T13:29:59+00:00"],
    ["Pacific/Apia", "2011-12-29", "2011-12-30", "2011-12-29T10:00:00+00:00", "2011-12-30T09:59:59+00:00"],
  ] as const) {
    const reader = await sendToReader(stack, sink, emailId, { timezone });
    await choosePause(reader, from, to);
    await eventually(async () => {
      const { email } = (await contactOf(reader.contactId)).frequencyRules;
      assert.deepEqual([email?.pauseFromDate, email?.pauseToDate], [first, last], timezone);
    }, PATIENCE);
    const { text } = await ask(reader.unsubscribe);
    assert.match(text, new RegExp(`id="email_pause_from"[^>]*value="${from}"`));
    // The day that there was not is the end of the one before.
    const shown = to === "2011-12-30" ? "2011-12-29" : to;
    assert.match(text, new RegExp(`id="email_pause_to"[^>]*value="${shown}"`));
  }
});

test("a mail to segments waits for the end of the reader's day, and goes to readers whose day is another one", async () => {
  // A zone in which it is another day than in UTC, and not nearly midnight.
  const timezone = new Date().getUTCHours() >= 10 ? "Pacific/Kiritimati" : "Pacific/Pago_Pago";
  const [today, days] = [dayIn(timezone), dayIn("UTC")];
  assert.notEqual(today, days);
  const direct = await newEmail({});
  const [paused, awake] = [
    await sendToReader(stack, sink, direct, { timezone }),
    await sendToReader(stack, sink, direct, { timezone }),
  ];
  await choosePause(paused, today, today);
  await choosePause(awake, days, days);
  await eventually(async () => {
    for (const { contactId } of [paused, awake])
      assert.ok((await contactOf(contactId)).frequencyRules.email?.pauseFromDate);
  }, PATIENCE);
  const { list } = await made("segments/new", { name: "Zones" });
  await made(`segments/${list.id}/contacts/add`, { ids: [paused.contactId, awake.contactId] });
  const emailId = await newEmail({ emailType: "list", lists: [list.id] });
  const sending = made(`emails/${emailId}/send`, {});
  await eventually(async () => {
    const { sends } = (await api("GET", `sends?emailId=${emailId}`)).body as Any;
    const states = new Map(sends.map((send: Any) => [send.contactId, [send.state, send.reason ?? ""]]));
    assert.deepEqual(states.get(awake.contactId), ["sent", ""]);
    assert.deepEqual(states.get(paused.contactId)?.[1 as never], "paused");
  }, PATIENCE);
  assert.deepEqual([mailsTo(paused.address).length, mailsTo(awake.address).length], [1, 2]);
  const { sends } = (await api("GET", `emails/${emailId}/sends`)).body as Any;
  await made(`emails/${emailId}/sends/${sends[0].id}/cancel`, {});
  await sending;
});

test("publishUp and publishDown are moments: with an offset that of the offset, without one UTC", async () => {
  const { list } = await made("segments/new", { name: "Planned" });
  const { contact } = await made("contacts/new", { email: "planned@example.org" });
  await made(`segments/${list.id}/contacts/add`, { ids: [contact.id] });
  const toList = { emailType: "list", lists: [list.id] };
  const local = (ms: number) => new Date(ms + 37_800_000).toISOString().replace(/\.\d+Z/, "+10:30");
  const naive = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");
  const over = [
    await newEmail({ ...toList, publishDown: local(Date.now() - 60_000) }),
    await newEmail({ ...toList, publishDown: naive(Date.now() - 60_000) }),
    await newEmail({ ...toList, publishUp: local(Date.now() + 1_200_000) }),
    await newEmail({ ...toList, publishUp: naive(Date.now() + 1_200_000) }),
  ];
  for (const id of over) assert.equal((await api("POST", `emails/${id}/send`)).status, 404);
  for (const write of [local, naive]) {
    const startsAt = Date.now() + 4_000;
    const publishUp = write(startsAt);
    const emailId = await newEmail({ ...toList, publishUp });
    const begun = await eventually(async () => {
      const { sends } = (await api("GET", `emails/${emailId}/sends`)).body as Any;
      assert.equal(sends[0]?.sent, 1);
      return sends[0];
    }, PATIENCE);
    // publishUp is kept in whole seconds.
    assert.ok(Date.parse(begun.startedAt) >= startsAt - 1_000, `${begun.startedAt} before ${publishUp}`);
  }
  assert.equal(mailsTo("planned@example.org").length, 2);
});
