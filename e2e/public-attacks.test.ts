import assert from "node:assert/strict";
import { after, test } from "node:test";
import { publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { eventually } from "@tidings/testkit/eventually";
import { MAIL_FIELD, thankingForm } from "./form-fields.ts";
import { openSession } from "./session.ts";
import { ADMINISTRATOR } from "./stack.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { type Answer, visitor } from "./visitor.ts";

/** Attacks on the public web, each with what it must not get. Hostile texts in every member have tests of their own (`matrices/public-hostile.test.ts`). */

const TOKEN_KEY = generateSecretKey();
const OF_ALL = 12;
const stack = await startVisitedStack({
  env: {
    gateway: { FORM_RATE: "5/min", FORM_RATE_OF_ALL: `${OF_ALL}/min` },
    content: { PUBLIC_TOKEN_KEYS: TOKEN_KEY },
  },
});
after(() => stack.stop());
const { api, baseUrl, made, query } = stack;

let people = 0;
/** The headers of a person at an address of their own. */
const somebody = () => ({ "x-forwarded-for": `93.186.${++people >> 8}.${people & 255}` });
const newForm = async (): Promise<{ id: number }> =>
  (await made("forms/new", thankingForm("Attacked", [MAIL_FIELD]))).form;
const form = await newForm();
await made("pages/new", {
  title: "Attacked",
  alias: "attacked",
  isPublished: true,
  customHtml: `<!doctype html><html><head></head><body>Hi {contactfield=firstname|friend}! {form=${form.id}}</body></html>`,
});
const encoded = (members: Record<string, string>, headers: Record<string, string> = {}) => ({
  method: "POST",
  headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
  body: new URLSearchParams(members).toString(),
});
const clickOf = (contactId: number) => publicTokens([TOKEN_KEY], "click").sign(`${contactId} email 7 7`);

test("ids of contacts in sequence make nobody that contact, in any cookie, parameter or token", async () => {
  const { contact } = await made("contacts/new", { email: "known@attacks.example", firstname: "Secret" });
  for (const id of [contact.id - 1, contact.id, contact.id + 1].map(String))
    for (const [name, members] of Object.entries({
      cookie: {},
      parameter: { mtc_id: id, mtc_sid: id, svc_device_id: id, id, contactId: id, contact_id: id, lead: id },
      token: { ct: id },
      text: { ct: Buffer.from(`${id} email 7 7`).toString("base64url") },
    })) {
      const browser = visitor(baseUrl);
      for (const cookie of ["mtc_id", "mtc_sid", "svc_device_id", "svc_referer_id"])
        browser.cookies.set(cookie, id);
      const { json } = await browser.hit({ page_url: "https://shop.example/", ...members });
      assert.notEqual(String(json.id), String(contact.id), name);
      const page = await browser.ask(`/attacked?${new URLSearchParams(members)}`);
      assert.match(page.text, /Hi friend!/, name);
    }
  const hits = await query(`select 1 from content.page_hits where contact_id = ${contact.id}`);
  assert.equal(hits.length, 0);
});

test("a visitor who says the device of another one stays the contact of their own cookie", async () => {
  const readerOf = async (firstname: string) => {
    const { contact } = await made("contacts/new", { firstname });
    const browser = visitor(baseUrl);
    await browser.hit({ page_url: "https://shop.example/", ct: clickOf(contact.id) });
    return { browser, id: contact.id, device: browser.cookies.get("svc_device_id") ?? "" };
  };
  const [ada, bob] = [await readerOf("Ada"), await readerOf("Bob")];
  for (const [own, other] of [
    [ada, bob],
    [bob, ada],
  ] as const) {
    const swapped = { svc_device_id: other.device, mtc_sid: other.device, mtc_id: String(other.id) };
    const { json } = await own.browser.hit({ page_url: "https://shop.example/swapped", ...swapped });
    assert.deepEqual([json.id, json.device_id], [own.id, own.device]);
    own.browser.cookies.set("mtc_id", String(other.id));
    const page = await own.browser.ask(`/attacked?${new URLSearchParams(swapped)}`);
    assert.match(page.text, own === ada ? /Hi Ada!/ : /Hi Bob!/);
  }
});

test("no answer says the host that a request claims, or leads there", async () => {
  const evil = "evil.example";
  const paths =
    `/ /robots.txt /attacked /Attacked/ /nowhere /form/${form.id} /form/embed/${form.id} /form/generate.js?id=${form.id}
    /form/script.js /form/message /mtc.js /mtc /mtracking.gif /dwc/top /focus/1.js /asset/1:a /r/${"a".repeat(25)} /media/x`.split(
      /\s+/,
    );
  const claims: Record<string, string>[] = [
    ...["x-forwarded-host", "x-host", "x-original-host", "x-forwarded-server"].map((name) => ({
      [name]: evil,
    })),
    { forwarded: `host=${evil};proto=https` },
    {
      "x-forwarded-prefix": `https://${evil}`,
      "x-original-url": `//${evil}/`,
      "x-rewrite-url": `//${evil}/`,
    },
  ];
  const check = (what: string, { headers, text }: Answer) =>
    assert.doesNotMatch(`${JSON.stringify(headers)}${text}`, /evil\.example/, what);
  for (const path of paths) {
    check(`${path} by Host`, await visitor(baseUrl, { host: evil }).ask(path));
    for (const headers of claims)
      check(`${path} ${JSON.stringify(headers)}`, await visitor(baseUrl).ask(path, { headers }));
  }
  for (const headers of claims) {
    const sent = encoded({ "svcform[mail]": "host@attacks.example" }, { ...somebody(), ...headers });
    const other = await newForm();
    check(
      "a submission",
      await visitor(baseUrl, { host: evil }).ask(`/form/submit?formId=${other.id}`, sent),
    );
    const named = encoded({ "svcform[formId]": String(other.id) }, { ...somebody(), ...headers });
    check("one that is led on", await visitor(baseUrl, { host: evil }).ask("/form/submit", named));
  }
});

test("another site that sends the browser of a signed-in person to public paths acts as a stranger", async () => {
  const session = await openSession(baseUrl, ADMINISTRATOR);
  const other = await newForm();
  const evil = {
    origin: "https://evil.example",
    referer: "https://evil.example/",
    "sec-fetch-site": "cross-site",
  };
  const sent = (members: Record<string, string>) => encoded(members, { ...evil, ...somebody() });
  for (const [path, members] of [
    [`/form/submit?formId=${other.id}`, { "svcform[mail]": "csrf@attacks.example" }],
    [`/form/submit/ajax?formId=${other.id}`, { "svcform[mail]": "csrf@attacks.example" }],
    ["/mtc/event", { page_url: "https://evil.example/" }],
    ["/video/hit", { guid: "g", url: "https://evil.example/v" }],
    ["/focus/event", { focus: "1", type: "view" }],
    ["/form/company-lookup/autocomplete", { search: "abc", formId: String(other.id) }],
  ] as const) {
    const answer = await session(path, sent(members));
    assert.ok(answer.status < 500, path);
    assert.doesNotMatch(answer.headers.getSetCookie().join(), /sid/i, path);
    assert.equal(answer.headers.get("access-control-allow-credentials"), null, path);
  }
  await eventually(async () => {
    const { body } = await api("GET", "contacts?search=email:csrf@attacks.example");
    const [contact] = Object.values(
      (body as unknown as { contacts: Record<string, { createdBy: unknown }> }).contacts,
    );
    assert.ok(contact);
    assert.equal(contact.createdBy, null);
  });
  assert.equal((await session("/mail")).status, 200, "still signed in");
  for (const method of ["POST", "PATCH", "DELETE"]) {
    const answer = await session(`/api/forms/${other.id}/delete`, { ...sent({}), method });
    assert.ok([401, 403, 404, 405].includes(answer.status), `${method} ${answer.status}`);
  }
  assert.equal((await api("GET", `forms/${other.id}`)).status, 200);
});

test("a flood from many addresses uses up the limit of its form alone, however it names the form", async () => {
  const [flooded, other] = [await newForm(), await newForm()];
  const spellings = [`?formId=${flooded.id}`, `?form%49d=${flooded.id}`, `?x=1&formId=${flooded.id}`];
  const statuses: number[] = [];
  for (let index = 0; index < OF_ALL * 3; index += 1) {
    const sent = encoded({ "svcform[mail]": `flood${index}@attacks.example` }, somebody());
    statuses.push((await visitor(baseUrl).ask(`/form/submit/ajax${spellings[index % 3]}`, sent)).status);
  }
  assert.deepEqual(
    [statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 429).length],
    [OF_ALL, OF_ALL * 2],
  );
  // Submissions of which only the body names the form count together, and use up no other form's limit.
  const inBody = () =>
    encoded({ "svcform[formId]": String(flooded.id), "svcform[mail]": "b@attacks.example" }, somebody());
  let taken = 0;
  for (let index = 0; index <= OF_ALL; index += 1)
    if ((await visitor(baseUrl).ask("/form/submit/ajax", inBody())).status === 200) taken += 1;
  assert.ok(taken <= OF_ALL);
  const toOther = encoded({ "svcform[mail]": "c@attacks.example" }, somebody());
  const { status } = await visitor(baseUrl).ask(`/form/submit/ajax?formId=${other.id}`, toOther);
  assert.equal(status, 200);
  const kept = await query(`select 1 from content.form_submissions where form_id = ${flooded.id}`);
  assert.equal(kept.length, OF_ALL + taken);
});
