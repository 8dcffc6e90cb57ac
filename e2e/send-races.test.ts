import assert from "node:assert/strict";
import { test } from "node:test";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { generateActorKeyRing } from "@tidings/scripts/actor-keys";
import { eventually } from "@tidings/testkit/eventually";
import { Client } from "pg";
import { callContent, calledBy } from "./content-calls.ts";
import { startMailingStack } from "./mailing-stack.ts";
import { addresses, contactsOf, newsletterTo, segmentOf } from "./newsletters.ts";
import { startTextProvider } from "./text-provider.ts";

/** Sends that something happens to in between two statements: the tests hold rows and tables so that the moment lasts. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const PATIENCE = { timeoutMs: 60_000, intervalMs: 100 };
/** Mails wait here while a test looks at a send that goes on. */
let held: Promise<void> | undefined;
const provider = await startTextProvider();
const actorKeyRing = generateActorKeyRing();
const stack = await startMailingStack({
  actorKeyRing,
  senders: 2,
  content: provider.content,
  server: {
    async onMail() {
      await held;
      return undefined;
    },
  },
});
const { api, made, query, mailsTo } = stack;

/** A segment of contacts, and an email for it. */
async function newsletter(
  name: string,
  many: number,
): Promise<{ emailId: number; segmentId: number; contactIds: number[] }> {
  const { id, contactIds } = await segmentOf(stack, addresses(name, many));
  const emailId = await newsletterTo(stack, [id], { name, subject: "Before" });
  return { emailId, segmentId: id, contactIds };
}

const mailsOf = (name: string) => mailsTo(`${name}-`);
const latest = async (emailId: number): Promise<Any> =>
  ((await api("GET", `emails/${emailId}/sends`)).body as Any).sends[0];

/** Runs a statement in a transaction that ends with the returned value. */
async function hold(statement: string): Promise<AsyncDisposable> {
  const client = new Client({ connectionString: stack.database.adminUrl });
  await client.connect();
  await client.query("begin");
  await client.query(statement);
  return { [Symbol.asyncDispose]: () => client.end() };
}

test("an email that is edited in the moment in which its recipients are chosen goes out as it was, or as it is", async () => {
  const { emailId, contactIds } = await newsletter("edited", 3);
  async function editWhileChoosing(path: string, subject: string): Promise<Promise<Any>> {
    await using _ = await hold("lock table content.sends in share mode");
    const sending = made(path, {});
    await eventually(async () => {
      const waiting = await query(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into sends%'",
      );
      assert.ok(waiting.length > 0);
    }, PATIENCE);
    const edited = await api("PATCH", `emails/${emailId}/edit`, { subject });
    assert.equal(edited.status, 200);
    return sending;
  }
  const direct = await editWhileChoosing(`emails/${emailId}/contact/${contactIds[0]}/send`, "After 1");
  assert.deepEqual(direct, { success: 1 });
  const { sentCount } = await editWhileChoosing(`emails/${emailId}/send`, "After 2");
  assert.equal(sentCount, 3);
  const subjects = mailsOf("edited").map(({ octets }) => /^Subject: (.*)\r$/m.exec(octets)?.[1] ?? "");
  assert.equal(subjects.length, 4);
  for (const subject of subjects) assert.match(subject, /^(?:Before|After [12])$/);
});

const LIMITED = 30;
const ONCE_A_DAY = { frequency_number: 1, frequency_time: "DAY" };
const count = async (sql: string) => Number((await query(`select count(*) from content.${sql}`))[0]?.count);

test("contacts with a rule of one email a day get one of two broadcasts and a marketing message at one moment, and those without a rule all three", async () => {
  const rules = { frequencyRules: { email: ONCE_A_DAY } };
  const limited = await segmentOf(stack, addresses("seldom", LIMITED), rules);
  const free = await segmentOf(stack, addresses("often", 5));
  const contactIds = [...limited.contactIds, ...free.contactIds];
  const emailIds = [
    await newsletterTo(stack, [limited.id, free.id]),
    await newsletterTo(stack, [limited.id, free.id]),
    await newsletterTo(stack, [], { emailType: "template" }),
  ];
  const channels = [{ channel: "email", channelId: emailIds[2], isEnabled: true }];
  const { message } = await made("messages/new", { name: "Offer", isPublished: true, channels });
  const content = await callContent(stack, SendMethodService, actorKeyRing);
  const release = Promise.withResolvers<void>();
  held = release.promise;
  const answers = [
    made(`emails/${emailIds[0]}/send`, {}),
    made(`emails/${emailIds[1]}/send`, {}),
    content.sendToContacts(
      {
        ...{ channel: "message", itemId: message.id, contactIds, occasion: "campaign:1:1" },
        ...{ source: "campaign.event", sourceId: 1, isMarketing: true },
      },
      calledBy("Campaigns"),
    ),
  ];
  // No mail is taken yet, so that nobody has heard of one that was sent.
  const ofEmails = `sends where email_id in (${emailIds})`;
  await eventually(async () => {
    assert.ok((await count(`${ofEmails} and state = 'started'`)) > 0);
    assert.equal(await count(ofEmails), 3 * contactIds.length);
  }, PATIENCE);
  release.resolve();
  await eventually(
    async () =>
      assert.equal(
        await count(`${ofEmails} and (state = 'sent' or reason = 'frequency')`),
        3 * contactIds.length,
      ),
    PATIENCE,
  );
  await Promise.all(answers);
  const mails = (name: string) =>
    addresses(name, name === "seldom" ? LIMITED : 5).map((to) => mailsTo(to).length);
  assert.deepEqual([mails("seldom"), mails("often")], [Array(LIMITED).fill(1), Array(5).fill(3)]);
});

