import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Answer, Client, Entity } from "./client.ts";
import { make, newPerson } from "./people.ts";
import { sharedStack } from "./shared-stack.ts";

/** Operations of emails, pages and their like beyond those of every resource. */

const stack = await sharedStack();
const { api } = stack;

let count = 0;
const name = () => `Content ${++count}`;
const email = (members: object = {}) =>
  make(api, "emails", "email", { name: name(), subject: "Hello", ...members });
const page = (members: object = {}) => make(api, "pages", "page", { title: name(), ...members });
const idsOf = (value: unknown) => (value as Entity[]).map(({ id }) => id);

async function get(path: string, one: string, by: Client = api): Promise<Entity> {
  const answer = await by("GET", path);
  assert.equal(answer.status, 200, answer.text);
  return (answer.body as unknown as Record<string, Entity>)[one] as Entity;
}

async function edit(path: string, one: string, id: unknown, body: object): Promise<Entity> {
  const answer = await api("PATCH", `${path}/${id}/edit`, body);
  assert.equal(answer.status, 200, answer.text);
  return (answer.body as unknown as Record<string, Entity>)[one] as Entity;
}

async function listed(path: string, search: string): Promise<number[]> {
  const { body } = await api("GET", `${path}?search=${encodeURIComponent(search)}&limit=100`);
  return idsOf(Object.values((body as unknown as Record<string, object>)[path] ?? {}));
}

function blamed({ body }: Answer): string[] {
  const [error] = (body as unknown as { errors: { details: object }[] }).errors;
  return Object.keys(error?.details ?? {});
}

for (const [path, one, add] of [
  ["emails", "email", email],
  ["pages", "page", page],
] as const) {
  test(`lists of ${path} hold no variants and translations: they are shown with what they belong to`, async () => {
    const parent = await add();
    const variant = await add({ variantParent: parent.id, variantSettings: { weight: "40" } });
    const translation = await add({ translationParent: parent.id, language: "fr" });
    assert.equal((variant.variantParent as Entity).id, parent.id);
    assert.deepEqual(variant.variantSettings, { weight: 40, winnerCriteria: null });
    const shown = await get(`${path}/${parent.id}`, one);
    assert.deepEqual([shown.variantChildren, shown.translationChildren].map(idsOf), [
      [variant.id],
      [translation.id],
    ]);
    assert.deepEqual(await listed(path, `ids:${parent.id},${variant.id},${translation.id}`), [parent.id]);

    await api("DELETE", `${path}/${parent.id}/delete`);
    assert.equal((await get(`${path}/${variant.id}`, one)).variantParent, null);
  });

  test(`in a family of ${path} nobody belongs to itself, to a child, or has children and a parent`, async () => {
    const [parent, other] = [await add(), await add()];
    const child = await add({ variantParent: parent.id });
    for (const [id, variantParent] of [
      [parent.id, parent.id],
      [parent.id, other.id],
      [other.id, child.id],
      [other.id, 2_000_000_000],
    ]) {
      const answer = await api("PATCH", `${path}/${id}/edit`, { variantParent });
      assert.deepEqual([answer.status, blamed(answer)], [400, ["variantParent"]], answer.text);
    }
    assert.equal((await edit(path, one, child.id, { variantParent: null })).variantParent, null);
    assert.equal((await edit(path, one, parent.id, { variantParent: other.id })).id, parent.id);
  });
}

test("a test begins anew when one that takes part changes, and not when one changes that does not", async () => {
  const parent = await email();
  assert.equal(parent.variantStartDate, null);
  const variant = await email({ variantParent: parent.id });
  const started = (await get(`emails/${parent.id}`, "email")).variantStartDate;
  assert.equal(variant.variantStartDate, started);
  assert.ok(Date.parse(String(started)) > Date.now() - 60_000);
  const alone = await email();
  assert.equal((await edit("emails", "email", alone.id, { subject: "Changed" })).variantStartDate, null);
});

