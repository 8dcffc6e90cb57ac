import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endingTokens, publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { TOKEN_PURPOSES } from "@tidings/secrets/token-purpose";
import { eventually } from "@tidings/testkit/eventually";
import { make, newPerson } from "./people.ts";
import { query } from "./query.ts";
import { startVisitedStack } from "./visited-stack.ts";
import { visitor } from "./visitor.ts";

/** Pages, forms and emails as a contact would find them on some day, by a signed address; and emails that anybody may see. */

const KEY = generateSecretKey();
const stack = await startVisitedStack({ hasOwnHost: true, env: { content: { PUBLIC_TOKEN_KEYS: KEY } } });
after(() => stack.stop());
const { api, baseUrl, database, publicUrl } = stack;
const { host } = new URL(publicUrl);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;
const browse = () => visitor(baseUrl, { host });
const newPage = (members: object): Promise<Any> =>
  make(api, "pages", "page", { isPublished: true, customHtml: "<p>Text</p>", ...members });
const newForm = (members: object): Promise<Any> =>
  make(api, "forms", "form", {
    name: "Ask",
    postAction: "message",
    postActionProperty: "Thanks",
    fields: [
      {
        label: "First",
        alias: "first",
        type: "text",
        mappedObject: "contact",
        mappedField: "firstname",
        isAutoFill: true,
      },
    ],
    ...members,
  });
const newEmail = (members: object): Promise<Any> =>
  make(api, "emails", "email", { name: "News", subject: "News", customHtml: "<p>Text</p>", ...members });
const linkTo = async (path: string, body: object = {}): Promise<string> => {
  const answer = await api("POST", `${path}/preview-link`, body);
  assert.equal(answer.status, 200, answer.text);
  return pathOf((answer.body as Any).url);
};
const pathOf = (url: string) => {
  const { origin, pathname, search } = new URL(url);
  assert.equal(origin, publicUrl);
  return pathname + search;
};
const look = (path: string) => browse().ask(path);
const answerOf = ({ status, text, headers }: Any) => [status, text, headers["content-security-policy"]];

test("a preview link shows a page that is not published, with the values of its contact", async () => {
  const contact = await make(api, "contacts", "contact", {
    firstname: "<b>Ada",
    email: "ada@preview.example",
  });
  const page = await newPage({
    title: "Draft",
    isPublished: false,
    customHtml: "Hi {contactfield=firstname|friend}, {pagetitle}",
  });
  const link = await linkTo(`pages/${page.id}`, { contactId: contact.id });
  const shown = await look(link);
  assert.equal(shown.status, 200);
  assert.match(shown.text, /Hi &lt;b&gt;Ada, Draft|Hi Ada, Draft/);
  assert.match((await look(await linkTo(`pages/${page.id}`))).text, /Hi friend, Draft/);
  assert.equal((await look("/draft")).status, 401);
});

test("dates on a page are those of its reader's time zone, and UTC for somebody who is not known", async () => {
  const kiritimati = { firstname: "Tia", timezone: "Pacific/Kiritimati" };
  const contact = await make(api, "contacts", "contact", kiritimati);
  const page = await newPage({ title: "Day", customHtml: "It is {today|Y-m-d H:i}." });
  const at = "2031-03-01T12:30:00Z";
  const ofContact = await look(await linkTo(`pages/${page.id}`, { contactId: contact.id, at }));
  assert.match(ofContact.text, /It is 2031-03-02 02:30\./);
  assert.match((await look(await linkTo(`pages/${page.id}`, { at }))).text, /It is 2031-03-01 12:30\./);
});

