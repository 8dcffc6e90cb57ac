import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "@tidings/testkit/eventually";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { GONE, startMailingStack } from "../mailing-stack.ts";
import { addresses, newsletterTo, segmentOf } from "../newsletters.ts";

/** Sends while senders are killed, stopped, or cut off. The journal of the mail server judges. FAULT_ROUNDS makes it longer. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 3);
const CONNECTIONS = 4;
const PATIENCE = { timeoutMs: 120_000, intervalMs: 200 };
const stack = await startMailingStack({
  senders: 2,
  server: {
    ...GONE,
    async onMail() {
      await pause(10);
      return undefined;
    },
  },
  content: { MAIL_CONNECTIONS: String(CONNECTIONS) },
});
const { api, made, mailsTo, sink } = stack;

async function newsletterOf(name: string, many: number): Promise<{ emailId: number; contactIds: number[] }> {
  const { id, contactIds } = await segmentOf(stack, addresses(name, many));
  return { emailId: await newsletterTo(stack, [id]), contactIds };
}

const takenBy = (name: string) => mailsTo(name).flatMap(({ to }) => to);
async function latest(emailId: number): Promise<Any> {
  const answer = await api("GET", `emails/${emailId}/sends`);
  assert.equal(answer.status, 200, answer.text);
  return (answer.body as Any).sends[0];
}
const begin = (emailId: number) => void api("POST", `emails/${emailId}/send`).catch(() => undefined); // it is killed on the way

function assertAddsUp(progress: Any): void {
  const { chosen, queued, deferred, sending, sent, failed, suppressed, unknown, cancelled } = progress;
  assert.equal(queued + deferred + sending + sent + failed + suppressed + unknown + cancelled, chosen);
}

function assertOnce(name: string): void {
  const taken = takenBy(name);
  assert.equal(new Set(taken).size, taken.length, "an address got two mails");
}

test("however often senders are killed nobody gets a mail twice, and each one that was chosen has its outcome", async () => {
  const many = 300 * ROUNDS;
  const { emailId } = await newsletterOf("killed", many);
  begin(emailId);
  await eventually(() => assert.ok(takenBy("killed").length > 10), PATIENCE);
  let kills = 0;
  for (let round = 0; round < ROUNDS; round += 1)
    for (const name of ["content", "content-2"]) {
      const before = takenBy("killed").length;
      const sender = stack.process(name);
      sender.kill("SIGKILL");
      kills += 1;
      await sender.restart();
      await eventually(
        () => assert.ok(takenBy("killed").length > Math.min(before + 20, many - 100)),
        PATIENCE,
      );
    }
  const progress = await eventually(async () => {
    const progress = await latest(emailId);
    assert.equal(progress.state, "finished");
    return progress;
  }, PATIENCE);
  assertOnce("killed");
  assertAddsUp(progress);
  assert.equal(progress.chosen, many);
  assert.ok(progress.unknown <= kills * CONNECTIONS, `${progress.unknown} are unknown after ${kills} kills`);
  const taken = takenBy("killed").length;
  assert.ok(
    progress.sent <= taken && taken <= progress.sent + progress.unknown,
    `${taken} taken, ${progress.sent} sent`,
  );
});

test("a sender that stands still through its leases sends what it began at most once, and the other sends the rest", async () => {
  const many = 200;
  const { emailId } = await newsletterOf("still", many);
  begin(emailId);
  await eventually(() => assert.ok(takenBy("still").length > 10), PATIENCE);
  const sender = stack.process("content-2");
  sender.kill("SIGSTOP");
  const finished = () =>
    eventually(async () => {
      const progress = await latest(emailId);
      assert.equal(progress.state, "finished");
      return progress;
    }, PATIENCE);
  const before = await finished();
  sender.kill("SIGCONT");
  // Both of them send again.
  const { emailId: nextId } = await newsletterOf("onwards", 40);
  await made(`emails/${nextId}/send`, {});
  await eventually(() => assert.equal(takenBy("onwards").length, 40), PATIENCE);
  const progress = await latest(emailId);
  assertOnce("still");
  assertAddsUp(progress);
  assert.ok(before.unknown <= CONNECTIONS, `${before.unknown} are unknown`);
  const taken = takenBy("still").length;
  assert.ok(
    progress.sent <= taken && taken <= progress.sent + progress.unknown,
    `${taken} taken, ${progress.sent} sent`,
  );
});

test("outcomes that the database does not take for longer than a statement may last are recorded afterwards", async () => {
  const many = 300;
  const { emailId } = await newsletterOf("slow", many);
  begin(emailId);
  await eventually(() => assert.ok(takenBy("slow").length > 10), PATIENCE);
  // Each outcome counts in the row of its email.
  await stack.query(`select from content.emails where id = ${emailId} for update; select pg_sleep(14)`);
  const progress = await eventually(async () => {
    const progress = await latest(emailId);
    assert.equal(progress.state, "finished");
    return progress;
  }, PATIENCE);
  assertOnce("slow");
  assert.deepEqual([progress.sent, progress.unknown, takenBy("slow").length], [many, 0, many]);
});

test("while the contact service is away nothing goes out unasked, and sends go on by themselves", async () => {
  const { emailId } = await newsletterOf("unasked", 300);
  begin(emailId);
  await eventually(() => assert.ok(takenBy("unasked").length > 10), PATIENCE);
  const contact = stack.process("contact");
  contact.kill("SIGSTOP");
  // Answers are good for a second; what was begun ends.
  await pause(2_500);
  const before = takenBy("unasked").length;
  await pause(2_000);
  assert.equal(takenBy("unasked").length, before);
  contact.kill("SIGCONT");
  await eventually(() => assert.equal(takenBy("unasked").length, 300), PATIENCE);
  assertOnce("unasked");
});

test("a mail server that goes away and refuses some ends with each mail sent or failed by its code", async () => {
  const { emailId } = await newsletterOf("away", 200);
  const { id } = await segmentOf(stack, ["gone-away@example.org"]);
  const goneId = await newsletterTo(stack, [id]);
  await sink.close();
  begin(emailId);
  await eventually(async () => {
    const progress = await latest(emailId);
    assert.ok(progress.deferred > 0 && progress.lastError, JSON.stringify(progress));
  }, PATIENCE);
  assert.equal(takenBy("away").length, 0);
  const back = await startMailSink(GONE, sink.port);
  after(() => back.close());
  const addressed = () => back.taken.flatMap(({ to }) => to);
  await eventually(() => assert.equal(addressed().length, 200), PATIENCE);
  assert.equal(new Set(addressed()).size, 200);
  const answer = (await api("POST", `emails/${goneId}/send`)).body as Any;
  assert.deepEqual([answer.sentCount, answer.failedCount], [0, 1]);
});
