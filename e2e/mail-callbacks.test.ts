import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailingStack } from "./mailing-stack.ts";
import { scrapeProcess } from "./scrape.ts";

/** Bounces, complaints and deliveries, as mail providers report them. */

const SECRET = "generic-secret-0123";
const SIGNING_KEY = "mailgun-key-0123456";
const BASIC = "user:password-of-16-chars";
const TOPIC = "arn:aws:sns:eu-west-1:123456789012:bounces";
const DAY_MS = 86_400_000;
const ec = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const PUBLIC_KEY = ec.publicKey.export({ format: "der", type: "spki" }).toString("base64");

const stack = await startMailingStack({
  content: {
    MAIL_CALLBACKS: [
      ...[`generic:${SECRET}`, `sendgrid:${PUBLIC_KEY}`, `mailgun:${SIGNING_KEY}`],
      ...[`sparkpost:${BASIC}`, `postmark:${BASIC}`, `ses:${TOPIC}`],
    ].join(","),
  },
});
const { api, baseUrl, made } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

interface Signed {
  body: string;
  headers?: Record<string, string>;
}

async function post(name: string, { body, headers = {} }: Signed): Promise<{ status: number; body: Any }> {
  const response = await fetch(`${baseUrl}/mailer/callback${name && `/${name}`}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

const hmac = (key: string, text: string) => createHmac("sha256", key).update(text).digest("hex");
const basic = { authorization: `Basic ${Buffer.from(BASIC).toString("base64")}` };
const generic = (items: unknown): Signed => {
  const body = typeof items === "string" ? items : JSON.stringify(items);
  return { body, headers: { "tidings-signature": `sha256=${hmac(SECRET, body)}` } };
};

interface Event {
  hash: string;
  address: string;
  /** A hard bounce, unless it is a complaint. */
  isComplaint?: boolean;
}

/** The callback of each provider whose signature a test can make. */
const CALLBACKS: Record<string, (event: Event) => Signed> = {
  generic: ({ hash, address, isComplaint }) =>
    generic([
      {
        id: randomUUID(),
        event: isComplaint ? "complaint" : "hard",
        messageId: `<${hash}@mail.example>`,
        address,
        time: Date.now(),
      },
    ]),
  sendgrid({ hash, address, isComplaint }) {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const event = isComplaint ? "spamreport" : "bounce";
    const body = JSON.stringify([
      {
        email: address,
        event,
        type: "bounce",
        status: "5.1.1",
        timestamp: Number(timestamp),
        "smtp-id": `<${hash}@mail.example>`,
        sg_event_id: randomUUID(),
      },
    ]);
    return {
      body,
      headers: {
        "x-twilio-email-event-webhook-timestamp": timestamp,
        "x-twilio-email-event-webhook-signature": sign(
          "sha256",
          Buffer.from(timestamp + body),
          ec.privateKey,
        ).toString("base64"),
      },
    };
  },
  mailgun({ hash, address, isComplaint }) {
    const [timestamp, token] = [String(Math.floor(Date.now() / 1_000)), randomUUID()];
    const failed = {
      event: "failed",
      severity: "permanent",
      "delivery-status": { code: 550, message: "5.1.1 no" },
    };
    return {
      body: JSON.stringify({
        signature: { timestamp, token, signature: hmac(SIGNING_KEY, timestamp + token) },
        "event-data": {
          ...{ id: randomUUID(), timestamp: Date.now() / 1_000, recipient: address },
          ...(isComplaint ? { event: "complained" } : failed),
          message: { headers: { "message-id": `${hash}@mail.example` } },
        },
      }),
    };
  },
  sparkpost: ({ hash, address, isComplaint }) => ({
    headers: basic,
    body: JSON.stringify([
      {
        msys: {
          message_event: {
            ...{
              type: isComplaint ? "spam_complaint" : "bounce",
              bounce_class: "10",
              event_id: randomUUID(),
            },
            ...{ rcpt_to: address, rcpt_meta: { tidings: hash }, timestamp: String(Date.now() / 1_000) },
          },
        },
      },
    ]),
  }),
  postmark: ({ hash, address, isComplaint }) => ({
    headers: basic,
    body: JSON.stringify({
      ...{
        RecordType: isComplaint ? "SpamComplaint" : "Bounce",
        Type: "HardBounce",
        ID: Math.floor(Math.random() * 1e12),
      },
      ...{
        Email: address,
        Metadata: { tidings: hash },
        BouncedAt: new Date().toISOString(),
        Details: "550 no such user",
      },
    }),
  }),
};

const { email: news } = await made("emails/new", {
  ...{ name: "News", subject: "News", emailType: "template", customHtml: "<p>Hello</p>" },
});
let count = 0;
const newAddress = () => `reader-${++count}@example.org`;
const newContact = async (address = newAddress()): Promise<{ id: number; address: string }> => ({
  id: (await made("contacts/new", { email: address })).contact.id,
  address,
});
const send = async (id: number) => (await api("POST", `emails/${news.id}/contact/${id}/send`)).body as Any;
const sendsOf = async (id: number): Promise<Any[]> =>
  ((await api("GET", `sends?contactId=${id}`)).body as Any).sends;

/** A contact who got a mail. */
async function reader(address?: string): Promise<{ id: number; address: string; hash: string }> {
  const contact = await newContact(address);
  assert.deepEqual(await send(contact.id), { success: 1 });
  const [{ hash }] = await sendsOf(contact.id);
  return { ...contact, hash };
}

const noOf = async (id: number): Promise<Any> => {
  const { doNotContact } = ((await api("GET", `contacts/${id}`)).body as Any).contact;
  return doNotContact.map(({ reason, channel, channelId }: Any) => [reason, channel, channelId]);
};
const NOT_EMAILED = { success: false, failed: "Contact has requested to not be emailed." };
const BOUNCED = { success: false, failed: "Mail to this contact came back." };
const outcome = (counts: object) => ({
  taken: 0,
  known: 0,
  unmatched: 0,
  ignored: 0,
  setAside: 0,
  ...counts,
});

for (const [name, signed] of Object.entries(CALLBACKS))
  test(`${name}: a hard bounce and a complaint are taken once, and their contacts get no other mail`, async () => {
    const [gone, angry] = [await reader(), await reader()];
    const callbacks = [signed(gone), signed({ ...angry, isComplaint: true })];
    for (const callback of callbacks) {
      const first = await post(name, callback);
      assert.deepEqual([first.status, first.body], [200, outcome({ taken: 1 })]);
      const again = await post(name, callback);
      assert.deepEqual([again.status, again.body], [200, outcome({ known: 1 })]);
    }
    assert.deepEqual([await send(gone.id), await send(angry.id)], [BOUNCED, NOT_EMAILED]);
    const bounced = (await sendsOf(gone.id)).at(-1);
    assert.deepEqual([bounced.state, bounced.bounce, typeof bounced.dateBounced], ["sent", "hard", "string"]);
    const complained = (await sendsOf(angry.id)).at(-1);
    assert.deepEqual([complained.state, typeof complained.dateComplained], ["sent", "string"]);
    await eventually(async () => {
      assert.deepEqual(await noOf(gone.id), [[2, "email", news.id]]);
      assert.deepEqual(await noOf(angry.id), [[1, "email", news.id]]);
    });
    const { value } = await scrapeProcess(stack, "content");
    const kinds = ["hard", "complaint"].map((kind) =>
      value("tidings_mail_feedback_total", { provider: name, kind }),
    );
    assert.deepEqual(kinds, [1, 1]);
  });

test("mails carry the headers by which the providers name them again", async () => {
  const { hash, address } = await reader();
  const mail = stack.mailsTo(address)[0]?.octets ?? "";
  for (const header of [
    `X-PM-Metadata-tidings: ${hash}`,
    `X-SES-MESSAGE-TAGS: tidings=${hash}`,
    `X-SMTPAPI: {"unique_args":{"tidings":"${hash}"}}`,
    `X-MSYS-API: {"metadata":{"tidings":"${hash}"}}`,
  ])
    assert.ok(mail.replaceAll("\r\n ", " ").includes(`${header}\r\n`), header);
});

test("a forged or unreadable callback is refused and changes nothing", async () => {
  const target = await reader();
  const refused = async () => {
    const { samples } = await scrapeProcess(stack, "content");
    return samples
      .filter(({ name }) => name === "tidings_callbacks_refused_total")
      .reduce((sum, { value }) => sum + value, 0);
  };
  const before = await refused();
  const forged: [string, Signed][] = Object.entries(CALLBACKS).flatMap(([name, signed]) => {
    const { body, headers = {} } = signed(target);
    return [
      [name, { body: body.replace(/("(?:token|signature)":")\w/g, "$1_"), headers: {} }],
      [
        name,
        {
          body: body.replace(/("(?:token|signature)":")\w/g, "$1_"),
          headers: Object.fromEntries(Object.keys(headers).map((key) => [key, "Basic dXNlcjpwYXNzd29yZA=="])),
        },
      ],
    ];
  });
  const sns = {
    Type: "Notification",
    TopicArn: TOPIC,
    MessageId: "1",
    Message: "{}",
    Timestamp: new Date().toISOString(),
  };
  for (const url of ["https://evil.example/SimpleNotificationService-0.pem", "http://127.0.0.1:1/x.pem"])
    forged.push([
      "ses",
      { body: JSON.stringify({ ...sns, SignatureVersion: "2", Signature: "AAAA", SigningCertURL: url }) },
    ]);
  for (const [name, signed] of forged) {
    const answer = await post(name, signed);
    assert.deepEqual([name, answer.status], [name, 403]);
  }
  const statuses: [string, Signed, number][] = [
    ["", CALLBACKS.generic?.(target) as Signed, 404],
    ["other", CALLBACKS.generic?.(target) as Signed, 404],
    ["constructor", CALLBACKS.generic?.(target) as Signed, 404],
    ["generic", generic("{"), 400],
    ["generic", generic({ event: "hard" }), 400],
    ["generic", generic(Array.from({ length: 5_001 }, () => 0)), 413],
    ["generic", generic(`[${" ".repeat(1_100_000)}]`), 413],
  ];
  for (const [name, signed, status] of statuses) assert.equal((await post(name, signed)).status, status);
  assert.equal((await fetch(`${baseUrl}/mailer/callback/generic`)).status, 405);
  assert.deepEqual(await send(target.id), { success: 1 });
  assert.equal(
    (await sendsOf(target.id)).every(({ bounce }) => bounce == null),
    true,
  );
  assert.equal((await refused()) - before, forged.length + 4);
});

test("a send of unknown outcome is settled by a report of it, and counted", async () => {
  const readers = [await reader(), await reader()];
  const hashes = readers.map(({ hash }) => `'${hash}'`).join();
  const sentCount = async () => ((await api("GET", `emails/${news.id}`)).body as Any).email.sentCount;
  await stack.query(`update content.sends set state = 'unknown', date_sent = null where hash in (${hashes})`);
  await stack.query(`update content.emails set sent_count = sent_count - 2 where id = ${news.id}`);
  const before = await sentCount();
  const items = readers.map(({ hash }, index) => ({
    event: index === 0 ? "delivered" : "blocked",
    hash,
    time: Date.now(),
  }));
  assert.deepEqual((await post("generic", generic(items))).body, outcome({ taken: 2 }));
  const [delivered, blocked] = await Promise.all(readers.map(async ({ id }) => (await sendsOf(id))[0]));
  assert.deepEqual([delivered.state, delivered.bounce ?? null], ["sent", null]);
  assert.deepEqual([blocked.state, blocked.bounce], ["sent", "blocked"]);
  assert.deepEqual([typeof delivered.dateSent, await sentCount()], ["string", before + 2]);
  assert.deepEqual(await send(readers[1]?.id ?? 0), { success: 1 });
});

test("five soft bounces in a row over a week make a contact one who is not written to, and fewer, quicker or broken ones do not", async () => {
  const soft = async (days: number[], lastKind = "soft") => {
    const { id, hash } = await reader();
    const hashes = [hash];
    for (let time = 1; time < days.length; time += 1) {
      await send(id);
      hashes.push((await sendsOf(id))[0].hash);
    }
    const items = days.map((day, index) => ({
      ...{ event: index === 2 ? lastKind : "soft", hash: hashes[index], time: Date.now() - day * DAY_MS },
      reason: "452 4.2.2 mailbox full",
    }));
    assert.equal((await post("generic", generic(items))).body.taken, items.length);
    return id;
  };
  const lost = await soft([8, 6, 4, 2, 0]);
  const fewer = await soft([8, 6, 4, 0]);
  const quicker = await soft([4, 3, 2, 1, 0]);
  const broken = await soft([9, 8, 6, 2, 0], "delivered");
  assert.deepEqual(await send(lost), BOUNCED);
  await eventually(async () => assert.deepEqual(await noOf(lost), [[2, "email", news.id]]));
  for (const id of [fewer, quicker, broken]) assert.deepEqual(await send(id), { success: 1 });
});

test("an address alone names its contact, unless it is that of several, and a copy for somebody else is no news of the contact", async () => {
  const time = Date.now();
  const [one, copied] = [await reader(), await reader()];
  const [shared] = [await reader("shared@example.org"), await reader("shared-2@example.org")];
  await stack.query(
    "update content.sends set address = 'shared@example.org' where address = 'shared-2@example.org'",
  );
  const items = [
    { event: "complaint", address: one.address.toUpperCase(), time },
    { event: "hard", address: shared.address, time },
    { event: "hard", address: "nobody@example.org", time },
    { event: "hard", hash: copied.hash, address: "archive@mail.example", time },
    { event: "hard", messageId: `<${randomUUID()}@elsewhere.example>`, address: copied.address, time },
  ];
  assert.deepEqual((await post("generic", generic(items))).body, outcome({ taken: 1, unmatched: 4 }));
  assert.deepEqual(await send(one.id), NOT_EMAILED);
  for (const { id } of [shared, copied]) assert.deepEqual(await send(id), { success: 1 });
});

test("thousands of items are taken together, bad ones are set aside, and the same callback at once counts once", async () => {
  const target = await reader();
  const time = Date.now();
  const items: unknown[] = Array.from({ length: 4_000 }, (_, index) => ({
    ...{ event: "delivered", address: `nobody-${index}@example.org`, time },
  }));
  const bad = [
    null,
    7,
    [],
    {},
    { event: "hard", hash: target.hash },
    { event: "hard", hash: target.hash, time: 1 },
  ];
  const odd = {
    event: "hard",
    hash: target.hash,
    time,
    reason: "a\u0000b \ud800",
    code: 1e300,
    id: "x".repeat(5_000),
  };
  const callback = generic([...items, ...bad, { event: "open" }, odd]);
  const answers = await Promise.all(Array.from({ length: 4 }, () => post("generic", callback)));
  assert.ok(answers.every(({ status }) => status === 200));
  const sum = (name: string) => answers.reduce((total, { body }) => total + body[name], 0);
  assert.deepEqual(["taken", "unmatched", "known", "ignored", "setAside"].map(sum), [
    1,
    4_000,
    3 * 4_001,
    4,
    4 * bad.length,
  ]);
  assert.equal((await sendsOf(target.id))[0].reason, "a b");
});

test("bounces, complaints and settled sends are published", async () => {
  await eventually(async () => {
    const waiting = await stack.query("select id from content.outbox_waiting");
    assert.deepEqual(waiting, []);
  });
  const published = await stack.query("select distinct subject from content.outbox order by subject");
  const subjects = published.map(({ subject }: Any) => subject);
  for (const verb of ["bounced", "complained", "sent"])
    assert.ok(subjects.includes(`tidings.content.email.${verb}`), verb);
});

test("a complaint holds while the contact service is away, and reaches it once it is back", async () => {
  const angry = await reader();
  const contact = stack.process("contact");
  contact.kill("SIGKILL");
  await contact.exited;
  const answer = await post("generic", generic([{ event: "complaint", hash: angry.hash, time: Date.now() }]));
  assert.deepEqual([answer.status, answer.body], [200, outcome({ taken: 1 })]);
  // A bounce that is reported meanwhile does not weaken the contact's own no.
  await post("generic", generic([{ event: "hard", hash: angry.hash, time: Date.now() }]));
  const refusals = await stack.query(
    `select reason from content.send_refusals where contact_id = ${angry.id}`,
  );
  assert.deepEqual(refusals, [{ reason: 1 }]);
  await contact.restart();
  await eventually(async () => assert.deepEqual(await noOf(angry.id), [[1, "email", news.id]]), {
    timeoutMs: 60_000,
  });
  assert.deepEqual(await send(angry.id), NOT_EMAILED);
});
