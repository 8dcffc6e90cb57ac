import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { parsed, startMailingStack } from "./mailing-stack.ts";
import { uploader } from "./uploader.ts";

/** Previews, warnings and refusals: what an author learns of an email before it is sent. */

const stack = await startMailingStack({ hasOwnHost: true });
const { api, baseUrl, publicUrl, made, query, sink, mailsTo } = stack;

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

let count = 0;
async function contact(members: object = {}): Promise<{ id: number; email: string }> {
  const email = `ada-${++count}@example.org`;
  return { id: (await made("contacts/new", { email, firstname: "Ada", ...members })).contact.id, email };
}

async function email(members: object = {}): Promise<Any> {
  const asked = { name: "Welcome", subject: "Hello", emailType: "template", ...members };
  return (await made("emails/new", asked)).email;
}

const preview = async (id: number, search = ""): Promise<Any> =>
  (await api("GET", `emails/${id}/preview${search}`)).body;
const codes = ({ warnings }: Any): string[] => warnings.map(({ code }: Any) => code);
const messages = ({ warnings }: Any): string[] => warnings.map(({ message }: Any) => message);
const { list: segment } = await made("segments/new", { name: "Preview" });
const BULK = { emailType: "list", isPublished: true, lists: [segment.id] };

async function asset(members: object = {}, content = "The terms"): Promise<number> {
  const { name: file } = await uploader(baseUrl).file("assets", "terms.txt", content);
  const asked = { title: "Terms", storageLocation: "local", file, isPublished: true, ...members };
  return (await made("assets/new", asked)).asset.id;
}

test("a preview says which links lead by way of us: those that unsubscribe or show the mail do not", async () => {
  const { id } = await email({
    ...BULK,
    customHtml:
      '<a href="https://shop.example/">Shop</a><a href="{unsubscribe_url}">No more</a><a href="{webview_url}">Web</a>',
  });
  const { links } = await preview(id);
  assert.deepEqual(
    links.map(({ tracked }: Any) => tracked),
    [true, false, false],
  );
});

test("a preview is the mail of a contact, warns, and neither sends nor keeps anything", async () => {
  const { id: emailId } = await email({
    ...BULK,
    subject: "Hello {contactfield=firstname}",
    customHtml:
      '<p>{contactfield=firstname}</p><img src="https://shop.example/x.png"><a href="#">x</a><a href="https://shop.example/">y</a>',
  });
  const { id } = await contact();
  const before = sink.taken.length;
  const of = await preview(emailId, `?contactId=${id}`);
  assert.equal(of.subject, "Hello Ada");
  assert.match(of.html, /<p>Ada<\/p>/);
  assert.deepEqual(of.links, [
    { url: "#", tracked: false },
    { url: "https://shop.example/", tracked: true },
  ]);
  assert.deepEqual(codes(of), ["no_unsubscribe", "image_without_alt", "empty_link"]);
  assert.equal((await preview(emailId)).subject, "Hello [First Name]");
  for (const [search, status] of [
    ["contactId=2000000000", 404],
    ["contactId=x", 400],
    ["variant=x", 400],
    ["variant=2000000000", 400],
    ["on=yesterday-ish", 400],
  ])
    assert.equal((await api("GET", `emails/${emailId}/preview?${search}`)).status, status, String(search));
  const [row] = await query(`select count(*)::int as sends from content.sends where email_id = ${emailId}`);
  assert.deepEqual([row?.sends, sink.taken.length], [0, before]);
});

test("a preview shows a variant of the email at a time, and refuses an email of another family", async () => {
  const root = await email({ ...BULK, customHtml: "<p>{today|Y-m-d}</p>" });
  const variant = await email({
    ...BULK,
    ...{ subject: "The other one", customHtml: "<p>B {today|Y-m-d}</p>" },
    ...{ variantParent: root.id, variantSettings: { weight: 50, winnerCriteria: "email.openrate" } },
  });
  const of = await preview(root.id, `?variant=${variant.id}&on=2027-03-01T12:00:00Z`);
  assert.deepEqual([of.subject, of.html.includes("<p>B 2027-03-01</p>")], ["The other one", true]);
  assert.equal((await preview(variant.id, `?variant=${root.id}`)).subject, "Hello");
  const other = await email(BULK);
  const refused = await api("GET", `emails/${root.id}/preview?variant=${other.id}`);
  assert.equal(refused.status, 400);
  assert.ok(JSON.stringify(refused.body).includes("variant"));
});

