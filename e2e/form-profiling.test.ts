import assert from "node:assert/strict";
import { after, test } from "node:test";
import { publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { eventually } from "@tidings/testkit/eventually";
import { thankingForm } from "./form-fields.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Forms that ask a known visitor for less, or are filled in: as they are shown, and as they are sent. */

const TOKEN_KEY = generateSecretKey();
const NAMED = "https://shop.example";
const stack = await startVisitedStack({
  env: { content: { PUBLIC_TOKEN_KEYS: TOKEN_KEY, TRACKING_ORIGINS: NAMED } },
});
after(() => stack.stop());
const { baseUrl, publicUrl, made, query } = stack;

const MAIL = { label: "E-mail", alias: "mail", type: "email", isRequired: true, showWhenValueExists: false };
const form = (
  await made(
    "forms/new",
    thankingForm("Profiled", [
      { ...MAIL, mappedObject: "contact", mappedField: "email" },
      {
        ...{ label: "First", alias: "first", type: "text", isAutoFill: true },
        ...{ mappedObject: "contact", mappedField: "firstname" },
      },
      {
        ...{ label: "Last", alias: "last", type: "text", isAutoFill: true, showWhenValueExists: false },
        ...{ mappedObject: "contact", mappedField: "lastname" },
      },
      { label: "Note", alias: "note", type: "text" },
    ]),
  )
).form;
await made("pages/new", {
  title: "Profiled",
  alias: "profiled",
  isPublished: true,
  customHtml: `<!doctype html><html><head></head><body>{form=${form.id}}</body></html>`,
});

type Browser = ReturnType<typeof visitor>;
let people = 0;

/** A browser whose visitor followed a signed link of a contact. */
async function reader(): Promise<{ browser: Browser; id: number; email: string }> {
  const email = `reader${++people}@profiled.example`;
  const { contact } = await made("contacts/new", { email, firstname: "Ada", lastname: "Byron" });
  const browser = visitor(baseUrl);
  const ct = publicTokens([TOKEN_KEY], "click").sign(`${contact.id} email 7 7`);
  await browser.hit({ page_url: `${NAMED}/`, ct });
  return { browser, id: contact.id, email };
}

/** The inputs of a form as a browser would send them. */
function inputsOf(markup: string): Record<string, string> {
  const inputs = [...markup.matchAll(/<input\b[^>]*>/g)].map(([tag]) => {
    const attribute = (name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
    return [attribute("name"), attribute("value")] as const;
  });
  return Object.fromEntries(inputs);
}

const submit = (browser: Browser, inputs: Record<string, string>) =>
  browser.ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", origin: "null" },
    body: new URLSearchParams(inputs).toString(),
  });

const NAME = (alias: string) => `svcform[${alias}]`;
const PLACES = [`/form/${form.id}`, "/profiled", `/form/embed/${form.id}`];

for (const place of PLACES)
  test(`${place} without a required field that is known is sent without it, from a sandbox, and taken`, async () => {
    const { browser, id, email } = await reader();
    const { text } = await browser.ask(place);
    const inputs = inputsOf(text);
    assert.equal(inputs[NAME("mail")], undefined);
    assert.doesNotMatch(text, new RegExp(email));
    assert.equal(inputs[NAME("first")], "Ada");
    assert.match(
      text,
      /<input[^>]*name="svcform\[last\]"[^>]*type="hidden"|type="hidden"[^>]*name="svcform\[last\]"/,
    );
    const note = `From ${place}`;
    // A page in a sandbox sends no cookies.
    const { json } = await submit(visitor(baseUrl), { ...inputs, [NAME("note")]: note });
    assert.equal(json.success, 1, JSON.stringify(json));
    await eventually(async () => {
      const rows = await query(
        `select contact_id from content.form_submissions where form_id = ${form.id} and contact_id = ${id}`,
      );
      assert.deepEqual(rows, [{ contact_id: id }]);
    });
  });

test("a form on somebody's site, which does not say how it was shown, is taken from a browser with proof", async () => {
  const { browser } = await reader();
  assert.equal((await submit(browser, { [NAME("note")]: "pasted" })).json.success, 1);
  const stranger = visitor(baseUrl);
  await stranger.hit({ page_url: `${NAMED}/` });
  for (const unproven of [stranger, visitor(baseUrl)])
    assert.deepEqual((await submit(unproven, { [NAME("note")]: "pasted" })).json.validationErrors, {
      mail: "'E-mail' is required.",
    });
});