test("an email to segments names some that are there, and loses one that is deleted", async () => {
  const [one, two] = [
    await make(api, "segments", "list", { name: name() }),
    await make(api, "segments", "list", { name: name() }),
  ];
  const made = await email({ emailType: "list", lists: [one.id, { id: two.id }] });
  const lists = made.lists as Entity[];
  assert.deepEqual(
    lists.map(({ id, alias }) => [id, alias]),
    [
      [one.id, one.alias],
      [two.id, two.alias],
    ],
  );
  await api("DELETE", `segments/${one.id}/delete`);
  await eventually(async () =>
    assert.deepEqual(idsOf((await get(`emails/${made.id}`, "email")).lists), [two.id]),
  );
  assert.deepEqual((await edit("emails", "email", made.id, { emailType: "template" })).lists, []);
});

test("a segment that the caller does not see is none that an email can go to", async () => {
  const { id } = await make(api, "segments", "list", { name: name(), isGlobal: false });
  const person = await newPerson(stack, { "email:emails": ["full"], "lead:lists": ["viewown"] });
  const body = { name: name(), subject: "Hello", emailType: "list", lists: [id] };
  const answer = await person.api("POST", "emails/new", body);
  assert.deepEqual([answer.status, blamed(answer)], [400, ["lists"]], answer.text);
});

test("the revision counts changes, whatever a body says of it and of what is counted", async () => {
  const { id, revision } = await email({ revision: 7, readCount: 9, sentCount: 9 });
  assert.equal(revision, 1);
  const edited = await edit("emails", "email", id, { subject: "Changed", revision: 50 });
  assert.deepEqual([edited.revision, edited.readCount, edited.sentCount], [2, 0, 0]);
  assert.equal((await edit("emails", "email", id, { subject: "Changed" })).revision, 2);
});

test("HTML stays where it belongs, and is taken out where it does not", async () => {
  const html = '<p onclick="x()">Hello <b>you</b></p><script>1</script>';
  const made = await email({ customHtml: html, subject: "<b>Hello</b>", plainText: "1 < 2 <i>3</i>" });
  assert.deepEqual([made.customHtml, made.subject, made.plainText], [html, "Hello", "1 < 2 3"]);
  const sms = await make(api, "smses", "sms", { name: name(), message: "a <b>b</b> 1 < 2" });
  assert.equal(sms.message, "a b 1 < 2");
  const tags = { utmSource: "<i>letter</i>", other: "x" };
  assert.deepEqual((await email({ utmTags: tags })).utmTags, { utmSource: "letter" });
});

test("without SMS_URL a text message is not sent, and the answer is an object that says so", async () => {
  const text = await make(api, "smses", "sms", { name: name(), message: "Hello" });
  const contact = await make(api, "contacts", "contact", { mobile: "+4915112345678" });
  const { status, body } = await api("POST", `smses/${text.id}/contact/${contact.id}/send`);
  const message = "SMS transport is disabled.";
  const errors = [{ message }];
  assert.deepEqual(
    [status, body],
    [200, { success: false, status: message, errors, error: { message, code: 417 } }],
  );
});

test("a marketing message has one entity in a channel, which its writer may view", async () => {
  const text = await make(api, "smses", "sms", { name: "A text", message: "Hello" });
  const message = await make(api, "messages", "message", {
    name: name(),
    channels: { sms: { channel: "sms", channelId: text.id, isEnabled: true }, email: { channel: "email" } },
  });
  const channels = message.channels as Entity[];
  assert.deepEqual(
    channels.map(({ channel, channelId, channelName, isEnabled }) => [
      channel,
      channelId,
      channelName,
      isEnabled,
    ]),
    [
      ["sms", text.id, "A text", true],
      ["email", null, null, false],
    ],
  );
  const other = await make(api, "smses", "sms", { name: "Another", message: "Hello" });
  const changed = await edit("messages", "message", message.id, {
    channels: { sms: { channel: "sms", channelId: other.id, isEnabled: true } },
  });
  const [first, second] = changed.channels as Entity[];
  assert.deepEqual([first?.id, first?.channelName, second?.channel], [channels[0]?.id, "Another", "email"]);

  const person = await newPerson(stack, { "channel:messages": ["full"], "sms:smses": ["viewown"] });
  const body = { name: name(), channels: [{ channel: "sms", channelId: text.id, isEnabled: true }] };
  const answer = await person.api("POST", "messages/new", body);
  assert.deepEqual([answer.status, blamed(answer)], [400, ["channels[0].channelId"]], answer.text);
});

