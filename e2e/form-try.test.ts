import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { FIRST_FIELD, MAIL_FIELD } from "./form-fields.ts";
import { newPerson } from "./people.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** A submission that is tried says what the same submission does when it is sent, and keeps nothing. */

const stack = await startVisitedStack({ env: { content: { FORM_UPDATES: "proven" } } });
after(() => stack.stop());
const { api, baseUrl, made, query } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const FIELDS = [
  { ...MAIL_FIELD, isRequired: true },
  { ...FIRST_FIELD, label: "Name" },
  { label: "Last", alias: "last", type: "text", mappedObject: "contact", mappedField: "lastname" },
  { label: "Company", alias: "firm", type: "text", mappedObject: "company", mappedField: "companyname" },
  { label: "Comment", alias: "comment", type: "text" },
  { label: "Nothing here", alias: "trap", type: "captcha" },
  { label: "Send", alias: "send", type: "button" },
];
const ACTIONS = [
  { name: "Points", type: "lead.pointschange", properties: { operator: "plus", points: 7 } },
  { name: "Tags", type: "lead.changetags", properties: { add_tags: ["tried"], remove_tags: ["old"] } },
  { name: "Mail", type: "form.email", properties: { subject: "New", to: "a@b.example", message: "x" } },
  { name: "What", type: "of.tomorrow", properties: {} },
];
const newForm = async (members: object = {}): Promise<Any> =>
  (
    await made("forms/new", {
      name: "Tried",
      isPublished: true,
      postAction: "message",
      postActionProperty: "Thanks",
      fields: FIELDS,
      actions: ACTIONS,
      ...members,
    })
  ).form;

