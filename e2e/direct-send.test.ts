import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { MAIL_FIELD } from "./form-fields.ts";
import { GONE, parsed, startMailingStack } from "./mailing-stack.ts";
import { PDF } from "./multipart.ts";
import { scrapeProcess } from "./scrape.ts";
import { openSession } from "./session.ts";
import { ADMINISTRATOR } from "./stack.ts";
import { ONE_CLICK } from "./unsubscribe-link.ts";
import { uploader } from "./uploader.ts";
import { visitor } from "./visitor.ts";

/** Mails to single contacts, from the API to a mail server, and the way back. */

const stack = await startMailingStack({ hasOwnHost: true, server: GONE });
const { api, baseUrl, publicUrl, made, mailsTo, sink } = stack;
const { host } = new URL(publicUrl);
const browser = () => visitor(baseUrl, { host });
/** The path of an address of the public web. */
const pathOf = (address: string) => address.slice(new URL(publicUrl).origin.length);

let count = 0;
async function contact(members: object = {}): Promise<{ id: number; email: string }> {
  const email = `ada-${++count}@example.org`;
  const made_ = await made("contacts/new", { email, firstname: "Ada", ...members });
  return { id: made_.contact.id, email };
}

async function email(members: object = {}): Promise<number> {
  const { email } = await made("emails/new", {
    ...{ name: "Welcome", subject: "Hello {contactfield=firstname}", emailType: "template" },
    customHtml: `<html><body><h1>Hello {contactfield=firstname|you}</h1><p>{greeting}</p>
      <a href="https://shop.example/?a=1&amp;b=2">Shop</a> <a href="{unsubscribe_url}">Leave</a> <a href="{webview_url}">View</a></body></html>`,
    ...members,
  });
  return email.id;
}

test("a mail arrives once, written for its contact, and the answer comes after it was handed over", async () => {
  const { id, email: address } = await contact({ firstname: "Zoë & Co" });
  const answer = await api("POST", `emails/${await email()}/contact/${id}/send`, {
    tokens: { "{greeting}": '<b>Good day</b><script>alert("x")</script>' },
  });
  assert.deepEqual([answer.status, answer.body], [200, { success: 1 }]);
  const [mail, ...more] = mailsTo(address);
  assert.deepEqual(more, []);
  const { subject, html, text, from, messageId, headers } = await parsed(mail);
  assert.equal(subject, "Hello Zoë & Co");
  assert.equal(from?.text, '"Shop" <shop@mail.example>');
  assert.match(messageId ?? "", /^<[0-9a-f-]{36}@mail\.example>$/);
  assert.ok(headers.has("x-email-id"));
  assert.match(String(html), /<h1>Hello Zoë &amp; Co<\/h1><p><b>Good day<\/b><\/p>/);
  assert.match(text ?? "", /^Hello Zoë & Co\n\nGood day\n\nShop \(/);
});

test("a tracked link leads to its target byte for byte, and its visitor is the contact", async () => {
  const { id, email: address } = await contact();
  await api("POST", `emails/${await email()}/contact/${id}/send`);
  const { html } = await parsed(mailsTo(address)[0]);
  const link = /href="([^"]*\/r\/[^"]*)"/.exec(String(html))?.[1]?.replaceAll("&amp;", "&") ?? "";
  // A click in a mail whose picture nobody has seen waits.
  await browser().ask(pathOf(/src="([^"]*\.gif)"/.exec(String(html))?.[1] ?? ""));
  const response = await browser().ask(pathOf(link));
  assert.deepEqual([response.status, response.headers.location], [302, "https://shop.example/?a=1&b=2"]);
  await eventually(async () => {
    const [hit] = await stack.query(
      `select email_id, source from content.page_hits where contact_id = ${id}`,
    );
    assert.equal(hit?.source, "email");
  });
});

test("a link that is a field of the contact is tracked where its value is on the web, and leads there after the value changed", async () => {
  const emailId = await email({
    customHtml: '<html><body><a href="{contactfield=website}">You</a></body></html>',
    utmTags: { utmSource: "mail" },
  });
  const linkOf = async (website: string) => {
    const reader = await contact({ website });
    await api("POST", `emails/${emailId}/contact/${reader.id}/send`);
    const { html } = await parsed(mailsTo(reader.email)[0]);
    return { ...reader, link: /href="([^"]*)"/.exec(String(html))?.[1]?.replaceAll("&amp;", "&") ?? "" };
  };
  const { id, link } = await linkOf("https://ada.example/me?a=1&b=2");
  await api("PATCH", `contacts/${id}/edit`, { website: "https://evil.example/" });
  const { status, headers } = await browser().ask(pathOf(link));
  assert.deepEqual([status, headers.location], [302, "https://ada.example/me?a=1&b=2&utm_source=mail"]);
  const [redirect] = await stack.query(
    "select id, url from content.page_redirects where url like '{contactfield=website%'",
  );
  assert.equal(redirect?.url, "{contactfield=website}");
  const empty = await linkOf("");
  assert.equal(empty.link, "");
});

