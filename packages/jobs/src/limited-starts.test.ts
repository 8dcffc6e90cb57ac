import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { countDeadlocks, createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { type Claimed, jobQueue } from "./queue.ts";
import { jobStarts } from "./starts.ts";

const SUBJECTS = 40;
const JOBS_OF_EACH = 6;

let testDatabase: TestDatabase;
let replicas: Database[];

before(async () => {
  testDatabase = await createTestDatabase();
  const log = createLog("test", "silent");
  replicas = [1, 2, 3].map(() => openDatabase({ url: testDatabase.url("contact"), log }));
});
after(() => testDatabase.drop());

interface Letter extends Claimed {
  recipient: number;
}

/** Jobs with the subject in their group, which differ by their priority. */
const table = {
  ...{ name: "letters", table: "jobs", where: "kind = 'letter'", group: "fair_group", due: "due_at" },
  ...{ order: "due_at, id", columns: "fair_group as recipient", startedAt: "started_at" },
  groups:
    "select id as group_id, false as is_failing, null::text as turn from waiting_group where id is not null",
  jobOf: (claimed: Claimed, { recipient }: Record<string, string | null>): Letter => ({
    ...claimed,
    recipient: Number(recipient),
  }),
  limited: {
    by: ["fair_group", "priority"] as [string, string],
    tookEffectAt: "case when s.kind = 'letter' then s.started_at end",
  },
};
const queue = jobQueue<Letter>(table);
const starts = jobStarts<Letter>(table);

const query = async (text: string) => {
  const [database] = replicas;
  return database ? database.query({ text }, [], Date.now() + 20_000) : [];
};
async function lettersOf(many: { subjects: number; each: number; priority?: number }): Promise<Letter[]> {
  const { subjects, each, priority = 0 } = many;
  await query(`insert into jobs (kind, key, fair_group, priority)
    select 'letter', gen_random_uuid()::text, subject, ${priority} from generate_series(1, ${subjects}) subject, generate_series(1, ${each})`);
  const claiming = { shares: new Map<number, number>(), size: each, after: 0, limit: subjects * each };
  const claimed = await queue.claim(replicas[0] as Database, claiming);
  assert.equal(claimed.length, subjects * each);
  return claimed;
}
const within = (job: Letter, jobsMax: number, afterMs = 0) => ({
  job,
  limit: { subject: job.recipient, jobsMax, afterMs },
});
const countBy = (letters: Letter[]) => Map.groupBy(letters, ({ recipient }) => recipient);

test("replicas that start jobs of the same subjects at one moment start as many as the limit says", async () => {
  const letters = await lettersOf({ subjects: SUBJECTS, each: JOBS_OF_EACH });
  // Each replica has two jobs of each subject, and asks in an order of its own.
  const held = replicas.map((_, replica) =>
    [...countBy(letters).values()].flatMap((some) => some.slice(2 * replica, 2 * replica + 2)),
  );
  held[1]?.reverse();
  const answers = await Promise.all(
    replicas.map((database, replica) =>
      starts.beginLimited(
        database,
        (held[replica] ?? []).map((job) => within(job, 3)),
      ),
    ),
  );
  const begun = countBy(answers.flatMap((answer) => [...answer.begun]));
  const limited = countBy(answers.flatMap((answer) => [...answer.limited]));
  for (let subject = 1; subject <= SUBJECTS; subject += 1)
    assert.deepEqual([begun.get(subject)?.length, limited.get(subject)?.length], [3, 3]);
});

test("jobs that took effect before the moment, and those of another kind, leave room", async () => {
  await query("delete from jobs");
  const [old] = await lettersOf({ subjects: 1, each: 1 });
  const [other] = await lettersOf({ subjects: 1, each: 1, priority: 1 });
  const [database] = replicas as [Database];
  await starts.begin(database, [old, other] as Letter[]);
  const [next] = await lettersOf({ subjects: 1, each: 1 });
  const answer = (jobsMax: number, afterMs: number) =>
    starts.beginLimited(database, [within(next as Letter, jobsMax, afterMs)]);
  assert.deepEqual(
    [(await answer(1, 0)).limited.size, (await answer(0, Date.now() + 60_000)).limited.size],
    [1, 1],
  );
  assert.equal((await answer(1, Date.now() + 60_000)).begun.size, 1);
});

test("a job that another worker has, or whose subject is another one now, is neither begun nor limited", async () => {
  await query("delete from jobs");
  const [moved, taken] = (await lettersOf({ subjects: 2, each: 1 })) as [Letter, Letter];
  await query(`update jobs set fair_group = 9 where id = ${moved.id}`);
  await query(`update jobs set lease_token = lease_token + 1 where id = ${taken.id}`);
  const { begun, limited } = await starts.beginLimited(replicas[0] as Database, [
    within(moved, 5),
    within(taken, 5),
  ]);
  assert.deepEqual([begun.size, limited.size], [0, 0]);
});

test("no transaction of these starts was ended by a deadlock", async () => {
  await Promise.all(replicas.map((database) => database.close()));
  assert.equal(await countDeadlocks(testDatabase), 0);
});
