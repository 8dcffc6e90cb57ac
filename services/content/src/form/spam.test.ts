import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { stepJobs } from "@tidings/jobs/run-jobs";
import {
  ListSubmissionsRequestSchema,
  ReleaseSubmissionRequestSchema,
} from "@tidings/proto/tidings/content/v1/submission";
import { repairTotals } from "@tidings/resource/totals";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { callAs, type FormScene, formScene, submissionOf } from "../testing/form-scene.ts";
import { SPAM_TOTAL } from "./spam.ts";

let scene: FormScene;
before(async () => {
  scene = await formScene();
});
after(() => scene.close());

const FIELDS = [
  { label: "Colour", type: "text" },
  { label: "Leave empty", alias: "trap", type: "captcha" },
];
const spam = (formId: number, colour = "red") =>
  scene.submissions.submitForm(submissionOf(formId, { colour, trap: "x" }), callAs());
const listed = async (formId: number, query: object = {}, isSpam = true) => {
  const request = create(ListSubmissionsRequestSchema, {
    formId,
    spam: isSpam,
    query: { pageSize: 30, ...query },
  });
  return scene.submissions.listSubmissions(request, callAs());
};
const release = async (formId: number, id: number, call: Call = callAs()) =>
  scene.submissions.releaseSubmission(create(ReleaseSubmissionRequestSchema, { formId, id }), call);
const isFault = (code: Code) => (error: unknown) => error instanceof Fault && error.code === code;
const upkeep = async () => {
  for (let outcome = await stepJobs(scene.upkeep); outcome; outcome = await stepJobs(scene.upkeep))
    assert.ok(outcome.state === "done" || outcome.state === "again", JSON.stringify(outcome));
};

test("spam is listed apart, with its reason, by the same orders and searches", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  for (const colour of ["b", "c", "a"]) await spam(id, colour);
  await scene.submissions.submitForm(submissionOf(id, { colour: "good" }), callAs());
  const colours = async (query: object, isSpam = true) => {
    const { submissions = [], totalSize } = await listed(id, query, isSpam);
    const texts = submissions.map(({ results }) => JSON.parse(Buffer.from(results ?? []).toString()).colour);
    return [texts.join(""), totalSize];
  };
  assert.deepEqual(await colours({}), ["bca", 3]);
  assert.deepEqual(await colours({ order: [{ column: "r.colour" }] }), ["abc", 3]);
  assert.deepEqual(await colours({ where: [{ column: "r.colour", expr: "gt", values: ["a"] }] }), ["bc", 2]);
  assert.deepEqual(await colours({ search: "c" }), ["c", 1]);
  assert.deepEqual(await colours({ search: "192.0.2.1", pageSize: 1, skip: 1 }), ["c", 3]);
  assert.deepEqual(await colours({}, false), ["good", 1]);
  const { submissions: [first] = [] } = await listed(id);
  assert.deepEqual([first?.isSpam, first?.spamReason], [true, "trap"]);
});

test("spam plans nothing and has no device, and the same key again is answered as the first", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const request = submissionOf(id, { colour: "red", trap: "x" });
  const first = await scene.submissions.submitForm(request, callAs());
  const again = await scene.submissions.submitForm(request, callAs());
  assert.equal(again.submissionId, first.submissionId);
  assert.deepEqual(await scene.query("select 1 from form_submissions where form_id = $1", [id]), []);
  assert.deepEqual(await scene.query("select 1 from jobs where payload ->> 'formId' = $1", [String(id)]), []);
  assert.equal((await listed(id)).totalSize, 1);
});

test("spam that is released by several at once is one good submission with one job, and stays it", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const { submissionId = 0 } = await spam(id);
  const answers = await Promise.all(Array.from({ length: 8 }, () => release(id, submissionId)));
  answers.push(await release(id, submissionId));
  assert.deepEqual([...new Set(answers.map((one) => `${one.id} ${one.isSpam}`))], [`${submissionId} false`]);
  const rows = await scene.query("select id from form_submissions where form_id = $1", [id]);
  assert.deepEqual(rows, [{ id: String(submissionId) }]);
  const jobs = await scene.query(
    "select 1 from jobs where kind = 'form_submission' and payload ->> 'formId' = $1",
    [String(id)],
  );
  assert.equal(jobs.length, 1);
  assert.equal((await listed(id)).totalSize, 0);
});

test("releasing takes the right to edit the form, and a submission of that form", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const other = await scene.add({ fields: FIELDS });
  const { submissionId = 0 } = await spam(id);
  const viewer = callAs({ "form:forms": ["viewother"] });
  const stranger = callAs({ "form:forms": ["viewother", "editown"] });
  await assert.rejects(release(id, submissionId, viewer), isFault(Code.PERMISSION_DENIED));
  await assert.rejects(
    release(id, submissionId, { ...stranger, actor: { ...stranger.actor, id: 2 } }),
    isFault(Code.PERMISSION_DENIED),
  );
  await assert.rejects(release(other.id, submissionId), isFault(Code.NOT_FOUND));
  await assert.rejects(release(id, 2_000_000_000), isFault(Code.NOT_FOUND));
  assert.equal((await listed(id)).totalSize, 1);
});

test("spam goes with its form, and after its days; its total is what counting says", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const other = await scene.add({ fields: FIELDS });
  for (const formId of [id, other.id, other.id]) await spam(formId);
  await scene.query(
    `update form_spam set date_submitted = now() - interval '31 days'
     where id = (select min(id) from form_spam where form_id = $1)`,
    [other.id],
  );
  await scene.query("update jobs set due_at = now() where kind = 'form_submission_upkeep'");
  await scene.rows.delete(id, callAs());
  await upkeep();
  const left = await scene.query("select form_id from form_spam where form_id in ($1, $2)", [id, other.id]);
  assert.deepEqual(left, [{ form_id: String(other.id) }]);
  assert.equal(await repairTotals(scene.database, [SPAM_TOTAL], createLog("test", "silent")), 0);
});

test("a list that no index serves looks at the latest 100,000 submissions of a form, unless a date is asked for", async () => {
  const { id, fields } = await scene.add({ fields: FIELDS });
  await scene.query(
    `insert into form_submissions (key, form_id, ip, date_submitted, results)
     select gen_random_uuid(), $1, '192.0.2.1', now() - n * interval '1 second',
       json_build_object($2::text, case when n > 100000 then 'a' else 'b' end) from generate_series(1, 100002) n`,
    [id, String(fields[0]?.id)],
  );
  const total = async (query: object) => (await listed(id, query, false)).totalSize;
  const byColour = { order: [{ column: "r.colour" }] };
  assert.equal(await total(byColour), 100_000);
  assert.equal(await total({}), 100_002);
  assert.equal(await total({ search: "192.0.2" }), 100_000);
  assert.equal(await total({ where: [{ column: "r.colour", expr: "eq", values: ["a"] }] }), 0);
  const ever = { column: "s.date_submitted", expr: "gt", values: ["2000-01-01 00:00:00"] };
  assert.equal(await total({ where: [{ column: "r.colour", expr: "eq", values: ["a"] }, ever] }), 2);
  const { submissions = [] } = await listed(id, { ...byColour, pageSize: 1 }, false);
  assert.match(Buffer.from(submissions[0]?.results ?? []).toString(), /"colour":"b"/);
});