test("the picture of a mail counts an open once a person has seen it, and the web view shows the same mail", async () => {
  const emailId = await email();
  const { id, email: address } = await contact();
  await api("POST", `emails/${emailId}/contact/${id}/send`, { tokens: { greeting: "Hi" } });
  const { html } = await parsed(mailsTo(address)[0]);
  const pixel = /src="([^"]*\.gif)"/.exec(String(html))?.[1] ?? "";
  const counts = async () => {
    const { email } = (await api("GET", `emails/${emailId}`)).body as unknown as {
      email: Record<string, number>;
    };
    return [email.sentCount, email.readCount];
  };
  assert.deepEqual(await counts(), [1, 0]);
  const machine = await visitor(baseUrl, { host, agent: "Googlebot/2.1" }).ask(pathOf(pixel));
  assert.equal(machine.status, 200);
  assert.deepEqual(await counts(), [1, 0]);
  for (let open = 0; open < 2; open += 1) {
    const response = await browser().ask(pathOf(pixel));
    assert.equal(response.headers["content-length"], "43");
  }
  assert.deepEqual(await counts(), [1, 1]);
  const view = /href="([^"]*\/email\/view\/[^"]*)"/.exec(String(html))?.[1] ?? "";
  const page = await browser().ask(pathOf(view));
  assert.match(page.text, /<h1>Hello Ada<\/h1><p>Hi<\/p>/);
  await eventually(async () => {
    const [seen] = await stack.query(`select read_count from contact.email_sends where contact_id = ${id}`);
    assert.equal(seen?.read_count, 3);
  });
});

test("a mail has all that its email says: sender, copies, headers, attachments, contents by filters, links with tags", async () => {
  const { name: file } = await uploader(baseUrl).file("assets", "guide.pdf", PDF);
  const { asset } = await made("assets/new", {
    ...{ title: "Guide", storageLocation: "local", file, isPublished: true },
  });
  const emailId = await email({
    ...{
      fromAddress: "{contactfield=attribution_owner|news@mail.example}",
      fromName: "News",
      replyToAddress: "reply@mail.example",
    },
    ...{ bccAddress: "archive@mail.example", preheaderText: "Before all", utmTags: { utmSource: "news" } },
    ...{ headers: { "X-Campaign": "Spring {contactfield=firstname}" }, assetAttachments: [asset.id] },
    subject: "Contents",
    customHtml: `<html><body><p>{dynamiccontent="Greeting"}</p><a href="https://shop.example/a">A</a>
      <a href="https://shop.example/b" svc:disable-tracking>B</a><a href="mailto:shop@mail.example">C</a></body></html>`,
    dynamicContent: [
      {
        tokenName: "Greeting",
        content: "Hello",
        filters: [
          {
            content: "Hello <b>{contactfield=firstname}</b> of Vienna",
            filters: [
              { glue: "and", field: "city", object: "lead", type: "text", operator: "=", filter: "Vienna" },
            ],
          },
        ],
      },
    ],
  });
  const vienna = await contact({ city: "Vienna" });
  const elsewhere = await contact({ city: "Graz" });
  for (const { id } of [vienna, elsewhere]) await api("POST", `emails/${emailId}/contact/${id}/send`);
  const [mail] = mailsTo(vienna.email);
  assert.deepEqual(mail?.to, [vienna.email, "archive@mail.example"]);
  const { from, replyTo, headers, html, text, attachments } = await parsed(mail);
  assert.deepEqual([from?.text, replyTo?.text], ['"News" <news@mail.example>', "reply@mail.example"]);
  assert.equal(headers.get("x-campaign"), "Spring Ada");
  assert.deepEqual(
    attachments.map(({ filename, contentType, content }) => [filename, contentType, content.equals(PDF)]),
    [["Guide.pdf", "application/pdf", true]],
  );
  assert.match(String(html), /<body><div style="display:none[^"]*">Before all<\/div>/);
  assert.match(String(html), /<p>Hello <b>Ada<\/b> of Vienna<\/p>/);
  assert.match(text ?? "", /Hello Ada of Vienna/);
  assert.match(String(html), /href="[^"]*\/r\/[0-9a-f]{25}\?utm_source=news&amp;ct=[^"]*">A/);
  assert.match(
    String(html),
    /href="https:\/\/shop\.example\/b"[^>]*>B<\/a><a href="mailto:shop@mail\.example">C/,
  );
  const other = await parsed(mailsTo(elsewhere.email)[0]);
  assert.match(String(other.html), /<p>Hello<\/p>/);
});

