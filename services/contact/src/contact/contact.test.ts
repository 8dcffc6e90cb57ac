import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import type { Contact } from "@tidings/proto/tidings/contact/v1/contact";
import {
  CreateContactRequestSchema,
  UpdateContactRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { callAs, contactBody, contactScene, listQuery, parse } from "../testing/contact-scene.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

let unique = 0;
const address = () => `person${++unique}@example.com`;

async function add(contact: Contact) {
  const { contact: saved, created } = await scene.handlers.createContact(
    create(CreateContactRequestSchema, { contact }),
    callAs(),
  );
  return { id: saved?.id ?? 0, created, all: parse(saved?.fields as FormedJson).all, contact: saved };
}

async function edit(id: number, contact: Contact, paths = ["values"], allowMissing = false, actor?: Actor) {
  const request = create(UpdateContactRequestSchema, { id, contact, updateMask: { paths }, allowMissing });
  const { contact: saved, created } = await scene.handlers.updateContact(request, callAs(actor));
  return { id: saved?.id ?? 0, created, all: parse(saved?.fields as FormedJson).all, contact: saved };
}

async function get(id: number, actor?: Actor) {
  const contact = await scene.handlers.getContact(
    { $typeName: "tidings.contact.v1.GetContactRequest", id },
    callAs(actor),
  );
  return { contact, all: parse(contact.fields as FormedJson).all };
}

async function events(id: number) {
  const text = `select subject, aggregate_version as version from outbox where aggregate_id = ${id} order by id`;
  const rows = await scene.context.database.query({ text }, [], Date.now() + 5_000);
  return rows.map(({ subject }) => (subject ?? "").replace("tidings.contact.contact.", ""));
}

function hasCode(code: Code, message?: string) {
  return (error: unknown) =>
    error instanceof Fault && error.code === code && (message === undefined || error.message === message);
}

test("a created contact has all field groups and its values in `all`", async () => {
  const email = address();
  const { contact, all, created } = await add(contactBody({ firstname: "Ada", email }));
  assert.equal(created, true);
  assert.equal(all.firstname, "Ada");
  assert.equal(all.email, email);
  assert.equal(all.lastname, null);
  const groups = parse(contact?.fields as FormedJson);
  assert.deepEqual(Object.keys(groups), ["core", "social", "personal", "professional", "all"]);
  assert.equal(groups.core.email.value, email);
  assert.equal(groups.core.email.id, "6");
});

test("a contact with an address or a name is identified, one with only a city is anonymous", async () => {
  assert.ok((await add(contactBody({ email: address() }))).contact?.dateIdentified);
  assert.ok((await add(contactBody({ twitter: "ada" }))).contact?.dateIdentified);
  const { id, contact } = await add(contactBody({ city: "Rome" }));
  assert.equal(contact?.dateIdentified, undefined);
  assert.ok((await edit(id, contactBody({ lastname: "Lovelace" }))).contact?.dateIdentified);
});

test("creating a known address edits the contact that has it, whatever its case", async () => {
  const email = address();
  const first = await add(contactBody({ firstname: "Ada", email }));
  const second = await add(contactBody({ lastname: "Lovelace", email: email.toUpperCase() }));
  assert.equal(second.created, false);
  assert.equal(second.id, first.id);
  assert.equal(second.all.firstname, "Ada");
  assert.equal(second.all.lastname, "Lovelace");
});

test("an international domain is kept as written, and is the same in A-labels", async () => {
  const name = address().split("@")[0];
  const first = await add(contactBody({ email: `${name}@bücher.example` }));
  const second = await add(contactBody({ lastname: "Hopper", email: `${name}@XN--Bcher-kva.example` }));
  assert.deepEqual([second.created, second.id], [false, first.id]);
  assert.equal(first.all.email, `${name}@bücher.example`);
});

test("64 parallel creations of one address make one contact", async () => {
  const email = address();
  const results = await Promise.all(
    Array.from({ length: 64 }, (_, index) => add(contactBody({ email, lastname: `L${index}` }))),
  );
  assert.equal(new Set(results.map(({ id }) => id)).size, 1);
  assert.equal(results.filter(({ created }) => created).length, 1);
});

test("PATCH keeps fields that are not in the body", async () => {
  const { id } = await add(contactBody({ firstname: "Ada", city: "London", email: address() }));
  const { all } = await edit(id, contactBody({ city: "Paris" }));
  assert.equal(all.firstname, "Ada");
  assert.equal(all.city, "Paris");
});

test("PATCH skips blank values unless overwriteWithBlank says otherwise", async () => {
  const { id } = await add(contactBody({ firstname: "Ada", city: "London", email: address() }));
  assert.equal((await edit(id, contactBody({ city: "" }))).all.city, "London");
  assert.equal((await edit(id, contactBody({ city: "" }, { overwriteWithBlank: true }))).all.city, null);
});

test("PUT clears fields that are not in the body, but keeps points and tags", async () => {
  const body = contactBody(
    { firstname: "Ada", city: "London", email: address() },
    { points: 7, tags: ["kept"] },
  );
  const { id } = await add(body);
  const { all, contact } = await edit(id, contactBody({ firstname: "Grace" }), ["*"], true);
  assert.equal(all.firstname, "Grace");
  assert.equal(all.city, null);
  assert.equal(all.email, null);
  assert.equal(contact?.points, 7);
  assert.equal(parse(contact?.tags as Uint8Array)[0].tag, "kept");
});

test("PUT of a missing id creates a contact with an id of its own; PATCH is NOT_FOUND", async () => {
  const put = await edit(2_000_000_000, contactBody({ firstname: "New" }), ["*"], true);
  assert.equal(put.created, true);
  assert.notEqual(put.id, 2_000_000_000);
  await assert.rejects(edit(2_000_000_000, contactBody({ firstname: "New" })), hasCode(Code.NOT_FOUND));
});

test("an address that another contact has is refused on edit, and nothing changes", async () => {
  const email = address();
  await add(contactBody({ email }));
  const other = await add(contactBody({ email: address(), city: "Rome" }));
  const clash = edit(other.id, contactBody({ email, city: "Oslo" }));
  await assert.rejects(clash, hasCode(Code.ALREADY_EXISTS, "email: This field must be unique."));
  assert.equal((await get(other.id)).all.city, "Rome");
});

test("an address given up by an edit is free for another contact", async () => {
  const email = address();
  const { id } = await add(contactBody({ email }));
  await edit(id, contactBody({ email: address() }));
  const { created } = await add(contactBody({ email }));
  assert.equal(created, true);
});

test("every bad value is named, and nothing is saved", async () => {
  const email = address();
  const bad = add(
    contactBody({ email: "nobody", country: "Nowhere", lastname: "x".repeat(192), attribution: "many" }),
  );
  await assert.rejects(bad, (error: Fault) => {
    assert.deepEqual(error.violations.map(({ field }) => field).sort(), [
      "attribution",
      "country",
      "email",
      "lastname",
    ]);
    return error.code === Code.INVALID_ARGUMENT;
  });
  const { totalSize } = await scene.handlers.listContacts(
    { $typeName: "tidings.contact.v1.ListContactsRequest", query: listQuery({ search: `email:${email}` }) },
    callAs(),
  );
  assert.equal(totalSize, 0);
});

test("tags are added, removed with a leading minus, and found by search", async () => {
  const { id } = await add(contactBody({ email: address() }, { tags: ["red", "blue"] }));
  const { contact } = await edit(id, contactBody({}, { tags: "-red,green" }), ["tags"]);
  const names = parse(contact?.tags as Uint8Array).map(({ tag }: { tag: string }) => tag);
  assert.deepEqual(names, ["blue", "green"]);
});

test("an unsubscribed contact stays so until the entry is removed", async () => {
  const { id } = await add(
    contactBody({ email: address() }, { doNotContact: [{ channel: "email", reason: 1 }] }),
  );
  const manual = await edit(id, contactBody({}, { doNotContact: [{ channel: "email", reason: 3 }] }));
  assert.equal(parse(manual.contact?.doNotContact as Uint8Array)[0].reason, 1);
  const lifted = await edit(id, contactBody({}, { doNotContact: [{ channel: "email", reason: 0 }] }));
  assert.deepEqual(parse(lifted.contact?.doNotContact as Uint8Array), []);
});

test("an attribution is dated today; clearing it clears the date", async () => {
  const { id, all } = await add(contactBody({ email: address(), attribution: 12.5 }));
  assert.equal(all.attribution, 12.5);
  assert.equal(all.attribution_date.slice(0, 10), new Date().toISOString().slice(0, 10));
  const cleared = await edit(id, contactBody({ attribution: "" }, { overwriteWithBlank: true }));
  assert.equal(cleared.all.attribution_date, null);
});

test("an edit that changes nothing leaves no event and no modification date", async () => {
  const { id } = await add(contactBody({ firstname: "Ada", email: address() }));
  const { contact } = await edit(id, contactBody({ firstname: "Ada" }));
  assert.equal(contact?.dateModified, undefined);
  assert.deepEqual(await events(id), ["created"]);
});

test("each save leaves one event", async () => {
  const { id } = await add(contactBody({ firstname: "Ada", email: address() }));
  await edit(id, contactBody({ city: "Rome" }));
  await edit(id, contactBody({}, { points: 9 }), ["points"]);
  const request = { $typeName: "tidings.contact.v1.DeleteContactRequest", id } as const;
  await scene.handlers.deleteContact(request, callAs());
  assert.deepEqual(await events(id), ["created", "updated", "updated", "deleted"]);
});

test("a batch answers each item for itself, and items of one address become one contact", async () => {
  const email = address();
  const contacts = [
    contactBody({ email, firstname: "Ada" }),
    contactBody({ email: "not an address" }),
    contactBody({ email, lastname: "Lovelace" }),
  ];
  const { contacts: saved = [], statuses = [] } = await scene.handlers.batchCreateContacts(
    {
      $typeName: "tidings.contact.v1.BatchCreateContactsRequest",
      requests: contacts.map((contact) => create(CreateContactRequestSchema, { contact })),
    },
    callAs(),
  );
  assert.deepEqual(
    statuses.map((status) => Boolean(status.created)),
    [true, false, false],
  );
  assert.equal(statuses[1]?.error?.message, "email: A valid email is required.");
  assert.equal(saved[0]?.id, saved[2]?.id);
  const all = (await get(saved[0]?.id ?? 0)).all;
  assert.equal(all.firstname, "Ada");
  assert.equal(all.lastname, "Lovelace");
});

test("an actor with own rights sees and edits only what it owns; the rest does not exist for it", async () => {
  const seller: Actor = {
    kind: "user",
    id: 42,
    name: "Seller",
    admin: false,
    permissions: { "lead:leads": ["viewown", "editown"] },
  };
  const { id } = await add(contactBody({ email: address() }));
  await assert.rejects(get(id, seller), hasCode(Code.NOT_FOUND));
  await assert.rejects(
    edit(id, contactBody({ city: "Rome" }), ["values"], false, seller),
    hasCode(Code.NOT_FOUND),
  );
  const { totalSize } = await scene.handlers.listContacts(
    { $typeName: "tidings.contact.v1.ListContactsRequest", query: listQuery() },
    callAs(seller),
  );
  assert.equal(totalSize, 0);
});
