import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { axeViolations } from "./axe.ts";
import { startBrowser } from "./browser.ts";
import { startMailingStack } from "./mailing-stack.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { BROWSER, visitor } from "./visitor.ts";

/** Emails that name a landing page as their preference centre. */

const stack = await startMailingStack({ hasOwnHost: true, content: { SHOW_PREFERENCES: "true" } });
const { sink } = stack;
const { api, baseUrl, publicUrl, made } = stack;
const { host } = new URL(publicUrl);
const look = (path: string) => visitor(baseUrl, { host }).ask(path);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const ALL = `{channelfrequency} {preferredchannel} {categorylist} {segmentlist} {saveprefsbutton}`;
const newPage = async (customHtml: string, members: object = {}): Promise<number> =>
  (
    await made("pages/new", {
      ...{ title: "Your choices", isPublished: true, isPreferenceCenter: true, customHtml },
      ...members,
    })
  ).page.id;
const readerOf = async (pageId: number, members: object = {}): Promise<SentMail> => {
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", isPublished: true, preferenceCenter: pageId },
    customHtml: `<html><body><a href="{unsubscribe_url}">Leave</a></body></html>`,
  });
  assert.equal(email.preferenceCenter.id, pageId);
  return sendToReader(stack, sink, email.id, members);
};
const contactOf = async ({ contactId }: SentMail): Promise<Any> =>
  ((await api("GET", `contacts/${contactId}`)).body as Any).contact;
const countOf = (text: string, part: string) => text.split(part).length - 1;

test("an email's own preference page shows the choices in its slots, once each, with the values of the reader", async () => {
  const id = await newPage(
    `<h1>Hello {contactfield=firstname}</h1> {leadidentifier} <div title="{segmentlist}">${ALL} ${ALL}</div>`,
  );
  await made("categories/new", { title: "Offers & more", bundle: "global" });
  const reader = await readerOf(id, { firstname: "<b>Ada", mobile: "+43 1 2345" });
  const { status, text, headers } = await look(reader.unsubscribe);
  assert.equal(status, 200);
  assert.match(text, /<h1>Hello (?:&lt;b&gt;)?Ada<\/h1>/);
  assert.ok(text.includes(reader.address));
  for (const part of ['id="email_number"', 'id="sms_number"', ">Save<", "Preferred way", "<form id="])
    assert.equal(countOf(text, part), 1, part);
  assert.match(text, /Offers &amp; more/);
  assert.match(text, /Unsubscribe from everything/);
  assert.match(String(headers["content-security-policy"]), /^sandbox allow-forms/);
  assert.doesNotMatch(String(headers["content-security-policy"]), /allow-same-origin/);
  assert.match(String(headers["x-robots-tag"]), /noindex/);
  assert.deepEqual([headers["set-cookie"], /mtc\.js/.test(text)], [undefined, false]);
  // No visitor finds it by its alias, and its slots stand for nothing elsewhere.
  assert.equal((await look("/your-choices")).status, 404);
  const open = await newPage(`<p>Open: ${ALL}.</p>`, { title: "Open", isPreferenceCenter: false });
  assert.match((await look("/open")).text, /Open:\s+\./);
  const other = await readerOf(open);
  assert.match((await look(other.unsubscribe)).text, /<h1>Your preferences<\/h1>/);
});

test("a page that is not published, gone or cannot be written gives way to the usual preference centre", async () => {
  const [closed, gone, later] = [
    await newPage(ALL, { title: "Closed", isPublished: false }),
    await newPage(ALL, { title: "Gone" }),
    await newPage(ALL, { title: "Later", publishUp: "2031-01-01 00:00:00" }),
  ];
  const readers = await Promise.all([closed, gone, later].map((id) => readerOf(id)));
  assert.equal((await api("DELETE", `pages/${gone}/delete`)).status, 200);
  for (const { unsubscribe } of readers) {
    const { status, text } = await look(unsubscribe);
    assert.deepEqual([status, /<h1>Your preferences<\/h1>/.test(text)], [200, true]);
    assert.match(text, /Unsubscribe from everything/);
  }
  const refused = await api("POST", "emails/new", { name: "A", subject: "A", preferenceCenter: 999_999_999 });
  assert.deepEqual([refused.status, /preferenceCenter/.test(refused.text)], [400, true]);
});