test("a reply proves that a mail was read, and is no open", async () => {
  const emailId = await email();
  const { id } = await contact();
  await api("POST", `emails/${emailId}/contact/${id}/send`);
  const [send] = await stack.query(`select hash from content.sends where contact_id = ${id}`);
  assert.deepEqual(await made(`emails/reply/${send?.hash}`, {}), { success: 1 });
  const [after] = await stack.query(
    `select is_read, open_count, date_read from content.sends where contact_id = ${id}`,
  );
  assert.deepEqual([after?.is_read, after?.open_count], [true, 0]);
  assert.equal((await api("POST", `emails/reply/${randomUUID()}`)).status, 404);
});

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

test("the ledger lists sends of an email and of a contact, and one of unknown outcome is decided once", async () => {
  const emailId = await email();
  const { id, email: address } = await contact();
  for (let time = 0; time < 3; time += 1) await api("POST", `emails/${emailId}/contact/${id}/send`);
  const listed = async (query: string): Promise<Any> => (await api("GET", `sends?${query}`)).body;
  const { sends, next } = await listed(`emailId=${emailId}&limit=2`);
  assert.deepEqual(
    sends.map(({ state, address }: Any) => [state, address]),
    [
      ["sent", address],
      ["sent", address],
    ],
  );
  const rest = await listed(`emailId=${emailId}&limit=2&after=${next}`);
  assert.deepEqual([rest.sends.length, rest.next], [1, null]);
  assert.equal((await listed(`contactId=${id}&state=sent`)).sends.length, 3);
  assert.equal((await api("GET", "sends")).status, 400);
  assert.equal((await api("GET", "sends?emailId=x")).status, 400);
  assert.equal((await api("GET", `sends?emailId=${emailId}&state=lost`)).status, 400);

  const [one, other, third] = [...sends, ...rest.sends];
  await stack.query(`update content.sends set state = 'unknown', date_sent = null where contact_id = ${id}`);
  const resolve = (send: Any, as: string) => api("POST", `sends/${send.id}/resolve`, { as });
  assert.equal((await listed("state=unknown")).sends.length, 3);
  const before = mailsTo(address).length;
  assert.equal(((await resolve(one, "sent")).body as Any).send.state, "sent");
  assert.equal(((await resolve(other, "failed")).body as Any).send.state, "failed");
  assert.equal((await resolve(third, "again")).status, 200);
  await eventually(() => assert.equal(mailsTo(address).length, before + 1));
  assert.equal((await resolve(one, "failed")).status, 409);
  assert.equal((await resolve(one, "perhaps")).status, 400);
  assert.equal((await resolve({ id: 2_000_000_000 }, "sent")).status, 404);
});

