import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMilliseconds } from "@tidings/database/timestamp";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { CarryOutCommandsResponseSchema } from "@tidings/proto/tidings/contact/v1/command";
import { ContactDeletedSchema, ContactMergedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { FormSubmittedSchema } from "@tidings/proto/tidings/content/v1/events";
import { ListSubmissionsRequestSchema } from "@tidings/proto/tidings/content/v1/submission";
import { Code, Fault } from "@tidings/rpc/fault";
import { callAs, type FormScene, formScene, submissionOf, updateOf } from "../testing/form-scene.ts";
import { contactsOfSubmissions } from "./upkeep.ts";

let scene: FormScene;
before(async () => {
  scene = await formScene();
});
after(() => scene.close());

const FIELDS = [
  { label: "Email", type: "email", isRequired: true },
  { label: "Colour", type: "text" },
  { label: "Send", type: "button" },
];
const MAIL = { email: "ada@example.com" };

const isFault = (code: Code, message: RegExp) => (error: unknown) =>
  error instanceof Fault && error.code === code && message.test(error.message);
const submit = async (formId: number, values: object, members: object = {}) =>
  scene.submissions.submitForm(submissionOf(formId, values, members), callAs());
const listed = async (formId: number, query: object = {}, members: object = {}) =>
  scene.submissions.listSubmissions(
    create(ListSubmissionsRequestSchema, { formId, query: { pageSize: 30, ...query }, ...members }),
    callAs(),
  );
const stored = async (formId: number) =>
  scene.query("select id, contact_id from form_submissions where form_id = $1 order by id", [formId]);

/** Does what there is to do, until a day passes. */
async function upkeep(jobs = scene.upkeep): Promise<void> {
  for (;;) {
    const outcome = await stepJobs(jobs);
    if (!outcome) return;
    assert.ok(outcome.state === "done" || outcome.state === "again", JSON.stringify(outcome));
  }
}

test("a submission is one row and one event, however often it is sent with the same key", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const request = submissionOf(id, MAIL, { contactId: 7 });
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => scene.submissions.submitForm(request, callAs())),
  );
  const ids = new Set(answers.map(({ submissionId }) => submissionId));
  assert.equal(ids.size, 1);
  assert.deepEqual(await stored(id), [{ id: String([...ids][0]), contact_id: "7" }]);
  await scene.rows.update(updateOf(id, { isPublished: false }, ["is_published"]), callAs());
  assert.equal((await scene.submissions.submitForm(request, callAs())).submissionId, [...ids][0]);
  await upkeep(scene.following());
  const events = await scene.query(
    "select encode(payload, 'hex') as payload from outbox where subject = 'tidings.content.form.submitted' and aggregate_id = $1",
    [[...ids][0]],
  );
  const told = events.map(({ payload }) =>
    fromBinary(FormSubmittedSchema, Buffer.from(payload ?? "", "hex")),
  );
  assert.deepEqual(
    told.map(({ submissionId, contactId, formId }) => [submissionId, contactId, formId]),
    [[request.key, 7, id]],
  );
});

test("an action that fails for good is recorded with its reason; those after it and the event are not lost", async () => {
  const { id } = await scene.add({
    fields: [{ label: "Colour", type: "text" }],
    actions: [
      { name: "Breaks", type: "lead.pointschange", order: 1 },
      { name: "Works", type: "lead.scorecontactscompanies", order: 2 },
    ],
  });
  const request = submissionOf(id, { colour: "red" }, { contactId: 7 });
  await scene.submissions.submitForm(request, callAs());
  const following = scene.following({
    carryOutCommands: async ({ commands = [] }) => {
      if (commands.some(({ effect }) => effect?.case === "points"))
        throw new Fault({ code: Code.INTERNAL, reason: "INTERNAL", message: "It broke." });
      const outcomes = commands.map(({ contactId = 0 }) => ({
        reason: "",
        message: "",
        contactId,
        isFound: false,
        isApart: false,
      }));
      return create(CarryOutCommandsResponseSchema, { outcomes });
    },
  });
  const states: string[] = [];
  for (let outcome = await stepJobs(following); outcome; outcome = await stepJobs(following)) {
    states.push(outcome.state);
    await scene.query("update jobs set due_at = now() where kind = 'form_submission'");
  }
  assert.deepEqual(states, ["again", ...Array(9).fill("failed"), "again", "done"]);
  const outcomes = await scene.query(
    "select type, state, reason from form_action_outcomes where submission_key = $1 order by action_id",
    [request.key],
  );
  assert.deepEqual(outcomes, [
    { type: "lead.pointschange", state: "failed", reason: "It broke." },
    { type: "lead.scorecontactscompanies", state: "done", reason: null },
  ]);
  const [events] = await scene.query(
    `select count(*) from outbox o join form_submissions s on s.id = o.aggregate_id
     where o.subject = 'tidings.content.form.submitted' and s.form_id = $1`,
    [id],
  );
  assert.equal(events?.count, "1");
});