test("a preview sets no cookie, counts nothing, and is kept by nobody", async () => {
  const page = await newPage({ title: "Quiet", customHtml: "Quiet {form=1} {dwc=top}" });
  const rows = async () =>
    query(
      database,
      `select (select count(*) from content.page_hits) as hits, (select count(*) from content.visitor_devices) as devices,
         (select count(*) from content.dynamic_content_stats) as shown, (select hits from content.pages where id = ${page.id}) as counted`,
    );
  const before = await rows();
  const path = await linkTo(`pages/${page.id}`);
  const { status, headers, text } = await look(path);
  assert.equal(status, 200);
  assert.equal(headers["set-cookie"], undefined);
  assert.equal(headers["cache-control"], "no-store");
  assert.match(String(headers["x-robots-tag"]), /noindex/);
  assert.equal(headers["referrer-policy"], "no-referrer");
  const policy = String(headers["content-security-policy"]);
  assert.match(policy, /^sandbox /);
  assert.doesNotMatch(policy, /allow-same-origin|allow-forms/);
  assert.doesNotMatch(text, /mtc\.js|svc-hit/);
  // A page may include the tracking script itself.
  const report = await browse().hit({ page_url: publicUrl + path, page_title: "Quiet" });
  assert.equal(report.json.id, null);
  await browse().ask(`/mtracking.gif?page_url=${encodeURIComponent(publicUrl + path)}`);
  assert.deepEqual(await rows(), before);
});

test("a preview shows the page, its variants and its slots as they are at its time", async () => {
  const contact = await make(api, "contacts", "contact", { firstname: "Grace", city: "Vienna" });
  const page = await newPage({
    title: "Spring",
    publishUp: "2031-03-01 00:00:00",
    publishDown: "2031-06-01 00:00:00",
    redirectType: 302,
    redirectUrl: "https://shop.example/",
    customHtml: "main {today|date} {dwc=season}",
  });
  await newPage({
    title: "Spring B",
    variantParent: page.id,
    variantSettings: { weight: 100 },
    publishUp: "2031-05-01 00:00:00",
    customHtml: "variant {dwc=season}",
  });
  await make(api, "dynamiccontents", "dynamicContent", {
    name: "Season",
    isPublished: true,
    isCampaignBased: false,
    slotName: "season",
    publishUp: "2031-04-01 00:00:00",
    content: "blossoms",
    filters: [
      {
        glue: "and",
        field: "city",
        object: "lead",
        type: "text",
        operator: "=",
        properties: { filter: "Vienna" },
      },
    ],
  });
  const at = async (time: string) =>
    look(await linkTo(`pages/${page.id}`, { contactId: contact.id, at: time }));
  const early = await at("2031-02-01");
  assert.deepEqual([early.status, early.headers.location], [302, "https://shop.example/"]);
  assert.match((await at("2031-03-15")).text, /main March 15, 2031 \s*</);
  await eventually(async () => assert.match((await at("2031-04-15")).text, /main .*blossoms/));
  assert.match((await at("2031-05-15")).text, /variant blossoms/);
  assert.equal((await at("2031-07-01")).status, 302);
  assert.equal((await look("/spring")).status, 302);
});

test("a preview is in the language of its contact, and a variant is shown by a link of its own", async () => {
  const german = await make(api, "contacts", "contact", { firstname: "Emmy", preferred_locale: "de_AT" });
  const page = await newPage({ title: "Greeting", customHtml: "Hello" });
  await newPage({ title: "Gruss", language: "de", translationParent: page.id, customHtml: "Servus" });
  const variant = await newPage({
    title: "Greeting B",
    variantParent: page.id,
    isPublished: false,
    customHtml: "Hey",
  });
  assert.match((await look(await linkTo(`pages/${page.id}`, { contactId: german.id }))).text, /Servus/);
  assert.match((await look(await linkTo(`pages/${page.id}`))).text, /Hello/);
  assert.match((await look(await linkTo(`pages/${variant.id}`))).text, /Hey/);
});

test("a form is previewed as its contact finds it, and cannot be sent from there", async () => {
  const contact = await make(api, "contacts", "contact", { firstname: "Hedy" });
  const form = await newForm({ isPublished: false, publishUp: "2031-03-01 00:00:00" });
  const body = { contactId: contact.id, at: "2031-04-01" };
  const shown = await look(await linkTo(`forms/${form.id}`, body));
  assert.equal(shown.status, 200);
  assert.match(shown.text, /value="Hedy"/);
  assert.doesNotMatch(shown.text, /script\.js/);
  assert.equal(shown.headers["set-cookie"], undefined);
  assert.doesNotMatch(String(shown.headers["content-security-policy"]), /allow-forms/);
  assert.match(String(shown.headers["x-robots-tag"]), /noindex/);
  const early = await look(await linkTo(`forms/${form.id}`, { at: "2031-02-01" }));
  assert.match(early.text, /available from 2031-03-01/);
  const page = await newPage({ title: "With form", isPublished: false, customHtml: `{form=${form.id}}` });
  assert.doesNotMatch((await look(await linkTo(`pages/${page.id}`))).text, /svcform/);
  const published = await newForm({ name: "Open", isPublished: true });
  const open = await newPage({ title: "With open form", customHtml: `{form=${published.id}}` });
  const inPage = await look(await linkTo(`pages/${open.id}`));
  assert.match(inPage.text, /svcform\[first\]/);
  assert.doesNotMatch(inPage.text, /script\.js/);
  assert.equal((await look(`/form/${form.id}`)).status, 404);
});

