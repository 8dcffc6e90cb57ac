import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { parsed, startMailingStack } from "./mailing-stack.ts";
import { make, personBody } from "./people.ts";
import { visitor } from "./visitor.ts";

/** Mails from the owners of their contacts, and what they say of them. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const { privateKey } = generateKeyPairSync("ed25519");
const stack = await startMailingStack({
  hasOwnHost: true,
  content: {
    MAIL_DKIM_KEYS: `sales.example:s1:${privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")}`,
    MAIL_OWNER_AS_MAILER: "true",
    MAIL_SIGNATURE: "<p>Yours, |FROM_NAME|</p>",
  },
});
const { api, baseUrl, publicUrl, made, mailsTo, query } = stack;
const role = await make(api, "roles", "role", { name: "Sales", rawPermissions: { "lead:leads": ["full"] } });

let count = 0;
/** A user whom the content service knows. */
async function ownerOf(members: object): Promise<number> {
  const { id } = await make(api, "users", "user", personBody(role.id, members));
  await eventually(async () =>
    assert.equal((await query(`select from content.users where id = ${id}`)).length, 1),
  );
  return id;
}

async function contactOf(owner: number | null): Promise<{ id: number; email: string }> {
  const email = `reader-${++count}@example.org`;
  const { contact } = await made("contacts/new", { email, firstname: "Ada", ...(owner && { owner }) });
  return { id: contact.id, email };
}

const TOKENS =
  "<p>{ownerfield=firstname}|{ownerfield=lastname}|{ownerfield=email}|{ownerfield=position}</p>{signature}";
async function emailOf(members: object = {}): Promise<number> {
  const { email } = await made("emails/new", {
    ...{ name: "Offer", subject: "From {ownerfield=firstname}", emailType: "template" },
    customHtml: `<html><body>${TOKENS}<a href="{webview_url}">View</a></body></html>`,
    ...members,
  });
  return email.id;
}

/** The mail of an email to a new contact. */
async function mailOf(emailId: number, owner: number | null) {
  const contact = await contactOf(owner);
  const answer = await api("POST", `emails/${emailId}/contact/${contact.id}/send`);
  assert.deepEqual(answer.body, { success: 1 }, answer.text);
  const [taken] = mailsTo(contact.email);
  const mail = await parsed(taken);
  return { ...mail, octets: taken?.octets ?? "", contact, page: String(mail.html) };
}

const grace = await ownerOf({
  ...{ firstName: "Grace", lastName: "O'Hara", email: "grace@sales.example", position: "R&D" },
  signature: "<b>Grace</b> <i>|FROM_NAME|</i><script>alert(1)</script>",
});

test("a mail of useOwnerAsMailer is from the owner, who gets the replies, and its web view, preview, test and webhook say the same", async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const triggers = ["svc.email_on_send"];
  const { hook } = await made("hooks/new", { name: "Mails", webhookUrl: receiver.url, triggers });
  t.after(() => api("DELETE", `hooks/${hook.id}/delete`));
  const emailId = await emailOf();
  const { from, replyTo, subject, page, text, octets, contact } = await mailOf(emailId, grace);
  const written = '"Grace O\'Hara" <grace@sales.example>';
  assert.deepEqual([from?.text, replyTo?.text, subject], [written, written, "From Grace"]);
  assert.match(octets, /^DKIM-Signature: [^\r]*d=sales\.example/m);
  const said = "<p>Grace|O&#39;Hara|grace@sales.example|R&amp;D</p><b>Grace</b> <i>Grace O&#39;Hara</i>";
  assert.ok(page.includes(said), page);
  assert.doesNotMatch(page, /script/);
  assert.match(text ?? "", /R&D\s+Grace Grace O'Hara/);
  const view = /href="([^"]*\/email\/view\/[^"]*)"/.exec(page)?.[1] ?? "";
  const { host } = new URL(publicUrl);
  const shown = await visitor(baseUrl, { host }).ask(view.slice(new URL(publicUrl).origin.length));
  assert.ok(shown.text.includes(said), shown.text);
  const preview = (await api("GET", `emails/${emailId}/preview?contactId=${contact.id}`)).body as Any;
  assert.ok(preview.html.includes(said));
  assert.deepEqual(
    ["From", "Reply-To"].map((name) => preview.headers.find((one: Any) => one.name === name)?.value),
    Array(2).fill("Grace O'Hara <grace@sales.example>"),
  );
  const tested = (await api("POST", `emails/${emailId}/test`, { users: [grace], contactId: contact.id }))
    .body as Any;
  assert.deepEqual(tested.recipients, [{ address: "grace@sales.example", state: "sent" }]);
  const test_ = await parsed(mailsTo("grace@sales.example")[0]);
  assert.deepEqual([test_.from?.text, test_.replyTo?.text], [written, written]);
  const [request] = await receiver.waitFor(1);
  const [[, [item]]] = Object.entries(JSON.parse(request?.body ?? "{}")) as [[string, [Any]]];
  assert.ok(JSON.stringify(item).includes(JSON.stringify(said).slice(1, -1)), request?.body);
});