test("a bad submission is answered with messages by alias, and nothing is stored", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  await assert.rejects(
    submit(id, { email: "ada@" }),
    isFault(Code.INVALID_ARGUMENT, /^email: The email is invalid\.$/),
  );
  await assert.rejects(submit(id, {}), isFault(Code.INVALID_ARGUMENT, /'Email' is required/));
  await assert.rejects(submit(id, MAIL, { key: "1" }), isFault(Code.INVALID_ARGUMENT, /UUID/));
  for (const values of ["text", 1, [1]])
    await assert.rejects(submit(id, values as never), isFault(Code.INVALID_ARGUMENT, /values/));
  assert.deepEqual(await stored(id), []);
});

test("a form takes nothing while it is not there, not published, not yet, or no more", async () => {
  const day = (days: number) => timestampFromMilliseconds(Date.now() + days * 86_400_000);
  const unpublished = await scene.add({ isPublished: false });
  const pending = await scene.add({ publishUp: day(1) });
  const expired = await scene.add({ publishDown: day(-1) });
  for (const [id, message] of [
    [2_000_000_000, /no longer available/],
    [unpublished.id, /no longer available/],
    [pending.id, /from \d{4}-\d\d-\d\d/],
    [expired.id, /until \d{4}-\d\d-\d\d/],
  ] as const)
    await assert.rejects(submit(id, {}), isFault(Code.FAILED_PRECONDITION, message));
});

test("lists show the submissions of their form, by date, by any column and by what was sent", async () => {
  const { id } = await scene.add({ name: "Shown", fields: FIELDS });
  const other = await scene.add({ fields: FIELDS });
  for (const [colour, contactId, ip] of [
    ["b", 1, "192.0.2.2"],
    ["c", 2, "192.0.2.3"],
    ["a", 1, "192.0.2.1"],
  ] as const)
    await submit(id, { ...MAIL, colour }, { contactId, ip });
  await submit(other.id, MAIL, { contactId: 1 });
  const colours = async (query: object, members: object = {}) => {
    const { submissions = [], totalSize } = await listed(id, query, members);
    const texts = submissions.map(({ results }) => JSON.parse(Buffer.from(results ?? []).toString()).colour);
    return [texts.join(""), totalSize];
  };
  const by = (column: string, descending = false) => ({ order: [{ column, descending }] });
  assert.deepEqual(await colours({}), ["bca", 3]);
  assert.deepEqual(await colours({ pageSize: 1, skip: 1 }), ["c", 3]);
  assert.deepEqual(await colours(by("s.date_submitted", true)), ["acb", 3]);
  assert.deepEqual(await colours(by("r.colour")), ["abc", 3]);
  assert.deepEqual(await colours(by("i.ip", true)), ["cba", 3]);
  assert.deepEqual(await colours({}, { contactId: 1 }), ["ba", 2]);
  assert.deepEqual(await colours({ where: [{ column: "r.colour", expr: "gt", values: ["a"] }] }), ["bc", 2]);
  assert.deepEqual(await colours({ search: "192.0.2.3" }), ["c", 1]);
  for (const column of ["r.send", "r.nothing", "results", "s.results; drop table forms"])
    await assert.rejects(colours(by(column)), isFault(Code.INVALID_ARGUMENT, /Unknown column/));
});

test("results stay with their field when its alias changes", async () => {
  const { id, fields } = await scene.add({ fields: FIELDS });
  const { submissionId = 0 } = await submit(id, { ...MAIL, colour: "red" });
  const colour = { id: fields[1]?.id ?? 0, alias: "shade" };
  await scene.rows.update(
    updateOf(id, { fields: [colour, { label: "New", type: "text" }] }, ["fields"]),
    callAs(),
  );
  const one = await scene.submissions.getSubmission(
    { $typeName: "tidings.content.v1.GetSubmissionRequest", formId: id, id: submissionId },
    callAs(),
  );
  assert.deepEqual(JSON.parse(Buffer.from(one.results ?? []).toString()), {
    form_id: String(id),
    ...MAIL,
    shade: "red",
    new: null,
  });
});

test("the submissions of a form that is deleted go, and no others", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const other = await scene.add({ fields: FIELDS });
  await scene.query(
    `insert into form_submissions (key, form_id, ip, date_submitted, results)
     select gen_random_uuid(), $1, '192.0.2.1', now() - n % 3 * interval '1 day', '{}' from generate_series(1, 11000) n`,
    [id],
  );
  await submit(other.id, MAIL);
  await scene.rows.delete(id, callAs());
  await upkeep();
  assert.deepEqual(await stored(id), []);
  assert.equal((await stored(other.id)).length, 1);
});