test("contacts with a rule of one text message a day get one of two that are sent to them at one moment", async () => {
  const members = Array.from({ length: 10 }, (_, index) => ({
    mobile: `+4915200000${String(index).padStart(3, "0")}`,
    frequencyRules: { sms: ONCE_A_DAY },
  }));
  const contactIds = await contactsOf(stack, members);
  for (const { mobile } of members) provider.answers.set(mobile, { status: 201, delayMs: 500 });
  const text = { name: "Offer", message: "Hello", isPublished: true };
  const [one, other] = [(await made("smses/new", text)).sms.id, (await made("smses/new", text)).sms.id];
  const sent = await Promise.all(
    contactIds.flatMap((id) => [one, other].map((smsId) => made(`smses/${smsId}/contact/${id}/send`, {}))),
  );
  assert.deepEqual(sent.map(({ status }) => status).sort(), [
    ...Array(10).fill("Delivered"),
    ...Array(10).fill("Scheduled"),
  ]);
  const messages = members.map(({ mobile }) => provider.requestsTo(mobile).length);
  assert.deepEqual(messages, Array(10).fill(1));
});

test("a paused send that is cancelled hands over no more mails, also while its sends are not marked yet", async () => {
  const { emailId } = await newsletter("paused", 120);
  const release = Promise.withResolvers<void>();
  held = release.promise;
  const answer = made(`emails/${emailId}/send`, {});
  const { id } = await eventually(async () => {
    const send = await latest(emailId);
    assert.ok(send?.chosen === 120 && send.sending > 0);
    return send;
  }, PATIENCE);
  await made(`emails/${emailId}/sends/${id}/pause`, {});
  release.resolve();
  const { sent } = await eventually(async () => {
    const send = await latest(emailId);
    assert.equal(send.sending, 0);
    return send;
  }, PATIENCE);
  const looks = async () => {
    const [job] = await query(
      `select lease_token from content.jobs where kind = 'broadcast' and key = '${id}'`,
    );
    return Number(job?.lease_token);
  };
  {
    // Rows that somebody else holds are not marked as cancelled; they could be started.
    await using _ = await hold(`select from content.sends where email_id = ${emailId} for key share`);
    const before = await looks();
    await made(`emails/${emailId}/sends/${id}/cancel`, {});
    await eventually(async () => assert.ok((await looks()) > before + 1), PATIENCE);
  }
  await eventually(async () => assert.equal((await latest(emailId)).state, "cancelled"), PATIENCE);
  await answer;
  const { sent: sentInAll, cancelled } = await latest(emailId);
  assert.deepEqual([sentInAll, cancelled], [sent, 120 - sent]);
  assert.equal(mailsOf("paused").length, sent);
});

test("a send in a state that this version does not know is left as it is, and goes on once it is in one that it knows", async () => {
  const { emailId, segmentId } = await newsletter("later", 3);
  const [{ id }] = (await query(
    `insert into content.broadcasts (id, email_id, family_id, list_ids, state)
     values (gen_random_uuid(), ${emailId}, ${emailId}, '{${segmentId}}', 'reviewing') returning id`,
  )) as [Any];
  const job = `kind = 'broadcast' and key = '${id}'`;
  await query(`insert into content.jobs (kind, key) values ('broadcast', '${id}')`);
  await eventually(async () => {
    const [row] = await query(`select lease_token from content.jobs where ${job}`);
    assert.ok(Number(row?.lease_token) > 2);
  }, PATIENCE);
  const { state, finishedAt } = await latest(emailId);
  assert.deepEqual([state, finishedAt], ["reviewing", null]);
  assert.deepEqual(mailsOf("later"), []);
  await query(`update content.broadcasts set state = 'choosing' where id = '${id}'`);
  await eventually(async () => assert.equal((await latest(emailId)).state, "finished"), PATIENCE);
  assert.equal(mailsOf("later").length, 3);
});
