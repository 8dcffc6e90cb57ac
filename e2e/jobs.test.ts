import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { JOB_OWNERS } from "@tidings/gateway/routes/jobs";
import { eventually } from "@tidings/testkit/eventually";
import { Client as DatabaseClient } from "pg";
import type { Answer, Client } from "./client.ts";
import { make, newPerson } from "./people.ts";
import { query } from "./query.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
const { api, database } = stack;
after(() => stack.stop());

const CONTACTS = 40_000;
/** A contact in the middle: a build that is held there has done some slices and has some ahead of it. */
let held = 0;
before(async () => {
  await query(
    database,
    `insert into contact.contacts (date_added) select now() from generate_series(1, ${CONTACTS})`,
  );
  const [row] = await query<{ id: number }>(database, "select max(id) as id from contact.contacts");
  held = (row?.id ?? 0) - CONTACTS / 2;
});

interface Job {
  id: string;
  kind: string;
  subject: { type: string; id: number; name: string };
  state: string;
  done: number;
  total: number | null;
  rate: number | null;
  secondsLeft: number | null;
  problem: string | null;
  result: Record<string, unknown>;
  isCancellable: boolean;
  createdByUser: string | null;
  dateStarted: string | null;
  dateEnded: string | null;
  cancelledByUser: string | null;
}

const jobIn = ({ body }: Answer) => (body as unknown as { job: Job }).job;
const jobsIn = ({ body }: Answer) => (body as unknown as { jobs: Job[] }).jobs;
const idsIn = (answer: Answer) => jobsIn(answer).map(({ id }) => id);