test("submissions of a merged contact move, those of a deleted one go, whatever comes twice", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  for (const contactId of [101, 102, 103]) await submit(id, MAIL, { contactId });
  const event = (subject: string, aggregateId: number, payload = new Uint8Array()) => ({
    id: "",
    subject: `tidings.contact.contact.${subject}`,
    aggregateId,
    aggregateVersion: 2,
    time: new Date().toISOString(),
    traceparent: undefined,
    actor: undefined,
    payload,
  });
  const mergedInto = (mergedIntoId: number) =>
    toBinary(ContactMergedSchema, create(ContactMergedSchema, { mergedIntoId }));
  const first = [
    event("merged", 102, mergedInto(101)),
    event("deleted", 102),
    event("merged", 101, mergedInto(103)),
    event("deleted", 101),
  ];
  const keep = (some: typeof first) =>
    scene.database.transaction(Date.now() + 20_000, (transaction) =>
      contactsOfSubmissions.keep(transaction, some),
    );
  // The deletion names the survivor, and may arrive before the merge.
  const inBoth = toBinary(ContactDeletedSchema, create(ContactDeletedSchema, { mergedIntoId: 101 }));
  await keep([event("deleted", 102, inBoth)]);
  await upkeep();
  await keep(first);
  await keep(first);
  await upkeep();
  assert.deepEqual(
    (await stored(id)).map((row) => row.contact_id),
    ["103", "103", "103"],
  );
  // In batches of their own: the one after the other, before anything was done.
  for (const one of [event("merged", 103, mergedInto(99)), event("deleted", 103), event("deleted", 99)])
    await keep([one]);
  await upkeep();
  assert.deepEqual(await stored(id), []);
});

test("a caller who may not see a form sees none of its submissions", async () => {
  const { id } = await scene.add({ fields: FIELDS });
  const { submissionId = 0 } = await submit(id, MAIL);
  const stranger = { ...callAs({ "form:forms": ["viewown"] }) };
  stranger.actor = { ...stranger.actor, id: 2 };
  const request = create(ListSubmissionsRequestSchema, { formId: id });
  await assert.rejects(
    scene.submissions.listSubmissions(request, stranger) as Promise<unknown>,
    isFault(Code.NOT_FOUND, /./),
  );
  const other = await scene.add({});
  const elsewhere = {
    $typeName: "tidings.content.v1.GetSubmissionRequest" as const,
    formId: other.id,
    id: submissionId,
  };
  await assert.rejects(
    scene.submissions.getSubmission(elsewhere, callAs()) as Promise<unknown>,
    isFault(Code.NOT_FOUND, /./),
  );
});

test("there is a partition for this month and the next ones, and a place for everything else", async () => {
  await upkeep();
  const { id } = await scene.add({ fields: FIELDS });
  await scene.query(
    `insert into form_submissions (key, form_id, ip, date_submitted, results)
     select gen_random_uuid(), $1, '192.0.2.1', now() + n * interval '1 month', '{}' from generate_series(-60, 60, 30) n`,
    [id],
  );
  const rows = await scene.query(
    "select tableoid::regclass::text as partition from form_submissions where form_id = $1 order by date_submitted",
    [id],
  );
  const now = new Date().toISOString().slice(0, 7).replace("-", "_");
  const rest = "form_submissions_rest";
  assert.deepEqual(
    rows.map(({ partition }) => partition),
    [rest, rest, `form_submissions_${now}`, rest, rest],
  );
});

test("a company that was chosen by its id is kept by its name; a name that was typed is another company's", async () => {
  const lookup = {
    label: "Company",
    type: "companyLookup",
    mappedObject: "company",
    mappedField: "companyname",
  };
  const { id } = await scene.add({ fields: [lookup] });
  scene.companies.set(12, "Analytical Engines");
  for (const [sent, name] of [
    ["12", "Analytical Engines"],
    ["13", "13"],
    ["Difference & Sons", "Difference & Sons"],
  ] as const) {
    const { results, companyValues } = await submit(id, { company: sent });
    assert.deepEqual(JSON.parse(Buffer.from(results ?? []).toString()), { company: name });
    assert.deepEqual(JSON.parse(Buffer.from(companyValues ?? []).toString()), { companyname: name });
  }
});

test("a required field counts only where it was shown: not for a known value, nor before its submission", async () => {
  const { id } = await scene.add({
    fields: [
      { label: "Email", type: "email", isRequired: true, mappedField: "email", showWhenValueExists: false },
      { label: "Why", type: "text", isRequired: true, showAfterXSubmissions: 1 },
    ],
  });
  await assert.rejects(
    submit(id, {}),
    isFault(Code.INVALID_ARGUMENT, /.*/),
    "a stranger is asked for the email",
  );
  scene.contacts.set(70, { email: "ada@example.com" });
  await submit(id, {}, { contactId: 70 });
  await assert.rejects(submit(id, {}, { contactId: 70 }), isFault(Code.INVALID_ARGUMENT, /Why/));
  await submit(id, { why: "So" }, { contactId: 70 });
});

test("a form that asks for it takes no address that is blocked", async () => {
  const field = (validation: object) => ({
    ...FIELDS[0],
    validation: Buffer.from(JSON.stringify(validation)),
  });
  const { id } = await scene.add({
    fields: [field({ donotsubmit: 1, donotsubmit_validationmsg: "Not you" })],
  });
  await assert.rejects(submit(id, { email: "Ada@SPAM.example" }), isFault(Code.INVALID_ARGUMENT, /Not you/));
  await submit(id, MAIL);
  const other = await scene.add({ fields: [field({})] });
  await submit(other.id, { email: "ada@spam.example" });
});