test("a token that is forged, cut, over, or for something else is answered as none, byte for byte", async () => {
  const page = await newPage({ title: "Secret", isPublished: false, customHtml: "Secret" });
  const other = await newPage({ title: "Other secret", isPublished: false });
  const form = await newForm({ isPublished: false });
  const good = await linkTo(`pages/${page.id}`);
  const token = new URL(good, publicUrl).searchParams.get("preview") ?? "";
  const [text = "", mac = ""] = token.split(".");
  const at = Date.now();
  const preview = endingTokens([KEY], "preview");
  const lasting = Object.entries(TOKEN_PURPOSES).flatMap(([purpose, kind]) =>
    kind === "lasting"
      ? [publicTokens([KEY], purpose as "click").sign(`${at + 60_000} page ${page.id}  ${at}`)]
      : [],
  );
  const bad = [
    "",
    "x",
    text,
    token.slice(0, -1),
    `${text}.${mac.split("").toReversed().join("")}`,
    preview.sign(`page ${page.id}  ${at}`, at - 1),
    preview.sign(`page ${other.id}  ${at}`, at + 60_000),
    preview.sign(`form ${page.id}  ${at}`, at + 60_000),
    endingTokens([generateSecretKey()], "preview").sign(`page ${page.id}  ${at}`, at + 60_000),
    endingTokens([KEY], "device").sign(`page ${page.id}  ${at}`, at + 60_000),
    ...lasting,
  ];
  const unknown = await look(`/page/preview/2000000000?preview=${token}`);
  assert.equal(unknown.status, 404);
  for (const each of bad)
    assert.deepEqual(
      answerOf(await look(`/page/preview/${page.id}?preview=${each}`)),
      answerOf(unknown),
      each,
    );
  for (const path of [`/page/preview/${page.id}`, `/page/preview/0${page.id}?preview=${token}`])
    assert.deepEqual(answerOf(await look(path)), answerOf(unknown), path);
  assert.equal((await look(`/form/preview/${form.id}?preview=${token}`)).status, 404);
  assert.match((await look(good)).text, /Secret/);
  await api("DELETE", `pages/${page.id}/delete`);
  assert.deepEqual(answerOf(await look(good)), answerOf(unknown));
});

test("POST /pages/<id>/preview-link refuses what the caller may not view, and links of more than 720 hours", async () => {
  const page = await newPage({ title: "Bounded" });
  const path = `pages/${page.id}/preview-link`;
  const contact = await make(api, "contacts", "contact", { firstname: "Hidden" });
  const link = await api("POST", path, { hours: 720 });
  const { expiresAt } = link.body as Any;
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 720 * 3_600_000) < 60_000, expiresAt);
  for (const [body, field] of [
    [{ hours: 0 }, "hours"],
    [{ hours: 721 }, "hours"],
    [{ hours: "x" }, "hours"],
    [{ at: "05/01/2031" }, "at"],
    [{ contactId: 2_000_000_000 }, "contactId"],
    [{ contactId: -1 }, "contactId"],
  ] as const) {
    const refused = await api("POST", path, body);
    assert.equal(refused.status, 400, JSON.stringify(body));
    assert.match(refused.text, new RegExp(field));
  }
  assert.equal((await api("POST", "pages/2000000000/preview-link", {})).status, 404);
  const author = await newPerson(stack, { "page:pages": ["viewown", "viewother"] });
  assert.equal((await author.api("POST", path, {})).status, 200);
  assert.equal((await author.api("POST", path, { contactId: contact.id })).status, 400);
  const own = await newPerson(stack, { "page:pages": ["viewown"], "lead:leads": ["viewown"] });
  assert.equal((await own.api("POST", path, {})).status, 404);
  const reader = await newPerson(stack, {
    "page:pages": ["viewother", "viewown"],
    "lead:leads": ["viewown"],
  });
  assert.equal((await reader.api("POST", path, { contactId: contact.id })).status, 400);
  await api("PATCH", `contacts/${contact.id}/edit`, { owner: reader.id });
  assert.equal((await reader.api("POST", path, { contactId: contact.id })).status, 200);
});

