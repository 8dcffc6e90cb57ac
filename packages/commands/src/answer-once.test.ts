import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { Fault } from "@tidings/rpc/fault";
import { type AnswerOnce, untilClaimed } from "@tidings/rpc/idempotency";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { answerOnceIn, startForgettingAnswers } from "./answer-once.ts";

const log = createLog("test", "silent");
let testDatabase: TestDatabase;
let database: Database;
let answerOnce: AnswerOnce;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log });
  answerOnce = answerOnceIn(database, new Set(["MakeTogether"]));
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const query = (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 20_000);
const digest = (text: string) => createHash("sha256").update(text).digest();

/** A call that makes a tag and answers how many there are of it. */
function call(tag: string, secret = randomBytes(32)) {
  const work = async () => {
    await database.transaction(Date.now() + 20_000, (transaction) =>
      transaction.query({ text: "insert into tags (tag) values ($1)" }, [tag]),
    );
    return Buffer.from(`made ${tag}`);
  };
  return (fingerprint = tag, doing: typeof work | undefined = work, method = "MakeTag") =>
    answerOnce({ secret, fingerprint: digest(fingerprint), method, deadlineMs: Date.now() + 20_000 }, doing);
}
const count = async (tag: string) => (await query("select 1 from tags where tag = $1", [tag])).length;
const hasReason = (reason: string) => (error: unknown) => error instanceof Fault && error.reason === reason;

test("a call with a key takes effect once and is answered the same each time", async () => {
  const send = call("once");
  const [first, second] = [await send(), await send()];
  assert.deepEqual([first.isReplayed, second.isReplayed], [false, true]);
  assert.equal(Buffer.from(second.answer).toString(), "made once");
  assert.equal(await count("once"), 1);
});

test("64 parallel calls with one key take effect once: those that come meanwhile are ABORTED", async () => {
  const send = call("parallel");
  const outcomes = await Promise.allSettled(Array.from({ length: 64 }, () => send()));
  for (const outcome of outcomes)
    assert.ok(outcome.status === "fulfilled" || hasReason("IDEMPOTENCY_KEY_BUSY")(outcome.reason));
  assert.ok(outcomes.some(({ status }) => status === "fulfilled"));
  assert.equal((await send()).isReplayed, true);
  assert.equal(await count("parallel"), 1);
});

test("a key with another request is refused, and one of another method is another key", async () => {
  const send = call("reused");
  await send();
  await assert.rejects(send("another request"), hasReason("IDEMPOTENCY_KEY_REUSED"));
  assert.equal((await send("reused", async () => Buffer.of(), "OtherMethod")).isReplayed, false);
});

test("a call whose key is taken asks nobody else to change anything", async () => {
  const send = call("asks others");
  let asked = 0;
  const asking = async () => {
    await untilClaimed();
    asked += 1;
    return Buffer.from("asked");
  };
  await send("asks others", asking);
  assert.equal((await send("asks others", asking)).isReplayed, true);
  await assert.rejects(send("another request", asking), hasReason("IDEMPOTENCY_KEY_REUSED"));
  assert.equal(asked, 1);
});

test("a call whose key is taken is answered by that, however its work fails", async () => {
  const send = call("fails when it comes again");
  await send();
  const failing = async () => Promise.reject(new Error("not valid any more"));
  assert.equal((await send("fails when it comes again", failing)).isReplayed, true);
  await assert.rejects(send("another request", failing), hasReason("IDEMPOTENCY_KEY_REUSED"));
});

test("a call that fails has no effect and is not kept", async () => {
  const send = call("failing");
  const failing = send("failing", async () => {
    await query("insert into tags (tag) values ('failing')");
    throw new Error("after the effect");
  });
  await assert.rejects(failing, /after the effect/);
  assert.equal(await count("failing"), 0);
  assert.equal((await send()).isReplayed, false);
  assert.equal(await count("failing"), 1);
});

test("a connection that is lost before the commit leaves neither effect nor answer", async () => {
  const send = call("lost");
  const lost = send("lost", async () => {
    await query("insert into tags (tag) values ('lost')");
    await query("select pg_terminate_backend(pg_backend_pid())");
    return Buffer.of();
  });
  await assert.rejects(lost);
  assert.equal((await send()).isReplayed, false);
  assert.equal(await count("lost"), 1);
});