test("a page without slots shows how to unsubscribe from everything, and one with a few keeps the other choices", async () => {
  const bare = await readerOf(await newPage("<!-- </body> --><h1>Nothing here</h1>", { title: "Bare" }));
  const { text } = await look(bare.unsubscribe);
  assert.match(text, /Nothing here[\s\S]*Unsubscribe from everything/);
  assert.doesNotMatch(text, /email_number|>Save</);

  const few = await readerOf(await newPage("<h1>Few</h1>{preferredchannel}", { title: "Few" }), {
    mobile: "+43 1 2345",
    frequencyRules: { email: { frequency_number: 3, frequency_time: "WEEK", preferred_channel: true } },
  });
  const page = await look(few.unsubscribe);
  assert.match(page.text, />Save</);
  const inputs = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const form = new URLSearchParams(
    inputs.map(([, name = "", value = ""]): [string, string] => [name, value]),
  );
  form.set("preferred", "sms");
  const action = /<form id="reader-preferences" method="post" action="([^"]+)"/.exec(page.text)?.[1] ?? "";
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const saved = await visitor(baseUrl, { host }).ask(action, { method: "POST", headers, body: `${form}` });
  assert.match(saved.text, /Saved/);
  await eventually(async () => {
    const { email, sms } = (await contactOf(few)).frequencyRules;
    assert.deepEqual(
      [email.frequencyNumber, email.frequencyTime, email.preferredChannel, sms.preferredChannel],
      [3, "WEEK", false, true],
    );
  });
});

test("axe finds nothing on a preference page at 320 px, and it works without script, inside the sandbox of pages", async () => {
  const browser = await startBrowser();
  after(() => browser.close());
  const { form } = await made("forms/new", {
    ...{ name: "Why", isPublished: true, postAction: "return" },
    fields: [{ label: "Reason", type: "text", alias: "reason" }],
  });
  const title = "In the browser";
  const content = `<h1>Choose</h1><form action="https://evil.example/">${ALL}</form>{form=${form.id}}
    <script>try { document.title = document.cookie + localStorage.length } catch { document.title = "kept out" }</script>`;
  const id = await newPage(content, { title, template: "blank" });
  const reader = await readerOf(id, { mobile: "+43 1 2345" });
  await made("categories/new", { title: "Topics of a very long name ".repeat(4).trim(), bundle: "global" });
  const options = { userAgent: BROWSER, viewport: { width: 320, height: 700 } };
  const scripted = await browser.newContext(options);
  const sandboxed = await scripted.newPage();
  await sandboxed.goto(publicUrl + reader.unsubscribe);
  assert.equal(await sandboxed.title(), "kept out");
  await scripted.close();

  const plain = await browser.newContext({ ...options, javaScriptEnabled: false });
  const page = await plain.newPage();
  await page.goto(publicUrl + reader.unsubscribe);
  await page.getByLabel("At most").first().fill("2000");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Nothing was changed").waitFor();
  await page.getByLabel("At most").first().fill("3");
  await page.getByRole("button", { name: "Save" }).click();
  assert.equal(await page.getByRole("heading").textContent(), "Saved");
  await plain.close();
  await eventually(async () =>
    assert.equal((await contactOf(reader)).frequencyRules.email.frequencyNumber, 3),
  );

  const checked = await browser.newContext({ ...options, bypassCSP: true });
  const looked = await checked.newPage();
  await looked.goto(publicUrl + reader.unsubscribe);
  for (const place of ["form", "problems"]) {
    assert.deepEqual(await axeViolations(looked), [], place);
    assert.equal(await looked.evaluate("document.documentElement.scrollWidth"), 320, place);
    if (place === "problems") break;
    await looked.fill("#email_pause_from", "2027-02-01");
    await looked.getByRole("button", { name: "Save" }).click();
    await looked.getByText("Nothing was changed").waitFor();
  }
  await checked.close();
});