test("a preview link shows an email that is not published, with the values of its contact alone", async () => {
  const contact = await make(api, "contacts", "contact", {
    ...{ firstname: "<b>Ada", city: "Vienna", email: "ada@mail-preview.example" },
    timezone: "Pacific/Kiritimati",
  });
  const email = await newEmail({
    isPublished: false,
    customHtml: `<p>Hi {contactfield=firstname|friend} of {contactfield=city}, {today|Y-m-d}</p>{dynamiccontent="Offer"}`,
    dynamicContent: [
      {
        tokenName: "Offer",
        content: "usual",
        filters: [
          {
            content: "for {contactfield=city}",
            filters: [
              {
                ...{ glue: "and", field: "city", object: "lead", type: "text", operator: "=" },
                properties: { filter: "Vienna" },
              },
            ],
          },
        ],
      },
    ],
  });
  const at = "2031-03-01T12:30:00Z";
  const ofContact = await look(await linkTo(`emails/${email.id}`, { contactId: contact.id, at }));
  assert.equal(ofContact.status, 200);
  assert.match(ofContact.text, /<p>Hi (?:&lt;b&gt;)?Ada of Vienna, 2031-03-02<\/p>for Vienna/);
  const path = await linkTo(`emails/${email.id}`, { at });
  const ofNobody = await look(path);
  assert.match(ofNobody.text, /<p>Hi friend of \[City\], 2031-03-01<\/p>usual/);
  const withContact = await look(`${path}&contactId=${contact.id}`);
  assert.equal(withContact.text, ofNobody.text);
  await api("PATCH", `emails/${email.id}/edit`, {
    customHtml: "",
    plainText: "Hi {contactfield=firstname|you}",
  });
  const plain = await look(path);
  assert.match(String(plain.headers["content-type"]), /^text\/plain/);
  assert.equal(plain.text, "Hi you");
  await api("DELETE", `emails/${email.id}/delete`);
  assert.equal((await look(path)).status, 404);
});

test("a preview of a preference page shows its slots with no choice of anybody, and nothing can be sent from it", async () => {
  await make(api, "categories", "category", { title: "Topic of previews", bundle: "global" });
  const page = await newPage({
    ...{ title: "Choices", isPreferenceCenter: true, isPublished: false },
    customHtml: "{channelfrequency} {categorylist} {segmentlist}",
  });
  const { text, headers } = await look(await linkTo(`pages/${page.id}`));
  for (const part of [
    "Topic of previews",
    "A list",
    'id="sms_number"',
    "Save",
    "Unsubscribe from everything",
  ])
    assert.ok(text.includes(part), part);
  assert.match(String(headers["content-security-policy"]), /form-action 'none'/);
});

test("a preview for nobody shows the labels of fields of contacts and companies, and aliases while these are not known", async () => {
  const { label, alias } = await make(api, "fields/contact", "field", {
    label: "Shoe <b>size",
    type: "text",
  });
  const email = await newEmail({
    customHtml: `{contactfield=firstname} {contactfield=companycity} {contactfield=${alias}} {contactfield=no_such|none} {contactfield=nothing}`,
  });
  const path = await linkTo(`emails/${email.id}`);
  const escaped = String(label).replace("<", "&lt;").replace(">", "&gt;");
  const shown = (await look(path)).text;
  assert.ok(shown.includes(`[First Name] [City] [${escaped}] none [nothing]`), shown);
  const service = stack.process("contact");
  const other = await newEmail({ customHtml: "{contactfield=lastname}" });
  const away = await linkTo(`emails/${other.id}`);
  service.kill("SIGKILL");
  try {
    assert.match((await look(away)).text, /\[lastname\]/);
  } finally {
    await service.restart();
  }
  await eventually(async () => assert.match((await look(away)).text, /\[Last Name\]/));
});

