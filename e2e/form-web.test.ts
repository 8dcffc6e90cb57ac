import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { FIRST_FIELD, MAIL_FIELD } from "./form-fields.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Forms as visitors fill them in, through the gateway. */

const stack = await startVisitedStack();
after(() => stack.stop());
const { api, baseUrl, made, query } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const FIELDS = [
  { ...MAIL_FIELD, isRequired: true },
  { ...FIRST_FIELD, label: "Name" },
  {
    label: "Colours",
    alias: "colours",
    type: "checkboxgrp",
    properties: {
      optionlist: {
        list: [
          { label: "Red", value: "red" },
          { label: "Blue", value: "blue" },
        ],
      },
    },
  },
  { label: "Send", alias: "send", type: "button" },
];
const newForm = async (members: object = {}): Promise<Any> =>
  (
    await made("forms/new", {
      name: "Sign up",
      alias: "signup",
      isPublished: true,
      postAction: "message",
      postActionProperty: "<b>Thanks, {formfield=first}</b>",
      fields: FIELDS,
      ...members,
    })
  ).form;

const encoded = (members: Record<string, string | string[]>) => ({
  method: "POST",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams(
    Object.entries(members).flatMap(([name, value]) =>
      [value].flat().map((text) => [name, text] as [string, string]),
    ),
  ).toString(),
});
const send = (
  browser: ReturnType<typeof visitor>,
  id: number,
  members: Record<string, string | string[]>,
  path = "/form/submit/ajax",
) => browser.ask(`${path}?formId=${id}`, encoded(members));

async function contactOf(email: string): Promise<Any> {
  const { body } = await api("GET", `contacts?search=email:${email}`);
  const [contact] = Object.values((body as Any).contacts);
  return contact;
}

test("a person fills in a form without script: what is wrong stands beside the fields, then there is a message", async () => {
  const form = await newForm();
  const browser = visitor(baseUrl);
  const shown = await browser.ask(`/form/${form.id}?first=Ada`);
  assert.equal(shown.status, 200);
  assert.match(shown.text, /name="svcform\[first\]"[^>]*value="Ada"/);
  assert.match(String(shown.headers["content-security-policy"]), /^sandbox allow-forms/);
  const wrong = await send(
    browser,
    form.id,
    { "svcform[mail]": "none", "svcform[first]": '<b>"A"' },
    "/form/submit",
  );
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /The email is invalid\./);
  assert.match(wrong.text, /value="&lt;b&gt;&quot;A&quot;"/);
  const sent = await send(
    browser,
    form.id,
    {
      "svcform[mail]": "ada@forms.example",
      "svcform[first]": "A & B",
      "svcform[colours][]": ["red", "blue"],
    },
    "/form/submit",
  );
  assert.equal(sent.status, 302);
  const message = await browser.ask(String(sent.headers.location));
  assert.match(message.text, /<b>Thanks, A &amp; B<\/b>/);
  assert.equal((await browser.ask("/form/message?m=forged")).status, 404);
  await eventually(async () => {
    const contact = await contactOf("ada@forms.example");
    assert.equal(contact?.fields.all.firstname, "A & B");
    const { body } = await api("GET", `forms/${form.id}/submissions`);
    const [submission] = (body as Any).submissions;
    assert.equal(submission.lead.id, contact.id);
    assert.equal(submission.results.colours, "red, blue");
  });
});

test("scripts get what is wrong by field, and what to show", async () => {
  const form = await newForm({ name: "Script" });
  const browser = visitor(baseUrl);
  const wrong = await send(browser, form.id, { "mauticform[first]": "Ada" });
  assert.deepEqual(wrong.json, {
    success: 0,
    validationErrors: { mail: "'E-mail' is required." },
    formName: "script",
  });
  assert.equal(wrong.headers["access-control-allow-origin"], undefined);
  const sent = await browser.ask(`/form/submit/ajax?formId=${form.id}`, {
    ...encoded({ "mauticform[mail]": "script@forms.example", "mauticform[first]": "Ada" }),
    headers: { "content-type": "application/x-www-form-urlencoded", origin: "https://shop.example" },
  });
  assert.deepEqual(sent.json, {
    success: 1,
    results: { mail: "script@forms.example", first: "Ada", colours: "" },
    successMessage: "<b>Thanks, Ada</b>",
    formName: "script",
  });
  assert.equal(sent.headers["access-control-allow-origin"], "*");
  assert.deepEqual((await send(browser, 9_999_999, {})).json, {
    success: 0,
    errorMessage: "This form is no longer available.",
    formName: "",
  });
});