test("the database has neither the key nor the answer in clear", async () => {
  const secret = randomBytes(32);
  await call("a whisper", secret)();
  const rows = await query("select id::text || sealed::text as kept from kept_answers");
  const all = rows.map(({ kept }) => kept).join();
  assert.ok(!all.includes(secret.toString("hex")));
  assert.ok(!all.includes(Buffer.from("whisper").toString("hex")));
});

test("an answer of yesterday is replayed, and those of the day before are forgotten", async (t) => {
  const [yesterday, before] = [call("yesterday"), call("the day before")];
  await yesterday();
  await queryAsSuperuser(testDatabase, "update contact.kept_answers set slot = mod(slot + 2, 3)::smallint");
  await before();
  await queryAsSuperuser(
    testDatabase,
    `update contact.kept_answers set slot = mod(slot + 1, 3)::smallint
     where slot = mod(extract(epoch from now())::bigint / 86400, 3)`,
  );
  const forgetting = startForgettingAnswers(database, log);
  t.after(forgetting.stop);
  assert.equal((await yesterday()).isReplayed, true);
  await query("select forget_kept_answers()");
  await query("delete from tags where tag = 'the day before'");
  assert.equal((await before()).isReplayed, false);
});

const made = async (tags: string[]) =>
  (await query("select tag, xmin::text as transaction from tags where tag = any($1)", [tags])).map(
    ({ tag, transaction }) => ({ tag, transaction }),
  );
const together = (tag: string, send = call(tag)) => send(tag, undefined, "MakeTogether");

test("calls of a shared method at the same time share transactions, and each is answered once under its own key", async () => {
  const calls = Array.from({ length: 40 }, (_, index) => ({
    tag: `together ${index}`,
    send: call(`together ${index}`),
  }));
  const answers = await Promise.all(calls.map(({ tag, send }) => together(tag, send)));
  assert.deepEqual(
    answers.map(({ answer }) => Buffer.from(answer).toString()),
    calls.map(({ tag }) => `made ${tag}`),
  );
  const rows = await made(calls.map(({ tag }) => tag));
  assert.equal(rows.length, 40);
  assert.ok(new Set(rows.map(({ transaction }) => transaction)).size <= 4);
  const again = await Promise.all(calls.map(({ tag, send }) => together(tag, send)));
  assert.ok(again.every(({ isReplayed }) => isReplayed));
  assert.equal((await made(calls.map(({ tag }) => tag))).length, 40);
});

test("a call that fails among others has no effect, and the others have theirs", async () => {
  const tags = Array.from({ length: 10 }, (_, index) => `beside a failure ${index}`);
  const failing = call("failing beside others");
  const outcomes = await Promise.allSettled([
    ...tags.map((tag) => together(tag)),
    failing(
      "failing",
      async () => {
        await query("insert into tags (tag) values ('failing beside others')");
        throw new Error("after the effect");
      },
      "MakeTogether",
    ),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    [...tags.map(() => "fulfilled"), "rejected"],
  );
  assert.equal((await made(tags)).length, tags.length);
  assert.equal(await count("failing beside others"), 0);
  assert.equal((await failing("failing", undefined, "MakeTogether")).isReplayed, false);
});

test("64 parallel calls of a shared method with one key take effect once", async () => {
  const send = call("one key together");
  const outcomes = await Promise.allSettled(
    Array.from({ length: 64 }, () => together("one key together", send)),
  );
  for (const outcome of outcomes)
    assert.ok(outcome.status === "fulfilled" || hasReason("IDEMPOTENCY_KEY_BUSY")(outcome.reason));
  assert.equal((await together("one key together", send)).isReplayed, true);
  assert.equal(await count("one key together"), 1);
});

test("a key of another request is refused among calls that are not", async () => {
  const used = call("used together");
  await together("used together", used);
  const others = Array.from({ length: 5 }, (_, index) => together(`beside a used key ${index}`));
  await assert.rejects(
    used("another request", undefined, "MakeTogether"),
    hasReason("IDEMPOTENCY_KEY_REUSED"),
  );
  await Promise.all(others);
});