test("a preview of an email runs and loads nothing but uploaded pictures, and counts nothing", async () => {
  const contact = await make(api, "contacts", "contact", {
    firstname: "Quiet",
    email: "quiet@preview.example",
  });
  const page = await newPage({ title: "Linked from a mail" });
  const email = await newEmail({
    ...{ isPublished: true, publicPreview: true },
    customHtml: `<body><a href="https://shop.example/a">a</a> <a href="{pagelink=${page.id}}">b</a>
      <a href="{unsubscribe_url}">c</a> <a href="{webview_url}">d</a><img src="{tracking_pixel}" alt=""></body>`,
  });
  const rows = () =>
    query(
      database,
      `select (select count(*) from content.sends) as sends, (select count(*) from content.page_hits) as hits,
         (select count(*) from content.visitor_devices) as devices, (select count(*) from content.page_redirects) as redirects,
         (select count(*) from content.send_refusals) as refusals,
         (select row(read_count, sent_count, revision)::text from content.emails where id = ${email.id}) as email`,
    );
  const before = await rows();
  const signed = await linkTo(`emails/${email.id}`, { contactId: contact.id });
  for (const path of [signed, `/email/preview/${email.id}`]) {
    const { status, headers, text } = await look(path);
    assert.equal(status, 200);
    assert.equal(headers["set-cookie"], undefined);
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.match(String(headers["x-robots-tag"]), /noindex/);
    const policy = String(headers["content-security-policy"]).split("; ");
    assert.ok(policy.includes("default-src 'none'"), String(policy));
    assert.ok(policy.includes(`img-src data: ${publicUrl}/media/`), String(policy));
    assert.ok(policy.includes("form-action 'none'") && policy.includes("frame-ancestors 'none'"));
    assert.doesNotMatch(String(policy), /allow-scripts|allow-same-origin|allow-forms/);
    assert.match(text, /href="https:\/\/shop\.example\/a"/);
    // Its own links are signed for no contact: they lead to no send.
    const ownLinks = [...text.matchAll(/(?:src|href)="([^"]+\/email\/[^"]+)"/g)];
    assert.equal(ownLinks.length, 3, text);
    for (const [, own = ""] of ownLinks) {
      const found = new URL(own).pathname;
      assert.equal((await browse().ask(found)).status, 404, found);
      assert.notEqual((await browse().ask(found, { method: "POST" })).status, 200, found);
    }
  }
  assert.deepEqual(await rows(), before);
});

test("anybody sees a published email with publicPreview, and any other one is answered as an unknown one", async () => {
  const shown = await newEmail({
    ...{ isPublished: true, publicPreview: true },
    customHtml: "<p>Hi {contactfield=firstname|friend}</p>",
  });
  const path = `/email/preview/${shown.id}`;
  const unknown = answerOf(await look("/email/preview/2000000000"));
  assert.equal(unknown[0], 404);
  const contact = await make(api, "contacts", "contact", { firstname: "Hidden" });
  for (const query of ["", `?contactId=${contact.id}`, "?utm_source=x"]) {
    const seen = await look(path + query);
    assert.deepEqual([seen.status, seen.text], [200, "<p>Hi friend</p>"], query);
  }
  const signed = await linkTo(`emails/${shown.id}`);
  const over = endingTokens([KEY], "preview").sign(`email ${shown.id}  ${Date.now()}`, Date.now() - 1);
  const id = String(shown.id);
  for (const other of [
    ...[`${path}?preview=`, `${path}?preview=x`, `${path}?preview=${over}`, `${path}/x`],
    ...[
      "0",
      "-1",
      `0${id}`,
      `+${id}`,
      `${id}.0`,
      `${id}e0`,
      `%20${id}`,
      `${id}%00`,
      "1".repeat(150),
      "4294967297",
      "x",
      "%ff",
      "..%2f1",
      "",
    ].map((text) => `/email/preview/${text}`),
  ])
    assert.ok([404, 400].includes((await look(other)).status), other);
  assert.equal((await browse().ask(path, { method: "POST" })).status, 405);
  const hidden = [
    { isPublished: true, publicPreview: false },
    { isPublished: false, publicPreview: true },
    { isPublished: true, publicPreview: true, publishUp: "2099-01-01 00:00:00" },
    { isPublished: true, publicPreview: true, publishDown: "2001-01-01 00:00:00" },
  ];
  for (const members of hidden) {
    const { id: hiddenId } = await newEmail(members);
    assert.deepEqual(answerOf(await look(`/email/preview/${hiddenId}`)), unknown, JSON.stringify(members));
    assert.equal((await look(await linkTo(`emails/${hiddenId}`))).status, 200);
  }
  await api("PATCH", `emails/${shown.id}/edit`, { publicPreview: false });
  assert.deepEqual(answerOf(await look(path)), unknown);
  assert.equal((await look(signed)).status, 200);
});

