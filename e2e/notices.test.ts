import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { MAIL_FIELD } from "./form-fields.ts";
import { GONE, parsed, startMailingStack } from "./mailing-stack.ts";
import { newPerson } from "./people.ts";
import { ADMINISTRATOR } from "./stack.ts";
import { visitor } from "./visitor.ts";

/** Mails to users and to addresses: tests of emails, emails to colleagues, results of forms. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const failing = await startReceiver({ respond: () => ({ status: 500 }) });
after(() => failing.stop());
const stack = await startMailingStack({ server: GONE, content: { OUTBOUND_ALLOW_CIDRS: "127.0.0.1/32" } });
const { api, baseUrl, made, mailsTo, query } = stack;
const addressesOf = (list: unknown) =>
  ((list as { value?: { address?: string }[] })?.value ?? []).map(({ address }) => address);

const { email } = await made("emails/new", {
  ...{ name: "News", subject: "News for {contactfield=firstname}", emailType: "template" },
  customHtml: `<p>Hello {contactfield=firstname}, {formfield=question}</p>
    <a href="https://shop.example/">Shop</a> <a href="{unsubscribe_url}">Leave</a>`,
});
const { contact } = await made("contacts/new", { email: "ada@notices.example", firstname: "Ada" });

/** A form with a question, whose submissions have these actions. */
async function newForm(...actions: object[]): Promise<number> {
  const { form } = await made("forms/new", {
    ...{ name: "Ask", isPublished: true, postAction: "message", postActionProperty: "Thanks" },
    fields: [MAIL_FIELD, { label: "Question", alias: "question", type: "text" }],
    actions,
  });
  return form.id;
}