test("GET of an unsubscribe link changes nothing; POST holds at once and reaches the contact; it can be taken back", async () => {
  const emailId = await email();
  const { id, email: address } = await contact();
  const send = () => api("POST", `emails/${emailId}/contact/${id}/send`);
  await send();
  const { html } = await parsed(mailsTo(address)[0]);
  const link = pathOf(/href="([^"]*\/email\/unsubscribe\/[^"]*)"/.exec(String(html))?.[1] ?? "");
  assert.doesNotMatch(link, /ada|example/);
  const page = await browser().ask(link);
  assert.match(page.text, /<form method="post"/);
  assert.deepEqual((await send()).body, { success: 1 });
  for (let time = 0; time < 2; time += 1) {
    const done = await browser().ask(link, { method: "POST", body: ONE_CLICK });
    assert.equal(done.status, 200);
  }
  const sent = mailsTo(address).length;
  const refused = (await send()).body;
  assert.deepEqual(refused, { success: false, failed: "Contact has requested to not be emailed." });
  await eventually(async () => {
    assert.deepEqual((await send()).body, {
      success: false,
      failed: "Contact has requested to not be emailed.",
    });
  });
  await eventually(async () => {
    const { contact: told } = (await api("GET", `contacts/${id}`)).body as unknown as {
      contact: { doNotContact: object[] };
    };
    assert.equal(told.doNotContact.length, 1);
  });
  assert.equal(mailsTo(address).length, sent);
  await browser().ask(link.replace("unsubscribe", "resubscribe"), { method: "POST" });
  await eventually(async () => assert.deepEqual((await send()).body, { success: 1 }));
});

test("a reader who unsubscribed sees the form of the email, and can send it without script", async () => {
  const { form } = await made("forms/new", {
    ...{ name: "Why", isPublished: true, postAction: "message", postActionProperty: "Thank you" },
    fields: [{ label: "Why do you leave?", alias: "why", type: "text" }],
  });
  const { id, email: address } = await contact();
  await api("POST", `emails/${await email({ unsubscribeForm: form.id })}/contact/${id}/send`);
  const { html } = await parsed(mailsTo(address)[0]);
  const link = pathOf(/href="([^"]*\/email\/unsubscribe\/[^"]*)"/.exec(String(html))?.[1] ?? "");
  const leave = () => browser().ask(link, { method: "POST" });
  assert.doesNotMatch((await browser().ask(link)).text, /Why do you leave/, "the page before has one button");
  const page = await leave();
  assert.match(page.text, /You are unsubscribed.*Why do you leave\?/s);
  assert.match(String(page.headers["content-security-policy"]), /^default-src 'none'/);
  assert.doesNotMatch(page.text, new RegExp(address));
  const action = /<form[^>]* action="([^"]*\/form\/submit[^"]*)"/.exec(page.text)?.[1] ?? "";
  const values = new URLSearchParams({ "svcform[why]": "Too many mails" });
  for (const [tag] of page.text.matchAll(/<input type="hidden"[^>]*>/g))
    values.append(/name="([^"]*)"/.exec(tag)?.[1] ?? "", /value="([^"]*)"/.exec(tag)?.[1] ?? "");
  const sent = await browser().ask(pathOf(action.replaceAll("&amp;", "&")), {
    method: "POST",
    // A browser says so where a page has the policy `no-referrer` (Fetch, 3.2).
    headers: { "content-type": "application/x-www-form-urlencoded", origin: "null" },
    body: values.toString(),
  });
  assert.ok(sent.status < 400, sent.text);
  await eventually(async () => {
    const { text } = await api("GET", `forms/${form.id}/submissions`);
    assert.match(text, /Too many mails/);
  });
  await api("PATCH", `forms/${form.id}/edit`, { isPublished: false });
  const closed = await leave();
  assert.equal(closed.status, 200);
  assert.doesNotMatch(closed.text, /Why do you leave/);
});

