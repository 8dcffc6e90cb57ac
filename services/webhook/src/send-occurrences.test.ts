import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type EmailSendSchema,
  EmailSendsSchema,
  SmsSendsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { BatchRenderSendsResponseSchema } from "@tidings/proto/tidings/content/v1/send";
import { jsonBytes } from "@tidings/resource/json-member";
import { mailReader, type ReadMails } from "./sent-mails.ts";
import { event, fanOut, rendered } from "./testing/events.ts";
import { openScene, type Scene } from "./testing/scene.ts";

const ISO = "2026-11-20T10:00:00+00:00";
const AT = "2026-01-02T03:04:05+00:00";
const SEND = "svc.email_on_send";
const OPEN = "svc.email_on_open";
const at = timestampFromDate(new Date("2026-01-02T03:04:05.678Z"));
const category = { id: 2, title: "News", alias: "news" };
const email = { id: 5, name: "Welcome", subject: "Hello", language: "en", emailType: "list" };

type Send = MessageInitShape<typeof EmailSendSchema>;
const eventOf = (verb: string, ...sends: Send[]) =>
  event(
    verb,
    EmailSendsSchema,
    {
      sends: sends.map((send) => ({ id: randomUUID(), version: 3, contactId: 7, emailId: 5, ...send })),
      emails: [{ ...email, category: jsonBytes(category) }],
    },
    "email",
  );
const sentOf = (...sends: Send[]) => eventOf("sent", ...sends);
const openedOf = (...sends: Send[]) =>
  eventOf("opened", ...sends.map((send) => ({ opens: 1, readCount: 1, ...send })));

const hook = (scene: Scene, triggers: string[], createdBy?: number) =>
  scene.webhook({ url: "http://127.0.0.1:1/", triggers, ...(createdBy && { createdBy }) });

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

/** The items that webhooks get, in the order of their deliveries. */
async function items(scene: Scene): Promise<{ id: string; trigger: string; item: Any }[]> {
  const rows = await scene.query("select event_id, body from deliveries order by id");
  return rows.map(({ event_id, body }) => {
    const [[trigger, [item]]] = Object.entries(JSON.parse(body ?? "")) as [[string, [Any]]];
    return { id: event_id ?? "", trigger, item };
  });
}

const mails: ReadMails = async (hashes) =>
  hashes.map((hash) => ({ subject: `Hello ${hash}`, headers: { "X-A": "a" }, content: "<p>Hello</p>" }));

test("a mail is sent with its email, its contact, its values and the mail as it was written", async () => {
  await using scene = await openScene();
  await hook(scene, [SEND]);
  const id = randomUUID();
  const tokens = jsonBytes({ greeting: "<b>Hi</b>" });
  await fanOut(scene, [sentOf({ id, source: "api", sourceId: 0, tokens })], { mails });
  assert.deepEqual(await items(scene), [
    {
      id,
      trigger: SEND,
      item: {
        email: { ...email, category },
        contact: { id: 7, points: 5 },
        ...{ contentHash: null, idHash: id, subject: `Hello ${id}`, source: ["api", 0] },
        ...{ headers: { "X-A": "a" }, content: "<p>Hello</p>", tokens: { greeting: "<b>Hi</b>" } },
        timestamp: ISO,
      },
    },
  ]);
});

test("a mail that cannot be written again is sent with nulls, and an email that is gone with its id", async () => {
  await using scene = await openScene();
  await hook(scene, [SEND]);
  await fanOut(scene, [sentOf({ emailId: 6 })]);
  const [{ item } = { item: undefined }] = await items(scene);
  assert.deepEqual([item.subject, item.headers, item.content], [null, null, null]);
  assert.deepEqual([item.email, item.source, item.tokens], [{ id: 6 }, ["", null], {}]);
});

test("an open is sent with the stat of its send, its email and its contact", async () => {
  await using scene = await openScene();
  await hook(scene, [OPEN]);
  const id = randomUUID();
  const known = {
    ...{ dateSent: at, dateRead: at, lastOpened: at, readCount: 3, address: "ada@example.com" },
    ...{ source: "broadcast", sourceId: 5, retryCount: 2, viewedInBrowser: true, ip: "192.0.2.1" },
  };
  await fanOut(scene, [openedOf({ id, ...known })]);
  const [{ item } = { item: undefined }] = await items(scene);
  assert.deepEqual(item, {
    stat: {
      ...{
        id,
        emailAddress: "ada@example.com",
        ipAddress: { ip: "192.0.2.1" },
        dateSent: AT,
        isRead: true,
        isFailed: false,
      },
      ...{ dateRead: AT, retryCount: 2, source: "broadcast", sourceId: 5, lastOpened: AT, trackingHash: id },
      ...{ viewedInBrowser: true, openCount: 3, email: { ...email, category }, lead: { id: 7, points: 5 } },
    },
    timestamp: ISO,
  });
});