test("a form stays as it was shown while its visitor becomes known in another tab", async () => {
  const later = (
    await made("forms/new", {
      name: "Limited",
      isPublished: true,
      postAction: "message",
      postActionProperty: "Thanks",
      progressiveProfilingLimit: 1,
      fields: [
        { ...MAIL, mappedObject: "contact", mappedField: "email" },
        { label: "City", alias: "city", type: "text", isRequired: true },
      ],
    })
  ).form;
  const browser = visitor(baseUrl);
  const first = inputsOf((await browser.ask(`/form/${later.id}`)).text);
  const second = inputsOf((await browser.ask(`/form/${later.id}`)).text);
  assert.deepEqual([NAME("mail") in first, NAME("city") in first], [true, false]);
  const send = async (inputs: Record<string, string>) =>
    (
      await browser.ask(`/form/submit/ajax?formId=${later.id}`, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", origin: "null" },
        body: new URLSearchParams({ ...inputs, [NAME("mail")]: "tabs@profiled.example" }).toString(),
      })
    ).json.success;
  assert.equal(await send(first), 1);
  await eventually(async () => {
    const third = inputsOf((await browser.ask(`/form/${later.id}`)).text);
    assert.deepEqual([NAME("mail") in third, NAME("city") in third], [false, true]);
  });
  assert.equal(await send(second), 1);
});

test("the fields that one visitor was not shown are asked of every other one", async () => {
  const { browser } = await reader();
  const inputs = inputsOf((await browser.ask(`/form/${form.id}`)).text);
  const stranger = visitor(baseUrl);
  const own = inputsOf((await stranger.ask(`/form/${form.id}`)).text);
  const { json } = await submit(stranger, { ...own, [NAME("shown-at")]: inputs[NAME("shown-at")] ?? "" });
  assert.deepEqual(json.validationErrors, { mail: "'E-mail' is required." });
});

test("a visitor without proof sees nothing of the contact whose address they typed", async () => {
  const { email } = await reader();
  const stranger = visitor(baseUrl);
  const inputs = inputsOf((await stranger.ask("/profiled")).text);
  assert.equal((await submit(stranger, { ...inputs, [NAME("mail")]: email })).json.success, 1);
  await eventually(async () => {
    const device = stranger.cookies.get("svc_device_id");
    const [row] = await query(`select is_proven from content.visitor_devices where id = '${device}'`);
    assert.equal(row?.is_proven, false);
  });
  for (const place of PLACES) {
    const { text } = await stranger.ask(place);
    assert.doesNotMatch(text, /Ada|Byron|reader\d/, place);
    assert.equal(inputsOf(text)[NAME("mail")], "", place);
  }
});

test("a form under a stylesheet of another site has neither values nor the id of the browser", async () => {
  const { browser } = await reader();
  const shownUnder = async (styles: string) =>
    inputsOf((await browser.ask(`/form/${form.id}?css=${encodeURIComponent(styles)}`)).text);
  for (const styles of [
    "https://evil.example/a.css",
    `${NAMED}/a.css,https://evil.example/a.css`,
    `${NAMED}.evil.example/a.css`,
    `https://shop.example@evil.example/a.css`,
  ]) {
    const inputs = await shownUnder(styles);
    assert.deepEqual([inputs[NAME("first")], inputs[NAME("last")]], ["", ""], styles);
    assert.equal(inputs.device, undefined, styles);
    assert.equal(inputs[NAME("mail")], "", styles);
  }
  for (const styles of [`${NAMED}/a.css`, `${publicUrl}/media/a.css`])
    assert.equal((await shownUnder(styles))[NAME("first")], "Ada", styles);
});

test("a script that any site may include has what is known of a visitor only for named sites", async () => {
  const { browser } = await reader();
  const scriptFor = async (headers: Record<string, string>) =>
    (await browser.ask(`/form/generate.js?id=${form.id}`, { headers })).text;
  const cross = { "sec-fetch-site": "cross-site" };
  for (const headers of [
    {},
    cross,
    { ...cross, referer: "https://evil.example/" },
    { ...cross, referer: `${NAMED}.evil.example/` },
    { ...cross, referer: "null" },
  ]) {
    const text = await scriptFor(headers);
    assert.match(text, /svcform\[mail\]/);
    assert.doesNotMatch(text, /Ada|Byron|name=\\"device\\"/, JSON.stringify(headers));
  }
  for (const headers of [
    { "sec-fetch-site": "same-origin" },
    { ...cross, referer: `${NAMED}/page` },
    { referer: `${publicUrl}/profiled` },
  ]) {
    const text = await scriptFor(headers);
    assert.match(text, /Ada/, JSON.stringify(headers));
    assert.doesNotMatch(text, /svcform\[mail\]/, JSON.stringify(headers));
  }
});