test("a preview has the headers of the mail and its whole length, with attachments", async () => {
  const content = "x".repeat(10_000);
  const attached = await asset({}, content);
  const members = { customHtml: "<p>Hi</p>", headers: { "X-Campaign": "Spring" } };
  const { id: emailId } = await email({ ...members, assetAttachments: [attached] });
  const { id, email: address } = await contact();
  assert.equal((await api("POST", `emails/${emailId}/contact/${id}/send`)).status, 200);
  const of = await preview(emailId, `?contactId=${id}`);
  const sent = mailsTo(address)[0]?.octets.length ?? 0;
  assert.ok(Math.abs(of.bytes - sent) < 400, `${of.bytes} of ${sent}`);
  const namesOf = ({ headers }: Any) => headers.map(({ name }: Any) => name);
  assert.deepEqual(namesOf(of), ["From", "X-Campaign", "X-EMAIL-ID"]);
  const bulk = await email({ ...BULK, ...members });
  assert.deepEqual(namesOf(await preview(bulk.id)), [
    ...["From", "X-Campaign", "X-EMAIL-ID", "Precedence", "List-ID", "List-Unsubscribe"],
    ...["List-Unsubscribe-Post", "Feedback-ID"],
  ]);
});

test("a preview warns of tokens, fields and contents that nobody knows", async () => {
  const { id: emailId } = await email({
    customHtml:
      '<style>a{x}</style><p>{contactfield=firstname|you} {contactfield=nothing_like_it} {leadfield=a|friend} {dynamiccontent="Gone"}</p>',
  });
  await eventually(async () => {
    const of = await preview(emailId);
    assert.deepEqual(messages(of), [
      "customHtml: {leadfield=a|friend} is no token that has a value here. Its default, or nothing, stands in its place.",
      "{contactfield=nothing_like_it}: contacts have no field of this name.",
      '{dynamiccontent="Gone"}: the email has no content of this name.',
    ]);
  });
  assert.match(
    (await preview(emailId)).html,
    /<style>a\{x\}<\/style><p>you \[nothing_like_it\] friend <\/p>/,
  );
});

test("a preview warns of links that are malformed, of another scheme, or to a page or file of ours that is not published", async () => {
  const { page } = await made("pages/new", { title: "Shown", isPublished: true, customHtml: "<p>x</p>" });
  const { page: hidden } = await made("pages/new", { title: "Hidden", isPublished: false });
  const [open, closed] = [await asset(), await asset({ isPublished: false })];
  const urls = [
    `{pagelink=${page.id}}`,
    `{pagelink=${hidden.id}}`,
    "{pagelink=2000000000}",
    `{assetlink=${open}}`,
    `{assetlink=${closed}}`,
    `${publicUrl}/no-such-page`,
    `${publicUrl}/${page.alias}?utm_source=x`,
    ...["http://[x", "/relative", "javascript:void(0)", "https://shop.example/", "mailto:a@shop.example"],
    ...["tel:+4312345", "#top"],
  ];
  const links = urls.map((url) => `<a href="${url}">x</a>`).join("");
  const { id: emailId } = await email({ customHtml: `<p>${links}</p>` });
  const of = await preview(emailId);
  const origin = new URL(publicUrl).origin;
  const shown = messages(of).map((text) => text.replace(/(?:\?ct=|:terms)[^:]*/, "").replace(origin, ""));
  assert.deepEqual(shown, [
    `/${hidden.alias}: the page is gone or not published.`,
    "A link leads nowhere.",
    `/asset/${closed}: the asset is gone or not published.`,
    "/no-such-page: the page is gone or not published.",
    "http://[x: the address is malformed.",
    "/relative: the address is not complete: it has no scheme such as https.",
    "javascript:void(0): mail programs do not follow links of this scheme.",
  ]);
});

