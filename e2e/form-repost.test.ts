import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { type Answer, type ReceivedRequest, startReceiver } from "@tidings/testkit/receiver";
import { FIRST_FIELD } from "./form-fields.ts";
import { make } from "./people.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Submissions that a form posts to another one, which answers them. */

const stack = await startVisitedStack({ env: { content: { OUTBOUND_ALLOW_CIDRS: "127.0.0.1/32" } } });
const answers = new Map<string, Answer>();
const receiver = await startReceiver({ respond: ({ path }) => answers.get(path) ?? {} });
after(async () => {
  await stack.stop();
  await receiver.stop();
});
const { api, baseUrl, query } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
let count = 0;
/** A form that posts to a path of the receiver, which answers as given. */
async function newForm(answer: Answer, properties: object = {}, more: object = {}) {
  const path = `/other/${++count}`;
  answers.set(path, answer);
  const form: Any = await make(api, "forms", "form", {
    name: "Apply",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Thanks",
    fields: [
      { label: "Mail", alias: "mail", type: "email", mappedObject: "contact", mappedField: "email" },
      { ...FIRST_FIELD, label: "Name" },
    ],
    actions: [
      {
        name: "Post",
        type: "form.repost",
        properties: { post_url: `${receiver.url}${path}`, ...properties },
      },
      { name: "Points", type: "lead.pointschange", properties: { operator: "plus", points: 5 } },
    ],
    ...more,
  });
  const received = (): ReceivedRequest[] => receiver.requests.filter((request) => request.path === path);
  return { form, path, received };
}
const send = (form: Any, members: Record<string, string>, path = "/form/submit/ajax") =>
  visitor(baseUrl).ask(`${path}?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(
      Object.entries(members).map(([alias, value]) => [`svcform[${alias}]`, value] as [string, string]),
    ).toString(),
  });
const outcomesOf = (form: Any) =>
  query(
    `select type, state, reason from content.form_action_outcomes where form_id = ${form.id} order by action_id`,
  );
const submissionsOf = (form: Any) =>
  query(`select id from content.form_submissions where form_id = ${form.id}`);
/** Events of the submissions of a form, whether or not they were taken back. */
const eventsOf = (form: Any) =>
  query(
    `select 1 from content.outbox where subject = 'tidings.content.form.submitted' and aggregate_id in (
       select k.submission_id from content.form_submission_keys k
       join content.form_action_outcomes o on o.submission_key = k.key where o.form_id = ${form.id})`,
  );
const pointsOf = async (mail: string) => {
  const [contact] = Object.values(((await api("GET", `contacts?search=email:${mail}`)).body as Any).contacts);
  return (contact as Any)?.points;
};

test("a submission is posted once, with its values under the other form's names, the contact, the form and the header", async () => {
  const header = { authorization_header: "X-Key: s3cret", first: "given_name" };
  const { form, received } = await newForm({}, header);
  const key = randomUUID();
  const members = { mail: "once@repost.example", first: "Ada & Co", submissionKey: key };
  const all = await Promise.all(Array.from({ length: 5 }, () => send(form, members)));
  for (const { json, text } of all) assert.equal(json.success, 1, text);
  await eventually(async () => assert.equal(await pointsOf("once@repost.example"), 5));
  const [request, ...others] = received();
  assert.equal(others.length, 0);
  assert.equal(request?.method, "POST");
  assert.equal(request?.headers["x-key"], "s3cret");
  assert.equal(request?.headers["content-type"], "application/x-www-form-urlencoded");
  const body = new URLSearchParams(request?.body);
  assert.equal(body.get("mail"), "once@repost.example");
  assert.equal(body.get("given_name"), "Ada & Co");
  assert.equal(body.get("svcContact[email]"), "once@repost.example");
  assert.equal(body.get("svcForm[id]"), String(form.id));
  // The points are there a moment before their outcome is.
  await eventually(async () =>
    assert.deepEqual(await outcomesOf(form), [
      { type: "form.repost", state: "done", reason: null },
      { type: "lead.pointschange", state: "done", reason: null },
    ]),
  );
  assert.equal((await eventsOf(form)).length, 1);
});

test("a submission that the other form refuses is taken back: its visitor gets the errors, no event and no action follows", async () => {
  const violations = { violations: { given_name: ["Too <b>short</b>", "Unknown"], other: "x" } };
  const { form, received } = await newForm(
    { status: 422, body: JSON.stringify(violations) },
    { first: "given_name" },
  );
  const key = randomUUID();
  const members = { mail: "refused@repost.example", first: "A", submissionKey: key };
  const refused = await send(form, members);
  assert.deepEqual(refused.json, {
    success: 0,
    validationErrors: { first: "Too short, Unknown" },
    formName: "apply",
  });
  assert.deepEqual(await submissionsOf(form), []);
  assert.deepEqual((await send(form, members)).json, refused.json, "the same again is answered alike");
  assert.equal(received().length, 1);
  const page = await send(form, { mail: "refused@repost.example", first: "B" }, "/form/submit");
  assert.equal(page.status, 400);
  assert.match(page.text, /Too short, Unknown/);
  const outcomes = await outcomesOf(form);
  assert.deepEqual(
    outcomes.map(({ state }) => state),
    ["refused", "refused"],
  );
  assert.deepEqual(await eventsOf(form), []);
  assert.notEqual(await pointsOf("refused@repost.example"), 5);
});

test("errors that name no field are the form's own, as plain text", async () => {
  for (const [body, message] of [
    [{ error: "Closed <script>today</script>" }, "Closed today"],
    [{ errors: ["One", "Two"] }, "One, Two"],
    [{ error: true }, "The form was not accepted."],
  ] as const) {
    const { form } = await newForm({ body: JSON.stringify(body) });
    const { json } = await send(form, { mail: "a@repost.example" });
    assert.deepEqual(json, { success: 0, errorMessage: message, formName: "apply" });
  }
});

test("the other form leads the visitor on to addresses of the web alone", async () => {
  const { form } = await newForm({ body: JSON.stringify({ redirect: "https://shop.example/thanks" }) });
  assert.equal((await send(form, { mail: "r@repost.example" })).json.redirect, "https://shop.example/thanks");
  const answer = await send(form, { mail: "r@repost.example" }, "/form/submit");
  assert.deepEqual([answer.status, answer.headers.location], [302, "https://shop.example/thanks"]);
  const other = await newForm({ body: JSON.stringify({ redirect: "javascript:alert(1)" }) });
  assert.deepEqual((await send(other.form, { mail: "r@repost.example" })).json.successMessage, "Thanks");
});

test("a failure keeps the submission; redirects are not followed", async () => {
  answers.set("/private", { body: "private" });
  const failures: [answer: Answer, properties: object, state: string, reason: RegExp][] = [
    [{ status: 500, body: "x".repeat(100_000) }, {}, "refused", /answered 500/],
    [{ status: 404 }, { failure_email: "ops@repost.example" }, "refused", /answered 404/],
    [{ status: 302, headers: { location: `${receiver.url}/private` } }, {}, "refused", /answered 302/],
    [{ status: 302, headers: { location: "http://169.254.169.254/" } }, {}, "refused", /answered 302/],
    [{ drop: true }, {}, "refused", /delivery_failed/],
  ];
  for (const [answer, properties, state, reason] of failures) {
    const { form, received } = await newForm(answer, properties);
    assert.equal((await send(form, { mail: "f@repost.example" })).json.successMessage, "Thanks");
    await eventually(async () => {
      const [outcome, points] = await outcomesOf(form);
      assert.equal(outcome?.state, state);
      assert.match(String(outcome?.reason), reason);
      assert.equal(points?.state, "done", "what comes after it is done");
    });
    assert.equal((await submissionsOf(form)).length, 1);
    assert.equal((await eventsOf(form)).length, 1);
    assert.equal(received().length, 1);
  }
  assert.equal(receiver.requests.filter(({ path }) => path === "/private").length, 0);
});

test("no form posts to a private address, neither when it is saved nor by a name that leads there", async () => {
  const actions = (post_url: string) => ({
    actions: [{ name: "Post", type: "form.repost", properties: { post_url } }],
  });
  for (const url of [
    "http://10.0.0.1/",
    "http://169.254.169.254/latest",
    "http://[::1]/",
    "file:///etc/passwd",
  ]) {
    const { status } = await api("POST", "forms/new", { name: "Bad", postAction: "return", ...actions(url) });
    assert.equal(status, 400, url);
  }
  const { form } = await newForm({}, {}, actions("http://localtest.invalid/"));
  await query(
    `update content.forms set actions = jsonb_set(actions, '{0,properties,post_url}', '"http://10.1.2.3/"') where id = ${form.id}`,
  );
  assert.equal((await send(form, { mail: "p@repost.example" })).json.success, 1);
  await eventually(async () => {
    const [outcome] = await outcomesOf(form);
    assert.deepEqual(
      [outcome?.state, outcome?.reason],
      ["refused", "The other form did not answer: blocked_address."],
    );
  });
});

test("a form that does not answer in 15 s keeps the submission and is not asked again", async () => {
  const { form, received } = await newForm({ delayMs: Number.POSITIVE_INFINITY });
  const startedAt = performance.now();
  const { json } = await send(form, { mail: "slow@repost.example" });
  const tookMs = performance.now() - startedAt;
  assert.equal(json.successMessage, "Thanks");
  assert.ok(tookMs > 14_000 && tookMs < 20_000, `${tookMs} ms`);
  await eventually(
    async () => {
      const [outcome, points] = await outcomesOf(form);
      assert.match(String(outcome?.reason), /timeout/);
      assert.equal(points?.state, "done");
    },
    { timeoutMs: 40_000 },
  );
  assert.equal(received().length, 1);
});

test("a repost whose process is killed on its way is not sent again: its outcome is unknown, and the next actions follow", async () => {
  const { form, received } = await newForm({ delayMs: Number.POSITIVE_INFINITY });
  const sent = send(form, { mail: "killed@repost.example" }).catch(() => undefined);
  await eventually(() => assert.equal(received().length, 1));
  const content = stack.process("content");
  content.kill("SIGKILL");
  await content.exited;
  await sent;
  await content.restart();
  await eventually(
    async () => {
      // The lease of the dead process ends.
      await query(
        "update content.jobs set due_at = now() - interval '1 second' where kind in ('form_repost', 'form_submission') and due_at > now()",
      );
      const [outcome, points] = await outcomesOf(form);
      assert.equal(outcome?.state, "unknown");
      assert.equal(points?.state, "done");
    },
    { timeoutMs: 60_000, intervalMs: 1_000 },
  );
  assert.equal(received().length, 1);
  assert.equal((await submissionsOf(form)).length, 1);
  assert.equal((await eventsOf(form)).length, 1);
});

test("while the contact service is away the visitor is answered, and the submission is posted later", async () => {
  const { form, received } = await newForm({});
  const contact = stack.process("contact");
  contact.kill("SIGKILL");
  await contact.exited;
  const { json } = await send(form, { mail: "later@repost.example" });
  assert.equal(json.successMessage, "Thanks");
  assert.equal(received().length, 0);
  await contact.restart();
  await eventually(() => assert.equal(received().length, 1), { timeoutMs: 60_000 });
});