test("hits between a first submission and the finding of its contact are that contact's", async () => {
  const form = await newForm({ name: "Between" });
  const { contact } = await made("contacts/new", { email: "between@forms.example" });
  const browser = visitor(baseUrl);
  await send(browser, form.id, { "svcform[mail]": "between@forms.example" });
  const device = browser.cookies.get("svc_device_id");
  for (const path of ["/one", "/two", "/three"])
    await browser.hit({ page_url: `https://shop.example/between${path}` });
  await eventually(async () => {
    const hits = await query(
      `select distinct contact_id from content.page_hits where tracking_id = '${device}' and url like '%/between/%'`,
    );
    assert.deepEqual(hits, [{ contact_id: contact.id }]);
  });
});

test("a submission that is sent twice is taken once, with its contact, its event and its actions", async () => {
  const segment = (await made("segments/new", { name: "Signed up" })).list;
  const form = await newForm({
    name: "Once",
    actions: [
      { name: "Points", type: "lead.pointschange", properties: { operator: "plus", points: 7 } },
      { name: "Tags", type: "lead.changetags", properties: { add_tags: ["signed"] } },
      { name: "Segment", type: "lead.changelist", properties: { addToLists: [segment.id] } },
      { name: "Mail", type: "form.email", properties: { subject: "New", to: "a@b.example", message: "x" } },
    ],
  });
  const browser = visitor(baseUrl);
  const key = crypto.randomUUID();
  const body = { "svcform[mail]": "once@forms.example", "svcform[submissionKey]": key };
  await Promise.all(Array.from({ length: 8 }, () => send(browser, form.id, body)));
  await send(browser, form.id, body);
  await eventually(async () => {
    const contact = await contactOf("once@forms.example");
    assert.equal(contact?.points, 7);
    assert.deepEqual(
      contact.tags.map(({ tag }: Any) => tag),
      ["signed"],
    );
    const { body } = await api("GET", `contacts?search=segment:${segment.alias}`);
    assert.deepEqual(Object.keys((body as Any).contacts), [String(contact.id)]);
  });
  assert.equal((await query(`select 1 from content.form_submissions where form_id = ${form.id}`)).length, 1);
  const outcomes = await query(
    `select type, state from content.form_action_outcomes where form_id = ${form.id} order by action_id`,
  );
  assert.deepEqual(
    outcomes.map(({ type, state }) => [type, state]),
    [
      ["lead.pointschange", "done"],
      ["lead.changetags", "done"],
      ["lead.changelist", "done"],
      ["form.email", "refused"],
    ],
  );
});

test("a known visitor who says who they are is that contact: one of both, and two people at one device stay two", async () => {
  const form = await newForm({ name: "Who" });
  const known = (await made("contacts/new", { email: "known@forms.example", lastname: "Known" })).contact;
  const browser = visitor(baseUrl);
  await send(browser, form.id, { "svcform[mail]": "known@forms.example", "svcform[first]": "Kay" });
  await eventually(async () => {
    const contact = await contactOf("known@forms.example");
    assert.equal(contact.id, known.id, "a browser that nobody knew");
    assert.equal(contact.fields.all.firstname, "Kay");
  });
  await send(browser, form.id, { "svcform[mail]": "other@forms.example", "svcform[first]": "Oz" });
  await eventually(async () => {
    const other = await contactOf("other@forms.example");
    assert.notEqual(other.id, known.id);
    const device = browser.cookies.get("svc_device_id");
    const [row] = await query(`select contact_id from content.visitor_devices where id = '${device}'`);
    assert.equal(row?.contact_id, other.id, "the device is the later one's");
  });
  assert.equal((await contactOf("known@forms.example")).fields.all.firstname, "Kay");
});

test("a known and an unknown address are answered alike", async () => {
  const form = await newForm({
    name: "Alike",
    postActionProperty: "Hello {contactfield=lastname} {contactfield=email}",
  });
  await made("contacts/new", { email: "there@forms.example", lastname: "There" });
  const answerTo = async (mail: string) => {
    const { json, status } = await send(visitor(baseUrl), form.id, { "svcform[mail]": mail });
    return [status, JSON.stringify(json).replaceAll(mail, "MAIL")];
  };
  assert.deepEqual(await answerTo("there@forms.example"), await answerTo("nowhere@forms.example"));
});

test("an unpublished form is not there, in any of the ways to it", async () => {
  const form = await newForm({ name: "Closed", isPublished: false });
  const browser = visitor(baseUrl);
  assert.equal((await browser.ask(`/form/${form.id}`)).status, 404);
  const embedded = await browser.ask(`/form/embed/${form.id}`);
  assert.deepEqual([embedded.status, embedded.text], [404, ""]);
  const script = await browser.ask(`/form/generate.js?id=${form.id}`);
  assert.deepEqual(
    [script.status, script.text, script.headers["content-type"]],
    [200, "", "text/javascript; charset=utf-8"],
  );
  assert.equal((await browser.ask("/form/submit")).status, 405);
});