test("tokens that cannot be read are named when the email is saved and by the dry run, and mails have their defaults in place of braces", async () => {
  const unread = ["subject: {greeting} is", "customHtml: {contactfield=firstname|friend, is"];
  const saved = await email({
    ...BULK,
    subject: "Hi {greeting}!",
    customHtml: "<p>Hello {contactfield=firstname|friend, {unsubscribe_url}</p>",
  });
  const isNamed = (of: Any) =>
    assert.deepEqual(
      messages(of).map((text) => unread.findIndex((start) => text.startsWith(start))),
      [0, 1],
    );
  assert.deepEqual(codes(saved), ["unknown_token", "unclosed_token"]);
  isNamed(saved);
  isNamed((await made(`emails/${saved.id}/dry-run`, {})) as Any);
  isNamed({ warnings: (await preview(saved.id)).warnings });
  isNamed(((await api("GET", `emails/${saved.id}`)).body as Any).email);
  const { id, email: address } = await contact({ firstname: "" });
  await api("POST", `emails/${saved.id}/contact/${id}/send`, {});
  const mail = await parsed(mailsTo(address)[0]);
  assert.equal(mail.subject, "Hi !");
  assert.match(String(mail.html), /<p>Hello friend, https?:/);
  // A change of one member keeps the warnings of the others.
  const edited = (await api("PATCH", `emails/${saved.id}/edit`, { subject: "Hi" })).body as Any;
  assert.deepEqual(codes(edited.email), ["unclosed_token"]);
  const mended = (await api("PATCH", `emails/${saved.id}/edit`, { customHtml: "<p>Hello</p>" })).body as Any;
  assert.deepEqual(mended.email.warnings, []);
});

test("an email with too many elements is refused when it is saved, with the member that has them", async () => {
  for (const [name, value] of [
    ["customHtml", "<p>".repeat(100_001)],
    ["dynamicContent", [{ tokenName: "A", content: `{today}${"<p>".repeat(100_001)}` }]],
  ] as const) {
    const { status, body } = await api("POST", "emails/new", {
      name: "Long",
      subject: "Long",
      [name]: value,
    });
    assert.deepEqual([status, Object.keys((body as Any).errors[0].details)], [400, [name]]);
  }
});

test("attachments that no mail can have are refused with the reason, in the email and in a send", async () => {
  const { id } = await contact();
  const emailId = (await email()).id;
  const [open, closed] = [await asset(), await asset({ isPublished: false })];
  const { asset: remote } = await made("assets/new", {
    ...{ title: "Elsewhere", storageLocation: "remote", file: "https://shop.example/a.pdf" },
    isPublished: true,
  });
  const large = await asset();
  await query(`update content.assets set size = 26214401 where id = ${large}`);
  for (const [ids, reason] of [
    [[closed], `Asset ${closed} is not published.`],
    [[open, remote.id], `Asset ${remote.id} is a file elsewhere on the web.`],
    [[open, large], "at most 26214400 are supported"],
    [[2_000_000_000], "There is no asset 2000000000."],
  ] as const) {
    for (const [method, path, members] of [
      ["POST", `emails/${emailId}/contact/${id}/send`, {}],
      ["POST", "emails/new", { name: "x", subject: "x" }],
    ] as const) {
      const { status, body } = await api(method, path, { ...members, assetAttachments: ids });
      const [said] = (body as Any).errors[0].details.assetAttachments;
      assert.equal(status, 400);
      assert.ok(said.includes(reason), said);
    }
  }
});

test("a file that is unpublished later is left out and named by the ledger, and sent files count as downloads", async () => {
  const { id, email: address } = await contact();
  const [open, closed] = [await asset(), await asset()];
  const { id: emailId } = await email({ assetAttachments: [open, closed] });
  assert.equal((await api("PATCH", `assets/${closed}/edit`, { isPublished: false })).status, 200);
  for (let time = 0; time < 2; time += 1)
    assert.equal((await api("POST", `emails/${emailId}/contact/${id}/send`)).status, 200);
  const { attachments } = await parsed(mailsTo(address)[0]);
  assert.equal(attachments.length, 1);
  const { sends } = (await api("GET", `sends?emailId=${emailId}`)).body as Any;
  const reason = `Sent without an attachment: asset ${closed} is not published.`;
  assert.deepEqual([sends[0].state, sends[0].reason], ["sent", reason]);
  const counted = ((await api("GET", `assets/${open}`)).body as Any).asset;
  assert.deepEqual([counted.downloadCount, counted.uniqueDownloadCount], [2, 1]);
  const rows = await query(
    `select asset_id, contact_id, email_id, source, source_id, code, is_unique from content.asset_downloads where email_id = ${emailId} order by id`,
  );
  const row = {
    asset_id: open,
    contact_id: id,
    email_id: emailId,
    source: "email",
    source_id: emailId,
    code: 200,
  };
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [true, false].map((is_unique) => ({ ...row, is_unique })),
  );
  await query(`update content.assets set size = 26214401 where id = ${open}`);
  const refused = (await api("POST", `emails/${emailId}/contact/${id}/send`)).body as Any;
  assert.equal(refused.success, false);
  assert.match(refused.failed, /at most 26214400/);
});
