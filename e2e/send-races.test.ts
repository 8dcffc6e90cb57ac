import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { Client } from "pg";
import { startMailingStack } from "./mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "./newsletters.ts";

/** Sends that something happens to in between two statements: the tests hold rows and tables so that the moment lasts. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const PATIENCE = { timeoutMs: 60_000, intervalMs: 100 };
/** Mails wait here while a test looks at a send that goes on. */
let held: Promise<void> | undefined;
const stack = await startMailingStack({
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