test("the campaign that a visitor came by is recorded, in kiosk mode and of a visitor who may not be recognised too", async () => {
  const actions = [{ name: "UTM", type: "lead.addutmtags" }];
  const open = await newForm({ name: "Campaign", actions });
  const kiosk = await newForm({ name: "Kiosk", actions, inKioskMode: true });
  const page = "https://shop.example/p?utm_source=page&utm_campaign=spring&x=%00%ED%A0%80";
  const sources: Record<string, string> = {};
  for (const [name, form, headers, query, source] of [
    ["browser", open, {}, "", "page"],
    ["address", open, {}, "&utm_source=link", "link"],
    ["refusing", open, { "sec-gpc": "1" }, "", "page"],
    ["kiosk", kiosk, {}, "", "page"],
    ["hostile", open, {}, "&utm_source=a%00b%ED%A0%80", "ab\uFFFD\uFFFD\uFFFD"],
  ] as const) {
    const mail = `${name}@utm.example`;
    const sent = encoded({ "svcform[mail]": mail, "svcform[return]": page });
    const { json } = await visitor(baseUrl).ask(`/form/submit/ajax?formId=${form.id}${query}`, {
      ...sent,
      headers: { ...sent.headers, ...headers },
    });
    assert.equal(json.success, 1);
    sources[mail] = source;
  }
  const without = encoded({ "svcform[mail]": "none@utm.example" });
  await visitor(baseUrl).ask(`/form/submit/ajax?formId=${open.id}`, without);
  await eventually(async () => {
    for (const [mail, source] of Object.entries(sources)) {
      const rows = (await contactOf(mail))?.utmtags ?? [];
      assert.deepEqual(
        rows.map(({ utmSource, url }: Any) => [utmSource, url]),
        [[source, page]],
        mail,
      );
    }
    const outcomes = await query(
      `select state, count(*) from content.form_action_outcomes where form_id in (${open.id}, ${kiosk.id}) group by 1 order by 1`,
    );
    assert.deepEqual(outcomes, [
      { state: "done", count: "5" },
      { state: "ignored", count: "1" },
    ]);
  });
});

test("a submission whose body alone names its form is taken, and a body names no other form than the address", async () => {
  const [form, other] = [await newForm({ name: "Named" }), await newForm({ name: "Other" })];
  const sent = encoded({ "svcform[formId]": String(form.id), "svcform[mail]": "named@forms.example" });
  const submit = async (path: string) => (await visitor(baseUrl).ask(path, sent)).json as Any;
  const countOf = async (id: number) =>
    (await query(`select count(*) from content.form_submissions where form_id = ${id}`))[0].count;
  assert.equal((await submit("/form/submit/ajax")).success, 1);
  assert.equal((await submit(`/form/submit/ajax?formId=${other.id}`)).success, 1);
  assert.deepEqual([await countOf(form.id), await countOf(other.id)], ["1", "1"]);
});

test("a form leads to its own site, to those that are tracked and to the one that sent it, and nowhere else", async () => {
  const form = await newForm({ name: "Back", postAction: "return", postActionProperty: "" });
  const locationOf = async (back: string, headers: Record<string, string> = {}) => {
    const sent = encoded({ "svcform[mail]": `b${Math.random()}@forms.example`, "svcform[return]": back });
    const answer = await visitor(baseUrl).ask(`/form/submit?formId=${form.id}`, {
      ...sent,
      headers: { ...sent.headers, ...headers },
    });
    return String(answer.headers.location);
  };
  assert.match(await locationOf("https://evil.example/x"), /^\/form\/message/);
  assert.match(await locationOf("javascript:alert(1)"), /^\/form\/message/);
  assert.equal(
    await locationOf("https://shop.example/x", { origin: "https://shop.example" }),
    "https://shop.example/x",
  );
});

test("bodies that are no forms are refused as such", async () => {
  const form = await newForm({ name: "Bad" });
  const post = (headers: Record<string, string>, body: string | Buffer) =>
    visitor(baseUrl).ask(`/form/submit?formId=${form.id}`, { method: "POST", headers, body });
  const multipart = { "content-type": "multipart/form-data; boundary=x" };
  assert.equal((await post({ "content-type": "multipart/form-data" }, "x")).status, 400);
  assert.equal(
    (await post(multipart, '--x\r\nContent-Disposition: form-data; name="svcform[mail]"\r\n\r\na')).status,
    400,
  );
  assert.equal(
    (await post({ "content-type": "application/x-www-form-urlencoded" }, "a".repeat(300_000))).status,
    413,
  );
  const many = Array.from({ length: 10_000 }, (_, index) => `svcform[f${index}]=1`).join("&");
  assert.equal((await post({ "content-type": "application/x-www-form-urlencoded" }, many)).status, 400);
  const nested = await post(
    { "content-type": "application/x-www-form-urlencoded" },
    "svcform[__proto__]=1&svcform[constructor][]=2&svcform[mail][a][b]=3",
  );
  assert.equal(nested.status, 400);
  assert.match(nested.text, /required/);
});
