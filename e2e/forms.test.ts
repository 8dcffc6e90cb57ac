import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import { actorSigner } from "@tidings/rpc/actor";
import { rpcClient } from "@tidings/rpc/client";
import { connect } from "@tidings/rpc/stream/connection";
import { eventually } from "@tidings/testkit/eventually";
import type { Browser } from "playwright-core";
import { axeViolations } from "./axe.ts";
import { startBrowser, takeScreenshot } from "./browser.ts";
import { createClient, type Entity } from "./client.ts";
import { make, PASSWORD, personBody } from "./people.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());

// The answers of these routes have shapes of their own.
type Body = Record<string, unknown>;
const api = async (method: string, path: string, body?: object) => {
  const answer = await stack.api(method, path, body);
  return { ...answer, body: answer.body as unknown as Body };
};

async function addForm(members: object): Promise<Entity> {
  const { status, body, text } = await api("POST", "forms/new", { name: "Form", ...members });
  assert.equal(status, 201, text);
  return body.form as Entity;
}

function environmentOf(name: string): Map<string, string> {
  const lines = readFileSync(`/proc/${stack.process(name).pid}/environ`, "utf8").split("\0");
  return new Map(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** A form is sent by another process, in its own name. */
const connection = connect(`127.0.0.1:${environmentOf("content").get("GRPC_PORT")}`);
after(() => connection.close());
const sender = rpcClient(
  SubmissionService,
  connection,
  actorSigner(environmentOf("campaign").get("ACTOR_PRIVATE_KEY") ?? "", "content"),
);
const service = { kind: "service" as const, id: null, name: "Test", admin: false, permissions: {} };

async function submit(formId: number, values: object, contactId?: number): Promise<number> {
  const request = {
    formId,
    key: crypto.randomUUID(),
    ip: "192.0.2.1",
    values: Buffer.from(JSON.stringify(values)),
    referer: "https://example.com/",
    ...(contactId !== undefined && { contactId }),
  };
  const outgoing = { actor: service, deadlineMs: Date.now() + 10_000, requestId: "test" };
  return (await sender.submitForm(request, outgoing)).submissionId;
}

const FIELDS = [
  { label: "Email", type: "email", isRequired: true, leadField: "email" },
  { label: "Colour", type: "select", properties: { list: ["red", "blue"] } },
  { label: "Send", type: "button" },
];

test("fields and actions are objects by id, changed by their ids and taken out by a PUT", async () => {
  const form = await addForm({
    fields: FIELDS,
    actions: [{ type: "lead.pointschange", properties: { points: "5" } }],
  });
  const fields = Object.values(form.fields as Record<string, Entity>);
  assert.deepEqual(
    Object.keys(form.fields as object),
    fields.map(({ id }) => String(id)),
  );
  assert.deepEqual(
    fields.map(({ alias }) => alias),
    ["email", "colour", "send"],
  );
  const [email, colour] = fields;
  assert.deepEqual(
    [email?.leadField, email?.mappedObject, email?.mappedField],
    ["email", "contact", "email"],
  );
  assert.deepEqual(colour?.properties, {
    list: {
      list: [
        { label: "red", value: "red" },
        { label: "blue", value: "blue" },
      ],
    },
  });
  const patched = await api("PATCH", `forms/${form.id}/edit`, {
    fields: [
      { id: colour?.id, label: "Shade" },
      { label: "Why", type: "text" },
    ],
  });
  const after = patched.body.form as Entity;
  assert.deepEqual(
    Object.values(after.fields as Record<string, Entity>).map(({ label, alias }) => [label, alias]),
    [
      ["Email", "email"],
      ["Shade", "colour"],
      ["Send", "send"],
      ["Why", "why"],
    ],
  );
  assert.deepEqual(after.actions, form.actions);
  const put = await api("PUT", `forms/${form.id}/edit`, { name: "Form", fields: [{ id: email?.id }] });
  assert.deepEqual(Object.keys((put.body.form as Entity).fields as object), [String(email?.id)]);
  assert.deepEqual((put.body.form as Entity).actions, []);
});

test("a bad field is answered in its own words, and the form stays as it was", async () => {
  const form = await addForm({ fields: FIELDS });
  const before = (await api("GET", `forms/${form.id}`)).text;
  for (const [members, status, message] of [
    [{ fields: [{ type: "text" }] }, 400, /^A label is required\.$/],
    [{ actions: [{ name: "Without a type" }] }, 400, /^A name is required\.$/],
    [
      {
        fields: [
          { label: "A", type: "text", alias: "x" },
          { label: "B", type: "text", alias: "x" },
        ],
      },
      400,
      /^Another field is already using this alias: x\./,
    ],
    [{ fields: [{ id: 2_000_000_000, label: "A" }] }, 404, /2000000000/],
    [{ fields: [{ id: "new1", label: "A", type: "text" }] }, 404, /fields\[0\]: there is no item new1/],
    [{ actions: [{ id: "new2", name: "A", type: "email.send.lead" }] }, 404, /new2/],
    [{ fields: [{ label: "A", type: "select", properties: { list: "a|b" } }] }, 400, /properties\.list/],
    [
      { fields: [{ label: "A", type: "text", mappedField: "no_such" }] },
      400,
      /mappedField: There is no such/,
    ],
    [{ actions: [{ type: "form.repost", properties: { post_url: "file:///etc/passwd" } }] }, 400, /post_url/],
  ] as const) {
    const answer = await api("PATCH", `forms/${form.id}/edit`, { name: "Changed", ...members });
    assert.equal(answer.status, status, answer.text);
    const [error] = answer.body.errors as { message: string }[];
    assert.match(error?.message ?? "", message);
  }
  assert.equal((await api("GET", `forms/${form.id}`)).text, before);
});

test("fields and actions are deleted by their ids, and what is null is not shown then", async () => {
  const form = await addForm({ fields: FIELDS, actions: [{ type: "a" }, { type: "b" }] });
  const [first, second] = Object.keys(form.fields as object);
  const answer = await api(
    "DELETE",
    `forms/${form.id}/fields/delete?fields[]=${first}&fields[]=${second}&fields[]=999999`,
  );
  assert.equal(answer.status, 200, answer.text);
  assert.equal(Object.keys((answer.body.form as Entity).fields as object).length, 1);
  assert.ok(!answer.text.includes(":null"), answer.text);
  const [action] = Object.keys(form.actions as object);
  const left = await api("DELETE", `forms/${form.id}/actions/delete?actions[]=${action}`);
  assert.equal(Object.keys((left.body.form as Entity).actions as object).length, 1);
  assert.equal((await api("DELETE", "forms/2000000000/fields/delete?fields[]=1")).status, 404);
  for (const query of ["fields[]=a", "fields[a][b]=1", "fields[]=1.5"])
    assert.equal((await api("DELETE", `forms/${form.id}/fields/delete?${query}`)).status, 400, query);
});

test("submissions are listed, counted as text, shown with the contact as it is, and go with it", async () => {
  // Nothing of them says who somebody is.
  const form = await addForm({ fields: FIELDS.map(({ leadField: _none, ...field }) => field) });
  const contact = await make(stack.api, "contacts", "contact", {
    email: `forms-${process.pid}@example.com`,
    city: "Paris",
  });
  const empty = await api("GET", `forms/${form.id}/submissions`);
  assert.deepEqual(empty.body, { total: "0", submissions: [] });
  const one = await submit(form.id, { email: "a@example.com", colour: "red" }, contact.id);
  const two = await submit(form.id, { email: "b@example.com", colour: ["red", "blue"] });
  const { body } = await api("GET", `forms/${form.id}/submissions?orderBy=r.email&orderByDir=desc`);
  const submissions = body.submissions as Entity[];
  assert.equal(body.total, "2");
  assert.deepEqual(
    submissions.map(({ id }) => id),
    [two, one],
  );
  const shown = submissions[1] as Entity;
  assert.deepEqual(shown.results, { email: "a@example.com", colour: "red" });
  assert.deepEqual((submissions[0] as Entity).results, { email: "b@example.com", colour: "red, blue" });
  assert.equal((submissions[0] as Entity).lead, null);
  assert.deepEqual(shown.ipAddress, { ip: "192.0.2.1" });
  assert.deepEqual(shown.form, { id: form.id, name: "Form", alias: "form", category: null });
  const lead = shown.lead as Body;
  assert.deepEqual([lead.id, lead.city, lead.points], [contact.id, "Paris", 0]);
  assert.match(String(shown.dateSubmitted), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);

  const single = await api("GET", `forms/${form.id}/submissions/${one}`);
  assert.deepEqual((single.body.submission as Entity).results, {
    form_id: String(form.id),
    email: "a@example.com",
    colour: "red",
  });
  const ofContact = await api("GET", `forms/${form.id}/submissions/contact/${contact.id}`);
  assert.deepEqual(
    [ofContact.body.total, (ofContact.body.submissions as Entity[]).map(({ id }) => id)],
    ["1", [one]],
  );
  const large = await api("GET", `forms/${form.id}/submissions?limit=1000`);
  assert.equal((large.body.submissions as Entity[]).length, 2);
  const other = await addForm({});
  for (const path of [
    `${form.id}/submissions/2000000000`,
    `${other.id}/submissions/${one}`,
    "2000000000/submissions",
  ])
    assert.equal((await api("GET", `forms/${path}`)).status, 404, path);
  for (const query of [
    "orderBy=s.nothing",
    "orderBy=r.password",
    "where[0][col]=x&where[0][expr]=eq&where[0][val]=1",
  ])
    assert.equal((await api("GET", `forms/${form.id}/submissions?${query}`)).status, 400, query);

  assert.equal((await api("DELETE", `contacts/${contact.id}/delete`)).status, 200);
  await eventually(async () =>
    assert.equal((await api("GET", `forms/${form.id}/submissions/${one}`)).status, 404),
  );
  assert.equal((await api("GET", `forms/${form.id}/submissions`)).body.total, "1");
});

test("a caller who may view forms and no contacts sees ids of contacts, and only submissions of own forms", async () => {
  const rawPermissions = { "form:forms": ["viewown", "create"] };
  const role = await make(stack.api, "roles", "role", { name: "Forms", rawPermissions });
  const person = personBody(role.id);
  await make(stack.api, "users", "user", person);
  const theirs = createClient(stack.baseUrl, { username: person.username, password: PASSWORD });
  const own = await make(theirs, "forms", "form", { name: "Own" });
  await stack.api("PATCH", `forms/${own.id}/edit`, { isPublished: true });
  const foreign = await addForm({});
  const contact = await make(stack.api, "contacts", "contact", { firstname: "Hidden" });
  await submit(own.id, {}, contact.id);
  await submit(foreign.id, {}, contact.id);
  const { body } = await theirs("GET", `forms/${own.id}/submissions`);
  const [shown] = (body as unknown as { submissions: Entity[] }).submissions;
  assert.deepEqual(shown?.lead, { id: contact.id });
  assert.equal((await theirs("GET", `forms/${foreign.id}/submissions`)).status, 404);
});

test("no client from outside submits in the name of a process", async () => {
  const form = await addForm({});
  for (const path of [`forms/${form.id}/submissions`, `forms/${form.id}/submissions/new`])
    assert.ok([404, 405].includes((await api("POST", path, {})).status), path);
});

const ALL_TYPES =
  `button captcha checkboxgrp companyLookup country date datetime email file freehtml freetext hidden number
  pagebreak password radiogrp select tel text textarea url`.split(/\s+/);
let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

test("a form with every type of field is usable by everybody, as axe-core sees it in a browser", async () => {
  const list = [
    { label: "A", value: "a" },
    { label: "B", value: "b" },
  ];
  const fields = ALL_TYPES.flatMap((type) =>
    [true, false].map((showLabel) => ({
      label: `The ${type}${showLabel ? "" : " without a label"}`,
      type,
      showLabel,
      isRequired: showLabel,
      helpMessage: "This helps",
      validationMessage: "This is needed",
      properties: {
        list,
        optionlist: { list },
        placeholder: "Write",
        text: "<p>Some <b>HTML</b></p>",
        ...(showLabel && { captcha: "4" }),
      },
    })),
  );
  const form = await addForm({ name: "Every type", renderStyle: true, fields });
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.setContent(
    `<!doctype html><html lang="en"><head><title>Form</title></head><body><main><h1>Form</h1>${form.cachedHtml}</main></body></html>`,
  );
  const violations = await axeViolations(page);
  await takeScreenshot(page, "form-every-type");
  assert.deepEqual([violations, errors], [[], []]);
  assert.equal(await page.getByLabel("The email", { exact: true }).getAttribute("aria-required"), "true");
  assert.equal(await page.getByRole("radiogroup", { name: /^The radiogrp( \*)?$/ }).count(), 1);
  await page.close();
});

test("PATCH with an empty publication date clears it", async () => {
  const form = await addForm({ publishUp: "2030-01-01 10:00" });
  const answer = await api("PATCH", `forms/${form.id}/edit`, { publishUp: "" });
  assert.equal((answer.body.form as { publishUp?: unknown }).publishUp, null, answer.text);
});

test("an empty text where a number must be is 400 and names the member", async () => {
  const answer = await api("POST", "forms/new", { name: "Limit", progressiveProfilingLimit: "" });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /progressiveProfilingLimit/);
});

/** Each of them is about half a megabyte of HTML. */
const countryForm = (name: string) => ({
  name,
  fields: Array.from({ length: 20 }, (_, index) => ({ label: `Country ${index}`, type: "country" })),
});

test("a batch whose answer would be too long is 400 and keeps none of its forms", async () => {
  const before = (await api("GET", "forms?limit=1")).body.total;
  const answer = await api(
    "POST",
    "forms/batch/new",
    Array.from({ length: 60 }, (_, index) => countryForm(`too long ${index}`)),
  );
  assert.equal(answer.status, 400, answer.text.slice(0, 300));
  assert.match(answer.text, /Send fewer items/);
  assert.equal((await api("GET", "forms?limit=1")).body.total, before);
});

test("a list of forms that is too long for one message between services is answered whole", async () => {
  const names = Array.from({ length: 90 }, (_, index) => `long ${index}`);
  for (const name of names) assert.equal((await api("POST", "forms/new", countryForm(name))).status, 201);
  const { status, body } = await api("GET", "forms?limit=90&orderBy=id&orderByDir=DESC");
  assert.equal(status, 200);
  const listed = Object.values(body.forms as Record<string, { name: string }>).map(({ name }) => name);
  assert.deepEqual(listed.sort(), names.sort());
});

test("a form posts to no private address", async () => {
  const actions = [{ name: "Post", type: "form.repost", properties: { post_url: "http://192.168.0.1/in" } }];
  const answer = await api("POST", "forms/new", { name: "Repost", actions });
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, /post_url/);
});