test("emails, pages and texts are found by their language, pages that are preference centres by that", async () => {
  const french = await email({ language: "fr-CA" });
  assert.deepEqual(await listed("emails", `lang:fr ids:${french.id}`), [french.id]);
  assert.deepEqual(await listed("emails", `lang:de ids:${french.id}`), []);
  const centre = await page({ isPreferenceCenter: true });
  const plain = await page();
  assert.deepEqual(await listed("pages", `is:prefcenter ids:${centre.id},${plain.id}`), [centre.id]);
});

test("the alias of a page keeps its underscores, and no other page has it", async () => {
  const made = await page({ title: "Snake_case and Été" });
  assert.equal(made.alias, "snake_case-and-ete");
  assert.equal((await page({ title: "Snake_case and Été" })).alias, "snake_case-and-ete1");
});

test("violations are worded as clients know them", async () => {
  const cases: [path: string, body: object, field: string, message: string][] = [
    ["emails", { subject: "A" }, "name", "A name is required."],
    ["emails", { name: "A" }, "subject", "A subject is required."],
    [
      "emails",
      { name: "A", subject: "B", fromAddress: "nobody" },
      "fromAddress",
      "A valid email is required.",
    ],
    [
      "emails",
      { name: "A", subject: "B", bccAddress: "a@example.com, b" },
      "bccAddress",
      "A valid email is required.",
    ],
    ["pages", {}, "title", "A title is required."],
    ["pages", { title: "A", redirectType: 301, redirectUrl: "b" }, "redirectUrl", "A valid URL is required."],
    ["notifications", { name: "A", heading: "B", message: "C", url: "d" }, "url", "A valid URL is required."],
    ["points", { name: "A", delta: 1 }, "type", "A type is required"],
  ];
  for (const [path, body, field, message] of cases) {
    const answer = await api("POST", `${path}/new`, body);
    assert.equal(answer.status, 400, path);
    assert.deepEqual(answer.body.errors[0]?.details, { [field]: [message] }, path);
    assert.equal(answer.body.errors[0]?.message, `${field}: ${message}`);
  }
  const { bccAddress } = await email({ bccAddress: "a@example.com, b@example.com" });
  assert.equal(bccAddress, "a@example.com, b@example.com");
});

test("a category that is not there is named in the message", async () => {
  const answer = await api("POST", "pages/new", { title: "Lost", category: 2_000_000_000 });
  assert.equal(answer.status, 400);
  assert.equal(answer.body.errors[0]?.message, "Category 2000000000 does not exist");
});

test("the alias of a page has a hyphen for a space and drops what is no letter, digit or underscore", async () => {
  const { body } = await api("POST", "pages/new", { title: "Grüße: 1.5 & more_of it" });
  assert.equal((body as unknown as { page: { alias: string } }).page.alias, "grusse-15-more_of-it");
});

test("members that become header fields are one line, and addresses with a user and password are 400", async () => {
  const email = { name: "Mail", subject: "Hello", customHtml: "x" };
  for (const members of [{ fromName: "A\r\nBcc: b@example.com" }, { subject: "A\nB" }]) {
    const answer = await api("POST", "emails/new", { ...email, ...members });
    assert.equal(answer.status, 400, answer.text);
    assert.ok(answer.text.includes(Object.keys(members)[0] ?? ""));
  }
  for (const file of ["https://user:secret@example.com/a.pdf", "https://example.com/a\r\nb.pdf"])
    assert.equal(
      (await api("POST", "assets/new", { title: "Remote", storageLocation: "remote", file })).status,
      400,
    );
});

test("a save of dynamic content names the filters that are never asked of a contact", async () => {
  const filter = (object: string, field: string) => ({
    object,
    field,
    operator: "=",
    filter: "x",
    glue: "and",
  });
  const filters = [filter("lead", "city"), filter("company", "companycity"), filter("behaviors", "hit_url")];
  const body = { name: "Skipped", isCampaignBased: false, slotName: "top", filters };
  const { status, headers, text } = await api("POST", "dynamiccontents/new", body);
  assert.equal(status, 201, text);
  assert.equal(headers.get("tidings-ignored"), "filters%5B1%5D, filters%5B2%5D");
});