const tryOut = async (formId: number, values: object, members: object = {}, as = api): Promise<Any> => {
  const { status, text, body } = await as("POST", `forms/${formId}/try`, { values, ...members });
  assert.equal(status, 200, text);
  return body;
};
const sendAs = (browser: ReturnType<typeof visitor>, formId: number, values: Record<string, string>) =>
  browser.ask(`/form/submit/ajax?formId=${formId}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(
      Object.entries(values).map(([name, value]) => [`svcform[${name}]`, value] as [string, string]),
    ).toString(),
  });
const followed = () =>
  eventually(async () => {
    const open = await query("select from content.jobs where kind = 'form_submission'");
    assert.equal(open.length, 0);
  });
const fieldsOf = async (id: number): Promise<Record<string, unknown>> => {
  const { status, body } = await api("GET", `contacts/${id}`);
  return status === 200 ? (body as Any).contact.fields.all : {};
};

/** The contact that a sent submission was of, and the values that it changed. */
async function outcomeOf(
  form: Any,
  values: Record<string, string>,
  { before = {}, browser = visitor(baseUrl) }: { before?: Any; browser?: Any } = {},
) {
  const { json } = await sendAs(browser, form.id, values);
  await followed();
  const [row] = await query(
    `select contact_id from content.form_submissions where form_id = ${form.id} order by id desc limit 1`,
  );
  const id = Number(row?.contact_id ?? 0);
  const after = await fieldsOf(id);
  // Points are the action's; being active is no value.
  const others = ["id", "points", "last_active"];
  const changed = Object.entries(after).filter(
    ([alias, value]) => value !== null && value !== "" && !others.includes(alias) && value !== before[alias],
  );
  return { json: json as Any, id, changes: Object.fromEntries(changed.map(([a, v]) => [a, String(v)])) };
}

/** Tries a submission, then sends it, and compares. */
async function compared(
  form: Any,
  values: Record<string, string>,
  { knownId, members }: { knownId?: number; members?: object } = {},
) {
  const before = knownId === undefined ? {} : await fieldsOf(knownId);
  const tried = await tryOut(form.id, values, members);
  const sent = await outcomeOf(form, values, { before });
  assert.equal(tried.valid, sent.json.success === 1);
  assert.equal(tried.contact.isNew, knownId === undefined);
  assert.equal(tried.contact.id, knownId ?? null);
  if (knownId !== undefined) assert.equal(sent.id, knownId);
  assert.deepEqual(tried.contact.changes, sent.changes);
  return { tried, sent };
}

test("a tried submission says what the sent one does: a new contact, one that is known, a company", async () => {
  const form = await newForm();
  const { tried } = await compared(form, { mail: "new@try.example", first: " <b>Ada</b> ", comment: "x" });
  assert.equal(tried.contact.changes.firstname, "Ada");
  assert.deepEqual(tried.fields.comment, { valid: true, message: "" });
  assert.equal(tried.fields.send, undefined);
  const { contact } = await made("contacts/new", { email: "known@try.example" });
  await compared(form, { mail: "KNOWN@try.example", first: "Kay", last: "K." }, { knownId: contact.id });
  await compared(form, { mail: "firm@try.example", firm: "New & Sons" });
  await compared(form, { mail: "firm2@try.example", firm: "New & Sons" });
});

test("FORM_UPDATES=proven: a tried submission overwrites as little as the sent one", async () => {
  const form = await newForm();
  const { contact } = await made("contacts/new", { email: "kept@try.example", firstname: "Ada" });
  const { tried } = await compared(
    form,
    { mail: "kept@try.example", first: "Eve", last: "L." },
    { knownId: contact.id },
  );
  assert.deepEqual(tried.contact.changes, { lastname: "L." });
  const proven = await tryOut(
    form.id,
    { mail: "kept@try.example", first: "Grace" },
    { contactId: contact.id },
  );
  assert.deepEqual(proven.contact, { id: contact.id, isNew: false, changes: { firstname: "Grace" } });
  const other = await tryOut(form.id, { mail: "another@try.example" }, { contactId: contact.id });
  assert.deepEqual(
    [other.contact.isNew, other.contact.id],
    [true, null],
    "another person at the same device",
  );
});

test("in kiosk mode the contact is the one that is named, whoever was there before", async () => {
  const form = await newForm({ inKioskMode: true });
  const { contact } = await made("contacts/new", { email: "kiosk@try.example" });
  await compared(form, { mail: "kiosk@try.example", last: "K." }, { knownId: contact.id });
  const before = (await made("contacts/new", { email: "before@try.example" })).contact;
  const named = await tryOut(form.id, { mail: "new.kiosk@try.example" }, { contactId: before.id });
  assert.deepEqual([named.contact.isNew, named.contact.id], [true, null]);
});

test("a submission that is not valid has its messages, and neither contact nor actions", async () => {
  const form = await newForm();
  const values = { mail: "none", first: "Ada" };
  const tried = await tryOut(form.id, values);
  const { json } = await outcomeOf(form, values);
  assert.deepEqual([tried.valid, tried.contact, tried.actions], [false, null, []]);
  assert.deepEqual({ mail: tried.fields.mail.message }, json.validationErrors);
  assert.deepEqual(tried.fields.first, { valid: true, message: "" });
  const missing = await tryOut(form.id, {});
  assert.equal(missing.fields.mail.message, "'E-mail' is required.");
  const spam = await tryOut(form.id, { mail: "spam@try.example", trap: "x" });
  assert.deepEqual([spam.valid, spam.message, spam.contact], [false, "This would be kept as spam.", null]);
  const closed = await newForm({ isPublished: false });
  const refused = await tryOut(closed.id, { mail: "closed@try.example" });
  const { json: answer } = await outcomeOf(closed, { mail: "closed@try.example" });
  assert.deepEqual([refused.valid, refused.contact, refused.actions], [false, null, []]);
  assert.equal(refused.message, answer.errorMessage);
});

test("with profiling a proven contact is not asked again for what is known", async () => {
  const fields = FIELDS.map((field) =>
    field.alias === "mail" ? { ...field, showWhenValueExists: false } : field,
  );
  const form = await newForm({ fields, actions: [] });
  const { contact } = await made("contacts/new", { email: "asked@try.example" });
  assert.equal((await tryOut(form.id, { first: "A" })).valid, false);
  const known = await tryOut(form.id, { first: "A" }, { contactId: contact.id });
  assert.deepEqual([known.valid, known.contact.changes], [true, { firstname: "A" }]);
});

test("actions say what they would do", async () => {
  const form = await newForm();
  const values = { mail: "actions@try.example" };
  assert.deepEqual((await tryOut(form.id, values)).actions, [
    { type: "lead.pointschange", would: "plus 7 points" },
    { type: "lead.changetags", would: "add tags tried; remove tags old" },
    { type: "form.email", would: "send the results by email" },
    { type: "of.tomorrow", would: "nothing" },
  ]);
  const ofCampaign = await newForm({ formType: "campaign" });
  const [points] = (await tryOut(ofCampaign.id, values)).actions;
  assert.equal(points.would, "nothing: not in a form of a campaign");
});

test("nothing is kept: no row, event, key or job, and no id is used up", async () => {
  const form = await newForm();
  await made("contacts/new", { email: "rest@try.example" });
  const state = async () => {
    const [counts] = await query(
      `select (select count(*) from content.form_submissions) as submissions, (select count(*) from content.form_spam) as spam,
         (select count(*) from contact.contacts) as contacts, (select count(*) from contact.companies) as companies,
         (select count(*) from contact.tags) as tags, (select count(*) from contact.contact_redirects) as redirects,
         (select count(*) from contact.outbox) as events, (select count(*) from content.outbox) as content_events`,
    );
    const sequences = await query(
      `select schemaname || '.' || sequencename as name, last_value from pg_sequences
       where schemaname in ('contact', 'content') and sequencename !~ 'outbox|jobs|totals|contact_identifications' order by 1`,
    );
    return { counts, sequences };
  };
  await followed();
  const before = await state();
  for (const values of [
    { mail: "nobody@try.example", firm: "Nowhere Ltd", first: "N" },
    { mail: "rest@try.example", first: "R", firm: "Nowhere Ltd" },
  ])
    await Promise.all(Array.from({ length: 5 }, () => tryOut(form.id, values)));
  assert.deepEqual(await state(), before);
});

test("a caller learns nothing of contacts that they may not view, and nothing at all without the form", async () => {
  const form = await newForm();
  await made("contacts/new", { email: "hidden@try.example", firstname: "Hidden" });
  const forms = { "form:forms": ["viewother"] };
  const blind = (await newPerson(stack, forms)).api;
  const values = { mail: "hidden@try.example", first: "Eve" };
  const seen = await tryOut(form.id, values, {}, blind);
  assert.deepEqual([seen.valid, seen.contact], [true, null]);

  const ownerOnly = await newPerson(stack, { ...forms, "lead:leads": ["viewown"] });
  const own = ownerOnly.api;
  const known = await tryOut(form.id, values, {}, own);
  const unknown = await tryOut(form.id, { ...values, mail: "unknown@try.example" }, {}, own);
  assert.equal(JSON.stringify(known).replaceAll("hidden@", "unknown@"), JSON.stringify(unknown));
  assert.equal(known.contact.isNew, true);
  const mine = (await made("contacts/new", { email: "mine@try.example", owner: ownerOnly.id })).contact;
  assert.equal((await tryOut(form.id, { mail: "mine@try.example" }, {}, own)).contact.id, mine.id);
  const { contact } = await made("contacts/new", { email: "foreign@try.example" });
  const named = (contactId: unknown, client = own) =>
    client("POST", `forms/${form.id}/try`, { values, contactId });
  assert.equal((await named(contact.id)).status, 400);
  assert.equal((await named(2_000_000_000)).text, (await named(contact.id)).text);
  for (const bad of ["x", -1, 1.5, 2 ** 40, {}])
    assert.equal((await named(bad, api)).status, 400, String(bad));
  for (const bad of [[1], "text", 7])
    assert.equal((await api("POST", `forms/${form.id}/try`, { values: bad })).status, 400, String(bad));

  const stranger = (await newPerson(stack, { "form:forms": ["viewown"], "lead:leads": ["viewother"] })).api;
  assert.equal((await stranger("POST", `forms/${form.id}/try`, { values })).status, 404);
  assert.equal((await api("POST", "forms/2000000000/try", { values })).status, 404);
});