async function listed(query: string, client: Client = api): Promise<Job[]> {
  const answer = await client("GET", `jobs?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return jobsIn(answer);
}

const everybody = {
  glue: "and",
  object: "lead",
  field: "email",
  type: "email",
  operator: "empty",
  filter: null,
};
let count = 0;

async function newSegment(client: Client = api, others: object = {}): Promise<number> {
  const body = { name: `Everybody ${++count}`, filters: [everybody], ...others };
  return (await make(client, "segments", "list", body)).id;
}

const buildOf = async (segmentId: number, client?: Client): Promise<Job> => {
  const [job] = await listed(`kind=segment_build&subjectId=${segmentId}`, client);
  assert.ok(job, `a job about segment ${segmentId}`);
  return job;
};
const inState = (segmentId: number, state: string) =>
  eventually(
    async () => {
      const job = await buildOf(segmentId);
      assert.equal(job.state, state, JSON.stringify(job));
      return job;
    },
    { timeoutMs: 60_000 },
  );

/** Keeps the row of a contact, so that a build comes to it and no further, until it is released. */
async function holdBuilds(): Promise<{ release(): Promise<void> } & AsyncDisposable> {
  const client = new DatabaseClient({ connectionString: database.adminUrl });
  await client.connect();
  await client.query("begin");
  await client.query("select from contact.contacts where id = $1 for update", [held]);
  let release = async () => {
    release = async () => undefined;
    await client.query("rollback");
    await client.end();
  };
  return { release: () => release(), [Symbol.asyncDispose]: () => release() };
}

const waiters = async () => {
  const [row] = await query<{ count: number }>(
    database,
    "select count(*)::integer as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return row?.count;
};

/** Cancels a job whose slice is held, and lets that go once the cancellation waits for it, or did not have to. */
async function cancelHeld(
  client: Client,
  id: string,
  { release }: { release(): Promise<void> },
): Promise<Answer> {
  await eventually(async () => assert.equal(await waiters(), 1));
  let isAnswered = false;
  const cancelling = client("POST", `jobs/${id}/cancel`).finally(() => {
    isAnswered = true;
  });
  await eventually(async () => assert.ok(isAnswered || (await waiters()) === 2));
  await release();
  return cancelling;
}

test("a build shows how far it is while it is at work, and what it did at its end", async () => {
  await using hold = await holdBuilds();
  const segmentId = await newSegment();
  const running = await inState(segmentId, "running");
  assert.ok(running.done > 0 && running.done < held, JSON.stringify(running));
  assert.ok(Number(running.total) >= CONTACTS);
  assert.ok(Number(running.rate) > 0 && Number(running.secondsLeft) >= 0);
  assert.ok(running.dateStarted && !running.dateEnded);
  assert.equal(running.createdByUser, "Admin User");
  assert.deepEqual(
    [running.kind, running.subject.type, running.subject.id],
    ["segment_build", "segment", segmentId],
  );
  const build = await api("GET", `segments/${segmentId}/build`);
  assert.equal((build.body as unknown as { jobId: string }).jobId, running.id);
  await hold.release();
  const done = await inState(segmentId, "done");
  assert.equal(done.id, running.id);
  assert.equal(done.done, done.total);
  assert.deepEqual(done.result, { added: CONTACTS, removed: 0 });
  assert.ok(done.dateEnded && !done.isCancellable && done.secondsLeft === null);
});

test("a job whose worker was killed goes on where it was", async () => {
  await using hold = await holdBuilds();
  const segmentId = await newSegment();
  const { done } = await inState(segmentId, "running");
  const contact = stack.process("contact");
  contact.kill("SIGKILL");
  await contact.exited;
  await hold.release();
  // The lease of the dead worker is over: what comes afterwards need not wait for it.
  await query(database, "update contact.jobs set due_at = now() where kind = 'segment_build'");
  await contact.restart();
  await eventually(async () => assert.ok((await buildOf(segmentId)).done >= done), { timeoutMs: 30_000 });
  const ended = await inState(segmentId, "done");
  assert.deepEqual(ended.result, { added: CONTACTS, removed: 0 });
});

test("a cancelled job stops within a slice and says what it did", async () => {
  await using hold = await holdBuilds();
  const segmentId = await newSegment();
  const { id, isCancellable } = await inState(segmentId, "running");
  assert.equal(isCancellable, true);
  const answer = await cancelHeld(api, id, hold);
  assert.equal(answer.status, 200, answer.text);
  const cancelled = jobIn(answer);
  assert.equal(cancelled.state, "cancelled");
  assert.equal(cancelled.cancelledByUser, "Admin User");
  assert.ok(cancelled.done > 0 && cancelled.done < Number(cancelled.total), JSON.stringify(cancelled));
  const [members] = await query<{ count: number }>(
    database,
    `select count(*)::integer as count from contact.segment_contacts where segment_id = ${segmentId}`,
  );
  assert.deepEqual(cancelled.result, { added: members?.count, removed: 0 });
  const build = await api("GET", `segments/${segmentId}/build`);
  assert.match(build.text, /"state":"failed".*"problem":"The build was cancelled\."/);
  const again = await api("POST", `jobs/${id}/cancel`);
  assert.equal(again.status, 409, again.text);
});

test("a segment that is defined anew after its build was cancelled is built whole", async () => {
  const segmentId = await newSegment(api, { isPublished: false });
  await inState(segmentId, "done");
  assert.equal((await api("PATCH", `segments/${segmentId}/edit`, { isPublished: true })).status, 200);
  await eventually(
    async () => {
      const [latest, before] = await listed(`kind=segment_build&subjectId=${segmentId}`);
      assert.equal(latest?.state, "done");
      assert.deepEqual(latest.result, { added: CONTACTS, removed: 0 });
      assert.ok(before && before.id < latest.id);
    },
    { timeoutMs: 30_000 },
  );
});

test("work that the members of campaigns, fields and forms make necessary is a job of its kind", async () => {
  const segmentId = await newSegment();
  await inState(segmentId, "done");
  const campaign = await make(api, "campaigns", "campaign", {
    name: "Members",
    isPublished: true,
    lists: [{ id: segmentId }],
  });
  const ended = (kind: string, subjectId: number, check: (job: Job) => void) =>
    eventually(
      async () => {
        const [job] = await listed(`kind=${kind}&subjectId=${subjectId}`);
        assert.equal(job?.state, "done", `${kind} ${JSON.stringify(job)}`);
        check(job);
      },
      { timeoutMs: 60_000 },
    );
  await ended("campaign_members", campaign.id, ({ done, total }) => assert.ok(done > 0 && done === total));
  await eventually(
    async () => {
      const [row] = await query<{ count: number }>(
        database,
        `select count(*)::integer as count from campaign.campaign_contacts where campaign_id = ${campaign.id}`,
      );
      assert.equal(row?.count, CONTACTS);
    },
    { timeoutMs: 60_000 },
  );
  assert.equal((await api("DELETE", `campaigns/${campaign.id}/delete`)).status, 200);
  await ended("campaign_removal", campaign.id, ({ result, isCancellable, subject }) => {
    assert.equal(result.members, CONTACTS);
    assert.equal(isCancellable, false);
    assert.equal(subject.name, "Members");
  });
  assert.equal((await api("DELETE", `segments/${segmentId}/delete`)).status, 200);
  await ended("campaign_segment_removal", segmentId, ({ result, done, total }) => {
    assert.deepEqual(result, { members: CONTACTS });
    assert.equal(done, total);
  });
  const field = await make(api, "fields/contact", "field", {
    label: "Gone",
    alias: "gone_soon",
    type: "text",
  });
  assert.equal((await api("DELETE", `fields/contact/${field.id}/delete`)).status, 200);
  await ended("field_upkeep", field.id, ({ result }) => assert.deepEqual(result, { task: "forget" }));
  const form = await make(api, "forms", "form", { name: "Gone", formType: "standalone" });
  assert.equal((await api("DELETE", `forms/${form.id}/delete`)).status, 200);
  await ended("form_submission_upkeep", form.id, ({ result }) =>
    assert.deepEqual(result, { submissions: 0 }),
  );
  const refused = await api(
    "POST",
    `jobs/${(await listed(`kind=form_submission_upkeep&subjectId=${form.id}`))[0]?.id}/cancel`,
  );
  assert.equal(refused.status, 409, refused.text);
});

test("jobs of all services are one list, the latest first, by start and by cursor", async () => {
  const all = await api("GET", "jobs?limit=500");
  const ids = idsIn(all);
  assert.ok(new Set(jobsIn(all).map(({ kind }) => kind)).size >= 4, all.text.slice(0, 300));
  assert.equal(all.body.total, ids.length);
  assert.deepEqual(ids, ids.toSorted().reverse());
  const byStart: string[] = [];
  for (let start = 0; start < ids.length; start += 3)
    byStart.push(...idsIn(await api("GET", `jobs?limit=3&start=${start}`)));
  assert.deepEqual(byStart, ids);
  const byCursor: string[] = [];
  for (let next: string | undefined = "jobs?limit=3&cursor=&count=none"; next; ) {
    const page = await api("GET", next);
    assert.ok(!("total" in page.body));
    byCursor.push(...idsIn(page));
    next = /<\/api\/([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
  }
  assert.deepEqual(byCursor, ids);
  for (const state of ["done", "cancelled"])
    assert.ok((await listed(`state=${state}&limit=500`)).every((job) => job.state === state));
});

test("every process that keeps records of jobs is asked for them", async () => {
  const tables = await query<{ schema: string }>(
    database,
    "select table_schema as schema from information_schema.tables where table_name = 'job_records' order by 1",
  );
  assert.deepEqual(
    tables.map(({ schema }) => schema),
    JOB_OWNERS.toSorted(),
  );
});

for (const [parameters, status] of [
  ["state=lost", 400],
  ["subjectId=x", 400],
  ["subjectId=99999999999", 400],
  ["start=10001", 400],
  ["limit=501", 400],
  ["cursor=made-up", 400],
  [`kind=${"k".repeat(61)}`, 400],
  ["kind[a]=b", 400],
  ["kind=constructor", 200],
] as const)
  test(`GET jobs?${parameters.slice(0, 30)} is answered ${status}`, async () => {
    const answer = await api("GET", `jobs?${parameters}`);
    assert.equal(answer.status, status, answer.text);
  });

test("a job is shown to who may view what it is about, and cancelled by who may edit that", async () => {
  const rights = (...actions: string[]) => ({
    "lead:lists": actions,
    "lead:leads": ["viewother"],
    "api:access": ["full"],
  });
  const owner = await newPerson(stack, rights("viewown", "editown", "create"));
  const stranger = await newPerson(stack, rights("viewown", "editown"));
  const reader = await newPerson(stack, rights("viewother"));
  const outsider = await newPerson(stack, {
    "campaign:campaigns": ["viewother", "editother"],
    "api:access": ["full"],
  });
  await using hold = await holdBuilds();
  const segmentId = await newSegment(owner.api, { isGlobal: false });
  const { id } = await inState(segmentId, "running");
  for (const [client, status] of [
    [owner.api, 200],
    [reader.api, 200],
    [stranger.api, 404],
    [outsider.api, 404],
  ] as const) {
    assert.equal((await client("GET", `jobs/${id}`)).status, status);
    assert.equal(
      (await listed(`subjectId=${segmentId}&kind=segment_build`, client)).length,
      status === 200 ? 1 : 0,
    );
  }
  for (const [client, status] of [
    [reader.api, 403],
    [stranger.api, 404],
    [outsider.api, 404],
  ] as const)
    assert.equal((await client("POST", `jobs/${id}/cancel`)).status, status);
  assert.equal((await cancelHeld(owner.api, id, hold)).status, 200);
});

test("a list is refused while one of the services is away, a job of the others is still found", async () => {
  const segmentId = await newSegment();
  const { id } = await inState(segmentId, "done");
  const campaign = stack.process("campaign");
  campaign.kill("SIGKILL");
  await campaign.exited;
  assert.equal((await api("GET", "jobs")).status, 503);
  assert.equal((await api("GET", `jobs/${id}`)).status, 200);
  assert.equal((await api("GET", "jobs/01900000-0000-7000-8000-000000000000")).status, 503);
  await campaign.restart();
  await eventually(async () =>
    assert.equal((await api("GET", "jobs/01900000-0000-7000-8000-000000000000")).status, 404),
  );
});
