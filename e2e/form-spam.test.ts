import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { FIRST_FIELD, MAIL_FIELD } from "./form-fields.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Machines and hurried hands at forms: what they send is answered as any other, and has no effect until somebody releases it. */

const stack = await startVisitedStack({ env: { content: { FORM_BLOCKED_IPS: "203.0.113.0/24" } } });
after(() => stack.stop());
const { api, baseUrl, query } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
type Browser = ReturnType<typeof visitor>;
const newForm = async (members: object = {}): Promise<Any> => {
  const { status, text, body } = await api("POST", "forms/new", {
    name: "Sign up",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Thanks, {formfield=first}",
    fields: [
      MAIL_FIELD,
      { ...FIRST_FIELD, label: "Name" },
      { label: "Leave empty", alias: "trap", type: "captcha" },
    ],
    actions: [{ name: "Points", type: "lead.pointschange", properties: { operator: "plus", points: 7 } }],
    ...members,
  });
  assert.ok(status < 300, text);
  return (body as Any).form;
};

const send = (
  browser: Browser,
  id: number,
  values: Record<string, string>,
  { path = "/form/submit/ajax", headers = {} }: { path?: string; headers?: Record<string, string> } = {},
) =>
  browser.ask(`${path}?formId=${id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(
      Object.entries(values).map(([name, value]) => [`svcform[${name}]`, value] as [string, string]),
    ).toString(),
  });

const contactOf = async (email: string): Promise<Any> => {
  const { body } = await api("GET", `contacts?search=email:${email}`);
  return Object.values((body as Any).contacts)[0];
};
const submissionsOf = async (id: number, parameters = ""): Promise<Any> => {
  const { status, text, body } = await api("GET", `forms/${id}/submissions${parameters}`);
  assert.equal(status, 200, text);
  return body;
};
const eventsOf = async (submissionId: number) =>
  (
    await query(
      `select 1 from content.outbox where subject = 'tidings.content.form.submitted' and aggregate_id = ${submissionId}`,
    )
  ).length;
/** All submissions so far are followed up. */
const followed = () =>
  eventually(async () => {
    const open = await query("select from content.jobs where kind = 'form_submission'");
    assert.equal(open.length, 0);
  });
const release = (formId: number, id: number) => api("POST", `forms/${formId}/submissions/${id}/release`);

test("a filled trap is answered exactly as a good submission, and has no effect", async () => {
  const form = await newForm();
  const shownTo = async (trap: string, mail: string) => {
    const browser = visitor(baseUrl);
    const values = { mail, first: "Ada", ...(trap && { [trap]: "https://spam.example" }) };
    const { status, json, headers } = await send(browser, form.id, values);
    const { headers: moved } = await send(
      browser,
      form.id,
      { ...values, mail: `2${mail}` },
      { path: "/form/submit" },
    );
    const message = await browser.ask(String(moved.location));
    const names = Object.keys(headers).toSorted();
    const id = browser.cookies.get("mtc_id");
    const seen = await browser.hit({ page_url: "https://shop.example/later" });
    assert.equal(String(seen.json.id), id, "the id that was shown stays");
    return [status, JSON.stringify(json).replaceAll(mail, "MAIL"), names, message.status, message.text];
  };
  const good = await shownTo("", "good@spam.example");
  for (const [trap, mail] of [
    ["more-details", "trap@spam.example"],
    ["trap", "captcha@spam.example"],
  ] as const) {
    assert.deepEqual(await shownTo(trap, mail), good, trap);
    assert.equal(await contactOf(mail), undefined);
  }
  await followed();
  const { total } = await submissionsOf(form.id);
  assert.equal(total, "2", "the good ones alone");
  const spam = await submissionsOf(form.id, "?spam=1");
  assert.equal(spam.total, "4");
  assert.deepEqual(
    [spam.submissions[0].isSpam, spam.submissions[0].spamReason, spam.submissions[0].lead],
    [true, "trap", null],
  );
  for (const { id } of spam.submissions) assert.equal(await eventsOf(id), 0);
  const { body } = await api("GET", `forms/${form.id}/submissions/${spam.submissions[0].id}`);
  assert.equal((body as Any).submission.spamReason, "trap");
});

test("released spam has its contact, event and actions once, released twice or by eight at once", async () => {
  const form = await newForm();
  const browser = visitor(baseUrl);
  await send(browser, form.id, { mail: "released@spam.example", first: "Rel", trap: "x" });
  const shownId = Number(browser.cookies.get("mtc_id"));
  const [spam] = (await submissionsOf(form.id, "?spam=1")).submissions;
  const answers = await Promise.all(Array.from({ length: 8 }, () => release(form.id, spam.id)));
  answers.push(await release(form.id, spam.id));
  const key = { "idempotency-key": crypto.randomUUID() };
  for (let times = 0; times < 2; times += 1)
    answers.push(await api("POST", `forms/${form.id}/submissions/${spam.id}/release`, undefined, key));
  for (const { status, body } of answers)
    assert.deepEqual([status, (body as Any).submission.isSpam], [200, false]);
  await followed();
  const contact = await contactOf("released@spam.example");
  assert.deepEqual(
    [contact.id, contact.points, contact.fields.all.firstname],
    [shownId, 7, "Rel"],
    "the contact has the id that its sender was shown",
  );
  assert.equal(await eventsOf(spam.id), 1);
  const { total, submissions } = await submissionsOf(form.id);
  assert.deepEqual([total, submissions[0].id, submissions[0].lead.id], ["1", spam.id, contact.id]);
  assert.equal(submissions[0].dateSubmitted, spam.dateSubmitted);
  assert.equal((await submissionsOf(form.id, "?spam=1")).total, "0");
  assert.equal((await release(form.id, 2_000_000_000)).status, 404);
});

test("spam goes with the person who is erased: what their browsers sent, and what was sent with their address", async () => {
  const form = await newForm();
  const [gone, stays] = [visitor(baseUrl), visitor(baseUrl)];
  for (const [browser, mail] of [
    [gone, "erased@spam.example"],
    [stays, "stays@spam.example"],
  ] as const)
    await send(browser, form.id, { mail });
  await followed();
  const contact = await contactOf("erased@spam.example");
  const trapped = (browser: Browser, mail: string) => send(browser, form.id, { mail, trap: "x" });
  await trapped(gone, "another@spam.example");
  await trapped(stays, "stays@spam.example");
  // Known once its first spam was there already.
  const later = visitor(baseUrl);
  await trapped(later, "later@spam.example");
  await trapped(visitor(baseUrl), "Erased@Spam.example");
  const left = async () => (await query(`select 1 from content.form_spam where form_id = ${form.id}`)).length;
  assert.equal(await left(), 4);
  assert.equal((await api("DELETE", `contacts/${contact.id}/delete`)).status, 200);
  await eventually(async () => assert.equal(await left(), 2));
  const { json } = await later.hit({ page_url: "https://shop.example/later" });
  await eventually(async () => assert.equal((await api("GET", `contacts/${json.id}`)).status, 200));
  assert.equal((await api("DELETE", `contacts/${json.id}/delete`)).status, 200);
  await eventually(async () => assert.equal(await left(), 1));
});

test("a form that is sent right after it was shown is spam where no browser sent it, and else is not", async () => {
  const form = await newForm();
  const shownAt = async (browser: Browser) => {
    const { text } = await browser.ask(`/form/${form.id}`);
    return /name="svcform\[shown-at\]"[^>]* value="([^"]+)"/.exec(text)?.[1] ?? "";
  };
  const sentAs = async (mail: string, members: Record<string, string>, headers: Record<string, string>) => {
    const browser = visitor(baseUrl);
    const token = { "shown-at": await shownAt(browser), ...members };
    assert.equal((await send(browser, form.id, { mail, ...token }, { headers })).json.success, 1);
    await followed();
    return (await contactOf(mail)) !== undefined;
  };
  assert.equal(await sentAs("script@hurry.example", {}, {}), false);
  assert.equal(await sentAs("browser@hurry.example", {}, { origin: "https://shop.example" }), true);
  assert.equal(await sentAs("forged@hurry.example", { "shown-at": "forged" }, {}), true);
  assert.equal(await sentAs("program@hurry.example", { "shown-at": "" }, { "user-agent": "curl/8" }), true);
  assert.match((await api("GET", `forms/${form.id}`)).text, /more-details/);
  assert.doesNotMatch((await api("GET", `forms/${form.id}`)).text, /shown-at/);
});

test("every submission from FORM_BLOCKED_IPS is spam", async () => {
  const form = await newForm();
  const headers = { "x-forwarded-for": "203.0.113.9" };
  assert.equal(
    (await send(visitor(baseUrl), form.id, { mail: "b@spam.example" }, { headers })).json.success,
    1,
  );
  const [spam] = (await submissionsOf(form.id, "?spam=1")).submissions;
  assert.equal(spam.spamReason, "blocked_address");
});

test("the same values of one device within ten seconds are one submission, 64 at once too", async () => {
  const form = await newForm();
  const browser = visitor(baseUrl);
  await browser.hit({ page_url: "https://shop.example/" });
  const values = { mail: "same@forms.example", first: "Sam" };
  const answers = await Promise.all(Array.from({ length: 64 }, () => send(browser, form.id, values)));
  for (const { json } of answers) assert.equal(json.success, 1);
  await followed();
  const { total, submissions } = await submissionsOf(form.id);
  assert.equal(total, "1");
  assert.equal(await eventsOf(submissions[0].id), 1);
  assert.equal((await contactOf("same@forms.example")).points, 7);

  await send(browser, form.id, { ...values, first: "Samuel" });
  const other = visitor(baseUrl);
  await other.hit({ page_url: "https://shop.example/" });
  await send(other, form.id, values);
  await send(browser, form.id, { ...values, submissionKey: crypto.randomUUID() });
  assert.equal((await submissionsOf(form.id)).total, "4", "other values, another device, a key of its own");
  await query("update content.form_submission_prints set date_added = date_added - interval '10 seconds'");
  await send(browser, form.id, values);
  assert.equal((await submissionsOf(form.id)).total, "5", "ten seconds later");
});

test("values that were taken are answered as taken when they come again at once, although the form is closed meanwhile", async () => {
  const form = await newForm();
  const browser = visitor(baseUrl);
  const values = { mail: "again@forms.example", first: "Ann" };
  await browser.hit({ page_url: "https://shop.example/" });
  const first = await send(browser, form.id, values);
  assert.equal(first.json.success, 1);
  await api("PATCH", `forms/${form.id}/edit`, { isPublished: false });
  assert.deepEqual((await send(browser, form.id, values)).json, first.json);
  const refused = await send(browser, form.id, { ...values, first: "Anna" });
  assert.equal(refused.json.success, 0);
  assert.equal((await submissionsOf(form.id)).total, "1");
});