test("a contact who said no, without an address, or whose mailbox is gone, is answered with the reason", async () => {
  const emailId = await email();
  const send = async (id: number) => (await api("POST", `emails/${emailId}/contact/${id}/send`)).body;
  const no = await contact();
  await made(`contacts/${no.id}/dnc/email/add`, { reason: 3 });
  assert.deepEqual(await send(no.id), {
    success: false,
    failed: "Contact was marked as one to not be emailed.",
  });
  const nowhere = await made("contacts/new", { firstname: "Nobody" });
  assert.deepEqual(await send(nowhere.contact.id), {
    success: false,
    failed: "The contact has no email address.",
  });
  const gone = await contact({ email: "gone@example.org" });
  assert.deepEqual(await send(gone.id), { success: false, failed: "5.1.1 no such mailbox" });
  assert.deepEqual(await send(gone.id), { success: false, failed: "Mail to this contact came back." });
  assert.equal((await api("POST", `emails/${emailId}/contact/2000000000/send`)).status, 404);
  assert.equal((await api("POST", `emails/2000000000/contact/${no.id}/send`)).status, 404);
  assert.equal(mailsTo(no.email).length, 0);
});

test("mails are counted by transport and outcome, refused ones apart", async () => {
  const counts = async () => {
    const { value } = await scrapeProcess(stack, "content");
    const transport = `smtp://127.0.0.1:${sink.port}`;
    return ["taken", "refused", "away"].map(
      (outcome) => value("tidings_mail_hand_overs_total", { transport, outcome }) ?? Number.NaN,
    );
  };
  const [taken = 0, refused = 0, away = 0] = await counts();
  const emailId = await email();
  for (const { id } of [await contact(), await contact({ email: "gone-too@example.org" })])
    await api("POST", `emails/${emailId}/contact/${id}/send`);
  await eventually(async () => assert.deepEqual(await counts(), [taken + 1, refused + 1, away]));
});

