import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { PDF } from "./multipart.ts";
import { make } from "./people.ts";
import { uploader } from "./uploader.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Assets that forms offer to the visitors who send them, and names of companies that forms suggest. */

const stack = await startVisitedStack({ env: { gateway: { FORM_RATE: "10/min" } } });
after(() => stack.stop());
const { api, baseUrl, database } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const newForm = (members: object): Promise<Any> =>
  make(api, "forms", "form", {
    name: "Guide",
    isPublished: true,
    postAction: "message",
    postActionProperty: "Thanks",
    fields: [{ label: "Name", alias: "first", type: "text" }],
    ...members,
  });
const newAsset = async (title: string, members: object = {}): Promise<Any> => {
  const { name } = await uploader(baseUrl).file("assets", `${title}.pdf`, PDF);
  return make(api, "assets", "asset", {
    title,
    isPublished: true,
    storageLocation: "local",
    file: name,
    ...members,
  });
};
const offering = (properties: object) => ({
  actions: [{ name: "Download", type: "asset.download", properties }],
});
let addresses = 0;
/** A visitor with an address of its own. */
const anybody = () => {
  const { ask } = visitor(baseUrl);
  const headers = { "x-forwarded-for": `192.0.2.${++addresses}` };
  return (path: string, sent: Parameters<typeof ask>[1] = {}) =>
    ask(path, { ...sent, headers: { ...headers, ...sent.headers } });
};
const send = (form: Any, members: Record<string, string> = {}, path = "/form/submit/ajax") =>
  anybody()(`${path}?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(
      Object.entries(members).map(([alias, value]) => [`svcform[${alias}]`, value] as [string, string]),
    ).toString(),
  });

test("a form offers its asset in the answer to a script, in a frame and on the message page, and a visitor gets the file", async () => {
  const asset = await newAsset("The guide");
  const form = await newForm(offering({ asset: asset.id, message: "Here it is: " }));
  const { json } = await send(form);
  assert.equal(json.success, 1);
  assert.equal(new URL(String(json.download)).pathname, `/asset/${asset.id}:${asset.alias}`);
  assert.match(String(json.successMessage), /^ThanksHere it is: ?<p><a href="[^"]+">The guide<\/a><\/p>$/);
  const framed = await send(form, { messenger: "1" }, "/form/submit");
  assert.match(framed.text, /\\?"download\\?":\\?"http/);
  const page = await send(form, {}, "/form/submit");
  assert.equal(page.status, 302);
  const message = await anybody()(String(page.headers.location));
  assert.match(message.text, /<a href="[^"]+\/asset\/[^"]+">The guide<\/a>/);
  assert.match(String(message.headers.refresh), /^1; url=http.*\/asset\//);
  assert.match(String(message.headers["content-security-policy"]), /allow-downloads/);
  const file = await anybody()(new URL(String(json.download)).pathname);
  assert.deepEqual([file.status, file.text], [200, PDF.toString()]);
});

test("a form that leads on offers its asset first, and says where it leads", async () => {
  const asset = await newAsset("First");
  const form = await newForm({
    ...offering({ asset: asset.id }),
    postAction: "redirect",
    postActionProperty: "https://shop.example/next",
  });
  const { json } = await send(form);
  assert.equal(json.redirect, "https://shop.example/next");
  assert.ok(json.download);
  const page = await send(form, {}, "/form/submit");
  const message = await anybody()(String(page.headers.location));
  assert.match(message.text, /First<\/a>.*<a href="https:\/\/shop\.example\/next">Continue<\/a>/s);
});

test("a category offers its latest published asset; a form whose asset is not published offers none", async () => {
  const category = await make(api, "categories", "category", { title: "Guides", bundle: "asset" });
  await newAsset("Older", { category: category.id });
  const latest = await newAsset("Latest", { category: category.id });
  const hidden = await newAsset("Hidden", { category: category.id, isPublished: false });
  const byCategory = await send(await newForm(offering({ category: category.id })));
  assert.match(String(byCategory.json.download), new RegExp(`/asset/${latest.id}:`));
  const none = await send(await newForm(offering({ asset: hidden.id })));
  assert.deepEqual([none.json.download, none.json.successMessage], [undefined, "Thanks"]);
  const outcomes = await eventually(async () => {
    const rows = await queryAsSuperuser(
      database,
      "select distinct type, state from content.form_action_outcomes",
    );
    assert.ok(rows.length > 0);
    return rows;
  });
  assert.deepEqual(outcomes, [{ type: "asset.download", state: "done" }]);
});

const lookUp = (body: object, ask = anybody(), headers: Record<string, string> = {}) =>
  ask("/form/company-lookup/autocomplete", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

test("a form with a company field suggests ten names at most, and nothing but names", async () => {
  for (const name of ["Acme 100%", "Acme_1", "ACME.*", "Acmé", "Zebra"])
    await make(api, "companies", "company", { companyname: name, companyemail: "boss@secret.example" });
  for (let at = 0; at < 15; at++)
    await make(api, "companies", "company", { companyname: `Many ${String(at).padStart(2, "0")}` });
  const form = await newForm({ fields: [{ label: "Company", alias: "firm", type: "companyLookup" }] });
  const found = await lookUp({ search: "acme", formId: form.id });
  assert.equal(found.status, 200);
  assert.deepEqual(JSON.parse(found.text), [
    { companyname: "Acme 100%" },
    { companyname: "ACME.*" },
    { companyname: "Acme_1" },
  ]);
  assert.equal(JSON.parse((await lookUp({ search: "many", formId: form.id })).text).length, 10);
  for (const search of [
    "acme%",
    "acme__",
    "a%e",
    ".*a",
    "%%%",
    "nobody",
    "'; drop table companies",
    "\\\\\\",
  ]) {
    const answer = await lookUp({ search, formId: form.id });
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [200, []], search);
  }
});

test("a company is looked up for open forms that ask for one, with three characters at least, and no other site reads the answer", async () => {
  const form = await newForm({ fields: [{ label: "Company", alias: "firm", type: "companyLookup" }] });
  const other = await newForm({});
  const closed = await newForm({
    isPublished: false,
    fields: [{ label: "Company", alias: "firm", type: "companyLookup" }],
  });
  const refused: [body: object, why: string][] = [
    [{ search: "ac", formId: form.id }, "short"],
    [{ search: "a  ", formId: form.id }, "blank"],
    [{ search: "x".repeat(2_000), formId: form.id }, "long"],
    [{ formId: form.id }, "no text"],
    [{ search: "acme", formId: other.id }, "without the field"],
    [{ search: "acme", formId: closed.id }, "closed"],
    [{ search: "acme", formId: 9_999_999 }, "unknown"],
    [{ search: "acme", formId: "1 or 1=1" }, "no id"],
    [{ search: { $ne: 1 }, formId: form.id }, "an object"],
  ];
  const answers = await Promise.all(refused.map(([body]) => lookUp(body)));
  for (const [at, { status, text }] of answers.entries()) {
    assert.equal(status, 400, refused[at]?.[1]);
    assert.equal(text, answers[0]?.text, "the reasons look alike");
  }
  const foreign = await lookUp({ search: "acme", formId: form.id }, anybody(), {
    origin: "https://evil.example",
  });
  assert.equal(foreign.headers["access-control-allow-origin"], undefined);
  assert.equal((await anybody()("/form/company-lookup/autocomplete")).status, 405);
});

test("lookups have the limit of forms, apart from submissions", async () => {
  const form = await newForm({ fields: [{ label: "Company", alias: "firm", type: "companyLookup" }] });
  const ask = anybody();
  const statuses: number[] = [];
  for (let at = 0; at < 12; at++)
    statuses.push((await lookUp({ search: "acme", formId: form.id }, ask)).status);
  assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429]);
  const sent = await ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "svcform[firm]=Acme",
  });
  assert.equal(sent.json.success, 1);
});