test("a token of an email's preview that is forged, over, or for something else is answered as an unknown email", async () => {
  const email = await newEmail({ customHtml: "<p>Secret</p>" });
  const other = await newEmail({});
  const good = await linkTo(`emails/${email.id}`);
  const token = new URL(good, publicUrl).searchParams.get("preview") ?? "";
  const [text = "", mac = ""] = token.split(".");
  const at = Date.now();
  const preview = endingTokens([KEY], "preview");
  const signed = (kind: string, id: number) => preview.sign(`${kind} ${id}  ${at}`, at + 60_000);
  const unknown = answerOf(await look(`/email/preview/2000000000?preview=${token}`));
  assert.equal(unknown[0], 404);
  for (const bad of [
    ...["", "x", text, token.slice(0, -1), `${text}.${mac.split("").toReversed().join("")}`],
    ...[signed("page", email.id), signed("form", email.id), signed("email", other.id)],
    preview.sign(`email ${email.id}  ${at}`, at - 1),
    endingTokens([KEY], "kept mail").sign(`email ${email.id}  ${at}`, at + 60_000),
    endingTokens([generateSecretKey()], "preview").sign(`email ${email.id}  ${at}`, at + 60_000),
  ])
    assert.deepEqual(answerOf(await look(`/email/preview/${email.id}?preview=${bad}`)), unknown, bad);
  assert.deepEqual(answerOf(await look(`/page/preview/${email.id}?preview=${token}`))[0], 404);
  assert.match((await look(good)).text, /Secret/);
});

test("POST /emails/<id>/preview-link needs the right to view the email and its contact, and an email of an earlier version that is too large is refused", async () => {
  const email = await newEmail({});
  const path = `emails/${email.id}/preview-link`;
  const contact = await make(api, "contacts", "contact", { firstname: "Hidden" });
  for (const [body, field] of [
    [{ hours: 721 }, "hours"],
    [{ at: "05/01/2031" }, "at"],
    [{ contactId: 2_000_000_000 }, "contactId"],
    [{ contactId: "x" }, "contactId"],
  ] as const) {
    const refused = await api("POST", path, body);
    assert.equal(refused.status, 400, JSON.stringify(body));
    assert.match(refused.text, new RegExp(field));
  }
  assert.equal((await api("POST", "emails/2000000000/preview-link", {})).status, 404);
  const author = await newPerson(stack, { "email:emails": ["viewown", "viewother"] });
  assert.equal((await author.api("POST", path, {})).status, 200);
  assert.equal((await author.api("POST", path, { contactId: contact.id })).status, 400);
  const own = await newPerson(stack, { "email:emails": ["viewown"] });
  assert.equal((await own.api("POST", path, {})).status, 404);
  const other = await newPerson(stack, { "page:pages": ["viewown", "viewother"] });
  assert.equal((await other.api("POST", path, {})).status, 403);
  await query(
    database,
    `update content.emails set custom_html = '{today}' || repeat('<p>', 300000) where id = ${email.id}`,
  );
  assert.equal((await api("GET", `emails/${email.id}/preview`)).status, 409);
  assert.equal((await look(await linkTo(`emails/${email.id}`))).status, 409);
});