test("without an owner, or where the email does not want it, a mail is from its email and signed with the usual signature", async () => {
  const stranger = await mailOf(await emailOf(), null);
  assert.equal(stranger.from?.text, '"Shop" <shop@mail.example>');
  assert.equal(stranger.replyTo, undefined);
  assert.ok(stranger.page.includes("<p>|||</p><p>Yours, Shop</p>"), stranger.page);
  const own = await mailOf(
    await emailOf({
      ...{
        useOwnerAsMailer: false,
        fromAddress: "news@mail.example",
        fromName: "<i>News</i> & {contactfield=firstname}",
      },
    }),
    grace,
  );
  assert.equal(own.from?.value[0]?.address, "news@mail.example");
  assert.ok(own.page.includes("<p>Grace|"), own.page);
  assert.ok(own.page.includes("Yours, News &amp; Ada"), own.page);
  const replied = await mailOf(await emailOf({ replyToAddress: "desk@mail.example" }), grace);
  assert.deepEqual(
    [replied.from?.value[0]?.address, replied.replyTo?.text],
    ["grace@sales.example", "desk@mail.example"],
  );
});

test("an owner whose address no key signs gets the replies, and one who may sign in no more gets nothing", async () => {
  const emailId = await emailOf();
  const foreign = await ownerOf({ email: "joan@elsewhere.example", firstName: "Joan" });
  const usual = await ownerOf({ email: "kay@mail.example", firstName: "Kay", lastName: "Mauchly" });
  const gone = await ownerOf({ email: "gone@sales.example", firstName: "Gone", isPublished: false });
  const senders = async (owner: number) => {
    const { from, replyTo, page } = await mailOf(emailId, owner);
    return [from?.value[0]?.address, replyTo?.value[0]?.address, /<p>(\w*)/.exec(page)?.[1]];
  };
  assert.deepEqual(await senders(foreign), ["shop@mail.example", "joan@elsewhere.example", "Joan"]);
  assert.deepEqual(await senders(usual), ["kay@mail.example", "kay@mail.example", "Kay"]);
  assert.deepEqual(await senders(gone), ["shop@mail.example", undefined, "Gone"]);
});

test("a hostile name adds no header and no markup, and a changed one is in mails within a minute", async () => {
  const hostile = 'Eve"\\ <img src=x> ž';
  const owner = await ownerOf({ email: "eve@sales.example", firstName: "Eve", lastName: "x" });
  await query(
    `update content.users set first_name = E'Eve\\r\\nBcc: all@victim.example\\r\\n', last_name = '${hostile}', signature = '"><b onclick=x>Bye' where id = ${owner}`,
  );
  const emailId = await emailOf();
  const { octets, from, page } = await mailOf(emailId, owner);
  assert.doesNotMatch(octets.slice(0, octets.indexOf("\r\n\r\n")), /^Bcc:/im);
  assert.equal(from?.value.length, 1);
  assert.deepEqual(from?.value[0]?.address, "eve@sales.example");
  assert.doesNotMatch(page, /<img src=x>|onclick/);
  assert.equal((await api("PATCH", `users/${owner}/edit`, { firstName: "Evelyn" })).status, 200);
  await eventually(async () => assert.match((await mailOf(emailId, owner)).page, /<p>Evelyn\|/), {
    timeoutMs: 60_000,
  });
});