async function submit(formId: number, mail: string, question: string, key = randomUUID()): Promise<void> {
  const fields = { "svcform[mail]": mail, "svcform[question]": question, "svcform[submissionKey]": key };
  const answer = await visitor(baseUrl).ask(`/form/submit/ajax?formId=${formId}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields).toString(),
  });
  assert.equal(answer.status, 200);
}

const outcomesOf = (formId: number) =>
  query(
    `select type, state, reason from content.form_action_outcomes where form_id = ${formId} order by action_id`,
  );

test("a test mail goes to the caller, is marked, has the values of a contact, and counts nowhere", async () => {
  const person = await newPerson(stack, { "email:emails": ["full"], "lead:leads": ["full"] });
  const address = `${person.username}@example.com`;
  await eventually(async () => {
    const answer = await person.api("POST", `emails/${email.id}/test`, { contactId: contact.id });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body, { success: true, recipients: [{ address, state: "sent" }] });
  });
  const [mail, ...more] = mailsTo(address);
  assert.deepEqual(more, []);
  const { subject, html, headers } = await parsed(mail);
  assert.equal(subject, "[TEST] News for Ada");
  assert.match(String(html), /Hello Ada, <\/p>/);
  assert.match(String(html), /href="https:\/\/shop\.example\/"/);
  assert.equal(headers.get("auto-submitted"), "auto-generated");
  assert.deepEqual(await query(`select id from content.sends where contact_id = ${contact.id}`), []);
  const [row] = await query(`select sent_count from content.emails where id = ${email.id}`);
  assert.equal(row?.sent_count, 0);
});

test("GET /sends?channel=notice lists mails to users and addresses for an administrator, by email, contact and state", async () => {
  const { contact: other } = await made("contacts/new", { email: "bea@notices.example", firstname: "Bea" });
  const tester = await newPerson(stack, { "email:emails": ["full"], "lead:leads": ["full"] });
  for (let time = 0; time < 2; time += 1)
    await eventually(async () => {
      const answer = await tester.api("POST", `emails/${email.id}/test`, { contactId: other.id });
      assert.equal(answer.status, 200, answer.text);
    });
  const listed = async (query: string): Promise<Any> => {
    const answer = await api("GET", `sends?channel=notice&${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const { sends, next } = await listed(`contactId=${other.id}&emailId=${email.id}`);
  assert.deepEqual([sends.length, next], [2, null]);
  const [{ id, occasion, hash, dueAt, startedAt, dateSent, ...row }] = sends;
  assert.match(id, /^notice-\d+$/);
  assert.match(occasion, /^test:/);
  assert.ok(hash && [dueAt, startedAt, dateSent].every((time) => Date.parse(time) > 0));
  assert.deepEqual(row, {
    ...{ channel: "notice", state: "sent", reason: null, emailId: email.id, contactId: other.id, code: 250 },
    address: `${tester.username}@example.com`,
  });
  for (const query of ["", `emailId=${email.id}`, "state=sent", `emailId=${email.id}&state=sent`]) {
    const page = await listed(`${query}&limit=1`);
    const rest = await listed(`${query}&limit=1&after=${page.next}`);
    assert.deepEqual([page.sends[0].id, rest.sends[0].id], [sends[0].id, sends[1].id], query);
  }
  assert.deepEqual((await listed(`contactId=${other.id}&state=failed`)).sends, []);
  assert.equal((await api("GET", "sends?channel=notice&smsId=1")).status, 400);
  assert.equal((await tester.api("GET", "sends?channel=notice")).status, 403);
});

test("a test mail reaches users alone, and those that the caller may see", async () => {
  const other = await newPerson(stack, {});
  const person = await newPerson(stack, { "email:emails": ["full"] });
  await eventually(async () => {
    const [row] = await query(`select count(*) from content.users where id in (${other.id}, ${person.id})`);
    assert.equal(row?.count, "2");
  });
  const theirs = `${other.username}@example.com`;
  const refused: [object, string][] = [
    [{ addresses: ["victim@elsewhere.example"] }, "addresses[0]"],
    [{ addresses: [theirs] }, "addresses[0]"],
    [{ users: [other.id] }, "users"],
    [{ users: [2_000_000_000] }, "users"],
    [{ users: "1" }, "users"],
    [{ addresses: Array.from({ length: 21 }, () => "a@b.example") }, "addresses"],
  ];
  for (const [body, field] of refused) {
    const answer = await person.api("POST", `emails/${email.id}/test`, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.ok(answer.text.includes(field), answer.text);
  }
  const hidden = await person.api("POST", `emails/${email.id}/test`, { contactId: contact.id });
  assert.equal(hidden.status, 403);
  const seen = await api("POST", `emails/${email.id}/test`, { addresses: [theirs.toUpperCase()] });
  assert.equal(seen.status, 200, seen.text);
  assert.equal(mailsTo(theirs).length, 1);
});

test("an email of an earlier version that is too large to be written is refused, and sends no test mail", async () => {
  const { email } = await made("emails/new", { name: "Large", subject: "Large", customHtml: "<p>" });
  await query(
    `update content.emails set custom_html = '{today}' || repeat('<p>', 300000) where id = ${email.id}`,
  );
  const refused = await api("POST", `emails/${email.id}/test`);
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.text, /elements are supported/);
});

test("a user gets no more than 30 test mails sent an hour, however many are asked for at once", async () => {
  const person = await newPerson(stack, { "email:emails": ["full"] });
  await eventually(async () => {
    const first = await person.api("POST", `emails/${email.id}/test`);
    assert.equal(first.status, 200, first.text);
  });
  const answers = await Promise.all(
    Array.from({ length: 33 }, () => person.api("POST", `emails/${email.id}/test`)),
  );
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.equal(mailsTo(`${person.username}@example.com`).length, 30);
});

test("the results of a form go to its addresses once each, in copy and reply as it says, and a bad one stops no other", async () => {
  const formId = await newForm({
    ...{ name: "Results", type: "form.email" },
    properties: {
      ...{ subject: "From {contactfield=email}", message: "<p>Asked: {formfield=question}</p>" },
      ...{
        to: "desk@notices.example, gone@notices.example",
        cc: "chief@notices.example",
        bcc: "log@notices.example",
      },
      ...{ set_replyto: 1, copy_lead: 1 },
    },
  });
  const key = randomUUID();
  const question = "Why & {contactfield=firstname}?";
  for (let time = 0; time < 2; time += 1) await submit(formId, "ada@notices.example", question, key);
  const all = ["desk", "chief", "log"].map((name) => `${name}@notices.example`);
  await eventually(() => {
    for (const address of [...all, "ada@notices.example"]) assert.equal(mailsTo(address).length, 1, address);
  });
  for (const address of all) {
    const { subject, html, to, cc, bcc, replyTo } = await parsed(mailsTo(address)[0]);
    assert.equal(subject, "From ada@notices.example");
    assert.match(String(html), /Asked: Why &amp; \{contactfield=firstname\}\?/);
    assert.deepEqual(addressesOf(to), ["desk@notices.example", "gone@notices.example"]);
    assert.deepEqual([addressesOf(cc), bcc], [["chief@notices.example"], undefined]);
    assert.deepEqual(addressesOf(replyTo), ["ada@notices.example"]);
  }
  const copy = await parsed(mailsTo("ada@notices.example")[0]);
  assert.deepEqual([addressesOf(copy.to), copy.cc], [["ada@notices.example"], undefined]);
  await eventually(async () => {
    const [gone] = await query(
      `select state, code from content.notices where address = 'gone@notices.example'`,
    );
    assert.deepEqual([gone?.state, gone?.code], ["failed", 550]);
  });
  assert.deepEqual(
    (await outcomesOf(formId)).map(({ state }) => state),
    ["done"],
  );
});

test("a form without a message sends all results, and no copy to a contact who said no", async () => {
  const no = (await made("contacts/new", { email: "no@notices.example" })).contact;
  await made(`contacts/${no.id}/dnc/email/add`, {});
  const properties = { to: "table@notices.example", copy_lead: true };
  const formId = await newForm({ name: "Results", type: "form.email", properties });
  await submit(formId, "no@notices.example", "Why not & when?");
  await eventually(() => assert.equal(mailsTo("table@notices.example").length, 1));
  const { subject, html } = await parsed(mailsTo("table@notices.example")[0]);
  assert.equal(subject, "Results of the form Ask");
  assert.match(String(html), /Question<\/th><td>Why not &amp; when\?<\/td>/);
  await eventually(async () => {
    const [copy] = await query(
      `select state, reason from content.notices where is_to_contact and contact_id = ${no.id}`,
    );
    assert.deepEqual([copy?.state, copy?.reason], ["suppressed", "manual"]);
  });
  assert.deepEqual(mailsTo("no@notices.example"), []);
});

test("a form sends an email to users with the values of its contact, and links in it unsubscribe nobody", async () => {
  const { users } = (await api("GET", `users?search=${ADMINISTRATOR.username}`)).body as unknown as {
    users: Record<string, { id: number; email: string }>;
  };
  const [admin] = Object.values(users);
  assert.ok(admin);
  const properties = { useremail: { email: email.id }, user_id: [admin.id] };
  const formId = await newForm({ name: "Tell", type: "email.send.user", properties });
  await submit(formId, "ada@notices.example", "When?");
  await eventually(() => {
    assert.equal(mailsTo(admin.email).length, 1);
  });
  const { html, subject } = await parsed(mailsTo(admin.email)[0]);
  assert.equal(subject, "News for Ada");
  assert.match(String(html), /Hello Ada, When\?/);
  const leave = /href="([^"]*\/email\/unsubscribe\/[^"]*)"/.exec(String(html))?.[1] ?? "";
  const answer = await visitor(baseUrl).ask(new URL(leave).pathname, { method: "POST" });
  assert.equal(answer.status, 404);
});

test("a submission that another form did not take is reported to the address for failures", async () => {
  const properties = { post_url: failing.url, failure_email: "ops@notices.example" };
  const formId = await newForm({ name: "Post", type: "form.repost", properties });
  await submit(formId, "ada@notices.example", "Lost?");
  await eventually(() => assert.equal(mailsTo("ops@notices.example").length, 1));
  const { text } = await parsed(mailsTo("ops@notices.example")[0]);
  assert.match(text ?? "", /answered 500[\s\S]*question: Lost\?/);
});

test("notices of an erased contact go with it", async () => {
  const address = "erased@notices.example";
  const erased = (await made("contacts/new", { email: address })).contact;
  const formId = await newForm({
    ...{ name: "Results", type: "form.email" },
    properties: { to: "archive@notices.example" },
  });
  await submit(formId, address, "Forget me");
  await eventually(() => assert.equal(mailsTo("archive@notices.example").length, 1));
  assert.equal((await api("DELETE", `contacts/${erased.id}/delete`)).status, 200);
  await eventually(async () => {
    assert.deepEqual(await query(`select id from content.notices where contact_id = ${erased.id}`), []);
  });
});