test("a form leads to a mail with what was sent, once, and a contact who said no gets none", async () => {
  const emailId = await email({
    customHtml: "<p>Hello {contactfield=firstname}, you asked: {formfield=question}</p>",
  });
  const { form } = await made("forms/new", {
    ...{ name: "Ask", isPublished: true, postAction: "message", postActionProperty: "Thanks" },
    fields: [MAIL_FIELD, { label: "Question", alias: "question", type: "text" }],
    actions: [{ name: "Mail", type: "email.send.lead", properties: { email: emailId } }],
  });
  const submit = (mail: string, submissionKey: string) =>
    browser().ask(`/form/submit/ajax?formId=${form.id}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        ...{
          "svcform[mail]": mail,
          "svcform[question]": "<i>Why?</i>",
          "svcform[submissionKey]": submissionKey,
        },
      }).toString(),
    });
  const { email: address } = await contact();
  const key = randomUUID();
  for (let time = 0; time < 2; time += 1) assert.equal((await submit(address, key)).status, 200);
  await eventually(() => assert.equal(mailsTo(address).length, 1));
  const { html } = await parsed(mailsTo(address)[0]);
  assert.match(String(html), /Hello Ada, you asked: (?:&lt;i&gt;)?Why\?/);
  const no = await contact();
  await made(`contacts/${no.id}/dnc/email/add`, {});
  await submit(no.email, randomUUID());
  await eventually(async () => {
    const [row] = await stack.query(`select state, reason from content.sends where contact_id = ${no.id}`);
    assert.deepEqual([row?.state, row?.reason], ["suppressed", "manual"]);
  });
  assert.deepEqual(mailsTo(no.email), []);
});

test("the same Idempotency-Key sends one mail, however often and at once it comes", async () => {
  const { id, email: address } = await contact();
  const emailId = await email();
  const send = () => api("POST", `emails/${emailId}/contact/${id}/send`, {}, { "idempotency-key": "once-1" });
  await Promise.all([send(), send(), send()]);
  const last = await send();
  assert.deepEqual(last.body, { success: 1 });
  assert.equal(mailsTo(address).length, 1);
});

test("an Idempotency-Key is the occasion: it sends one mail or marketing message also once its answer is kept no more", async () => {
  const { id, email: address } = await contact();
  const emailId = await email({ isPublished: true });
  const channels = [{ channel: "email", channelId: emailId, isEnabled: true }];
  const { message } = await made("messages/new", { name: "Offer", isPublished: true, channels });
  const send = (path: string, key: string) => api("POST", path, {}, { "idempotency-key": key });
  const paths = [`emails/${emailId}/contact/${id}/send`, `messages/${message.id}/contact/${id}/send`];
  const first = [];
  for (const path of paths) first.push((await send(path, "kept-1")).body);
  assert.equal(mailsTo(address).length, 2);
  await stack.query("truncate content.kept_answers");
  for (const [index, path] of paths.entries())
    assert.deepEqual((await send(path, "kept-1")).body, first[index]);
  assert.equal(mailsTo(address).length, 2);
  const occasions = await stack.query(
    `select occasion from content.sends where contact_id = ${id} order by id`,
  );
  assert.match(occasions[0]?.occasion ?? "", /^direct:[0-9a-f]{32}$/);
  await send(paths[0] ?? "", "kept-2");
  assert.equal(mailsTo(address).length, 3);
});

test("a mail of the API and of a form is in the language of the contact, and a form sends no email that is not published", async () => {
  const emailId = await email({ isPublished: true, subject: "Hello" });
  const german = { translationParent: emailId, language: "de", subject: "Hallo" };
  await email({ ...german, isPublished: true });
  const hidden = await email({ isPublished: false });
  const subjectsTo = async (address: string) =>
    Promise.all(mailsTo(address).map(async (mail) => (await parsed(mail)).subject));
  const { id, email: address } = await contact({ preferred_locale: "de_AT" });
  await api("POST", `emails/${emailId}/contact/${id}/send`);
  assert.deepEqual(await subjectsTo(address), ["Hallo"]);
  const { form } = await made("forms/new", {
    ...{ name: "Ask", isPublished: true, postAction: "message", postActionProperty: "Thanks" },
    fields: [MAIL_FIELD],
    actions: [hidden, emailId].map((email) => ({
      ...{ name: "Mail", type: "email.send.lead", properties: { email } },
    })),
  });
  const answer = await browser().ask(`/form/submit/ajax?formId=${form.id}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ "svcform[mail]": address }).toString(),
  });
  assert.equal(answer.status, 200);
  await eventually(async () => assert.deepEqual(await subjectsTo(address), ["Hallo", "Hallo"]));
  const outcomes = await stack.query(
    `select state, reason from content.form_action_outcomes where form_id = ${form.id} order by action_id`,
  );
  assert.deepEqual(
    outcomes.map(({ state, reason }) => [state, reason]),
    [
      ["refused", "The email is not published."],
      ["done", null],
    ],
  );
});

test("tokens that are no map, and attachments that are not there, are named", async () => {
  const { id } = await contact();
  const emailId = await email();
  const bodies: [object, string][] = [
    [{ tokens: ["x"] }, "tokens"],
    [{ tokens: "x" }, "tokens"],
    [{ tokens: { "a b": "x" } }, "tokens"],
    [{ tokens: { a: { b: 1 } } }, "tokens.a"],
    [{ assetAttachments: [99_999_999] }, "assetAttachments"],
    [{ assetAttachments: "x" }, "assetAttachments"],
  ];
  for (const [body, field] of bodies) {
    const answer = await api("POST", `emails/${emailId}/contact/${id}/send`, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.ok(answer.text.includes(`"${field}"`), answer.text);
  }
  assert.deepEqual((await api("POST", `emails/${emailId}/contact/${id}/send`, { tokens: [] })).body, {
    success: 1,
  });
});

test("/mail says which mail server mails leave by when none is kept", async () => {
  const administrator = await openSession(baseUrl, ADMINISTRATOR);
  const page = await (await administrator("/mail")).text();
  assert.match(page, new RegExp(`Mails leave by <code>smtp://127\\.0\\.0\\.1:${sink.port}</code>`));
  assert.equal((await administrator("/mail/x@mail.example")).status, 404);
});