test("each mail and each open makes one delivery, however often its event comes, and a reply makes none", async () => {
  await using scene = await openScene();
  await hook(scene, [SEND, OPEN]);
  const [one, other] = [randomUUID(), randomUUID()];
  const sent = sentOf({ id: one }, { id: other });
  const opened = [
    openedOf({ id: one, readCount: 1 }, { id: other, readCount: 2, opens: 2 }),
    openedOf({ id: one, readCount: 1, opens: 0 }),
    openedOf({ id: one, readCount: 2 }),
  ];
  await fanOut(scene, [sent, ...opened]);
  await scene.query("delete from inbox");
  await fanOut(scene, [sent, ...opened, sent]);
  const made = (await items(scene)).map(({ trigger, item }) =>
    trigger === SEND ? item.idHash : [item.stat.id, item.stat.openCount],
  );
  assert.deepEqual(made, [one, other, [one, 1], [other, 1], [other, 2], [one, 2]]);
  assert.equal(new Set((await items(scene)).map(({ id }) => id)).size, 6);
});

test("a text message is sent with its contact and its content, once, and not of an erased contact", async () => {
  await using scene = await openScene();
  await hook(scene, ["svc.sms_on_send"]);
  const id = randomUUID();
  const sent = event(
    "sent",
    SmsSendsSchema,
    { sends: [{ id, contactId: 7, smsId: 9, content: "Hello" }] },
    "sms",
  );
  await fanOut(scene, [sent, sent]);
  const contact = { id: 7, points: 5 };
  assert.deepEqual(await items(scene), [
    { id, trigger: "svc.sms_on_send", item: { contact, smsId: 9, content: "Hello", timestamp: ISO } },
  ]);
  await scene.query("delete from deliveries; delete from inbox");
  await fanOut(scene, [sent], { leads: async (sources) => sources.map(() => undefined) });
  assert.deepEqual(await items(scene), []);
});

test("mails and opens reach only owners who may view their contact, and none is sent of an erased contact", async () => {
  await using scene = await openScene();
  await scene.query(
    `insert into roles (id, version, is_published, permissions) values (20, 1, true, '{"lead:leads": ["viewown"]}')`,
  );
  await scene.query("insert into users (id, version, role_id, is_published) values (20, 1, 20, true)");
  await hook(scene, [SEND, OPEN], 20);
  const reached = async (ownerId: number | undefined) => {
    await scene.query("delete from deliveries");
    await fanOut(scene, [sentOf({}), openedOf({})], {
      leads: async (sources) =>
        sources.map(({ contactId }) =>
          ownerId === undefined ? undefined : rendered({ id: contactId }, ownerId),
        ),
    });
    return (await items(scene)).map(({ trigger }) => trigger);
  };
  assert.deepEqual(await reached(20), [SEND, OPEN]);
  assert.deepEqual(await reached(21), []);
  assert.deepEqual(await reached(undefined), []);
});

test("no mail is written again, and no event is read, where no webhook names the trigger", async () => {
  await using scene = await openScene();
  await hook(scene, [OPEN]);
  const unreadable = { ...sentOf({}), payload: Buffer.from("no message") };
  const failing: ReadMails = () => assert.fail("a mail was written again");
  assert.equal(await fanOut(scene, [unreadable], { mails: failing }), 0);
  await fanOut(scene, [openedOf({})], { mails: failing });
  assert.equal((await items(scene)).length, 1);
});

test("mails are asked for 100 at a time, and those that an answer left out are asked for again", async () => {
  const hashes = Array.from({ length: 250 }, (_, index) => String(index));
  const asked: number[] = [];
  const read = mailReader({
    async batchRenderSends({ hashes: some = [] }) {
      asked.push(some.length);
      const answered = asked.length === 1 ? some.slice(0, 30) : some;
      const sends = answered.map((subject) =>
        subject === "249" ? {} : { mail: { subject, content: "<p></p>", headers: jsonBytes({}) } },
      );
      return create(BatchRenderSendsResponseSchema, { sends });
    },
  });
  const mailsRead = await read(hashes);
  assert.deepEqual(asked, [100, 100, 100, 20]);
  assert.deepEqual(
    mailsRead.map(({ subject }) => subject),
    [...hashes.slice(0, -1), null],
  );
});
