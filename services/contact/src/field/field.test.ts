import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { FieldObject } from "@tidings/contacts/shown-field";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { type Field, FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import { ContactFieldService } from "@tidings/proto/tidings/contact/v1/field_service";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import { ConditionSchema } from "@tidings/proto/tidings/type/v1/list";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import { Code, type Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { contactHandlers } from "../contact/contact.ts";
import { callAs, contactBody, contactScene, listQuery, parse } from "../testing/contact-scene.ts";
import { type FieldContext, fieldCatalogues } from "./catalogue.ts";
import { fieldsOf } from "./field.ts";
import { upkeepOptions } from "./upkeep.ts";

const fieldHandlersOf = (context: FieldContext, object: FieldObject) =>
  standardHandlers(ContactFieldService, fieldsOf(context, object));
type FieldHandlers = ReturnType<typeof fieldHandlersOf>;
type Scene = Awaited<ReturnType<typeof contactScene>>;
let scene: Scene;
let fields: FieldHandlers;
/** Another replica: the same database and a catalogue of its own. */
let other: { contacts: ReturnType<typeof contactHandlers>; fields: FieldHandlers };

before(async () => {
  scene = await contactScene();
  fields = fieldHandlersOf(scene.context, "lead");
  const context = { ...scene.context, catalogues: fieldCatalogues(scene.context.database) };
  other = { contacts: contactHandlers(context), fields: fieldHandlersOf(context, "lead") };
});
after(() => scene.close());

const call = callAs();
let count = 0;
const label = () => `Shoe size ${++count}`;
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

async function addField(init: MessageInitShape<typeof FieldSchema> = {}): Promise<Field> {
  const field = create(FieldSchema, { label: label(), ...init });
  const saved = await fields.createField({ $typeName: "tidings.contact.v1.CreateFieldRequest", field }, call);
  return saved.field as Field;
}

async function addContact(
  values: Record<string, unknown>,
  handlers: ReturnType<typeof contactHandlers> = scene.handlers,
) {
  const contact = contactBody(values);
  const saved = await handlers.createContact(
    { $typeName: "tidings.contact.v1.CreateContactRequest", contact },
    call,
  );
  return saved.contact as { id: number; fields: FormedJson };
}

async function listed(
  column: string,
  expr: string,
  values: string[],
  handlers: ReturnType<typeof contactHandlers> = scene.handlers,
) {
  const where = [create(ConditionSchema, { column, expr, values })];
  const request = {
    $typeName: "tidings.contact.v1.ListContactsRequest" as const,
    query: listQuery({ where }),
  };
  const { contacts = [] } = await handlers.listContacts(request, call);
  return contacts.map(({ id }) => id);
}

const all = (contact: { fields: FormedJson }) => parse(contact.fields).all;

test("a field that was just added is written, read, filtered, ordered and searched by, on every replica", async () => {
  const { alias } = await addField({ type: "number", properties: json({ scale: 1 }) });
  const contact = await addContact({ email: `a${count}@example.com`, [alias]: "42.55" }, other.contacts);
  assert.equal(all(contact)[alias], 42.6);
  assert.deepEqual(await listed(alias, "gt", ["42"]), [contact.id]);
  const request = {
    $typeName: "tidings.contact.v1.ListContactsRequest" as const,
    query: listQuery({ search: `${alias}:42`, order: [{ column: alias, descending: true }] }),
  };
  const { contacts = [] } = await other.contacts.listContacts(request, call);
  assert.deepEqual(
    contacts.map(({ id }) => id),
    [contact.id],
  );
});

test("a replica that did not see the definition reads the value a moment later all the same", async () => {
  await listed("id", "eq", ["1"], other.contacts);
  const { alias } = await addField();
  const { id } = await addContact({ [alias]: "seen" });
  const read = await other.contacts.getContact(
    { $typeName: "tidings.contact.v1.GetContactRequest", id },
    call,
  );
  assert.equal(all(read as { fields: FormedJson })[alias], "seen");
});

const list = json({ list: [{ label: "Red", value: "r" }, "g", { label: "Blue", value: "b" }] });

const values: [type: string, properties: unknown, sent: unknown, stored: unknown, normalized: unknown][] = [
  ["text", {}, " <b>plain</b> ", "plain", "plain"],
  ["textarea", {}, "x".repeat(1000), "x".repeat(1000), "x".repeat(1000)],
  ["html", {}, "<p>kept</p>", "<p>kept</p>", "<p>kept</p>"],
  ["email", {}, "A@Example.com", "A@Example.com", "A@Example.com"],
  ["email", {}, "grace@bücher.example", "grace@bücher.example", "grace@bücher.example"],
  ["tel", {}, "+33 1", "+33 1", "+33 1"],
  ["url", {}, "https://x.org/a?b", "https://x.org/a?b", "https://x.org/a?b"],
  ["number", { scale: 2, roundmode: 2 }, "1.999", 1.99, 1.99],
  ["number", {}, 0, 0, 0],
  ["boolean", { yes: "Y", no: "N" }, "on", 1, 1],
  ["boolean", { yes: "Y", no: "N" }, false, 0, 0],
  ["select", { list: "a|b" }, "b", "b", "b"],
  ["lookup", {}, "anything", "anything", "anything"],
  ["date", {}, "May 1, 2024", "2024-05-01", "2024-05-01"],
  ["datetime", {}, "2024-05-01T10:00:00+02:00", "2024-05-01 08:00:00", "2024-05-01 08:00:00"],
  ["time", {}, "9:30", "09:30:00", "09:30:00"],
  ["timezone", {}, "Europe/Paris", "Europe/Paris", "Europe/Paris"],
  ["country", {}, "France", "France", "France"],
  ["region", {}, "California", "California", "California"],
  ["locale", {}, "fr_FR", "fr_FR", "fr_FR"],
];
for (const [type, properties, sent, stored, normalized] of values) {
  test(`a ${type} field turns ${JSON.stringify(sent).slice(0, 40)} into ${JSON.stringify(stored).slice(0, 40)}`, async () => {
    const { alias, group } = await addField({ type, properties: json(properties) });
    const contact = await addContact({ [alias]: sent });
    assert.equal(all(contact)[alias], stored);
    assert.equal(parse(contact.fields)[group][alias].normalizedValue, normalized);
  });
}

test("a multiselect takes a list or text with bars, and is shown by its labels too", async () => {
  const { alias } = await addField({ type: "multiselect", properties: list });
  for (const sent of [["r", "b"], "r|b"]) {
    const { fields: written } = await addContact({ [alias]: sent });
    const { value, normalizedValue } = parse(written).core[alias];
    assert.deepEqual([value, normalizedValue], ["r|b", "Red|Blue"]);
  }
});

const refusals: [type: string, properties: unknown, sent: unknown][] = [
  ["text", {}, "x".repeat(65)],
  ["textarea", {}, "x".repeat(70_000)],
  ["email", {}, "nobody"],
  ["number", {}, "many"],
  ["number", {}, "1e400"],
  ["boolean", { yes: "Y", no: "N" }, "perhaps"],
  ["select", { list: "a|b" }, "c"],
  ["multiselect", { list: "a|b" }, ["a", "c"]],
  ["multiselect", { list: "a|b" }, [["a"]]],
  ["date", {}, "some day"],
  ["time", {}, "25:00"],
  ["timezone", {}, "Mars/Olympus"],
  ["country", {}, "Atlantis"],
  ["text", {}, { nested: true }],
];
for (const [type, properties, sent] of refusals) {
  test(`a ${type} field refuses ${JSON.stringify(sent).slice(0, 40)}, and nothing is saved`, async () => {
    const { alias } = await addField({ type, properties: json(properties) });
    await assert.rejects(addContact({ firstname: "Nobody", [alias]: sent }), (error: Fault) => {
      return error.code === Code.INVALID_ARGUMENT && error.violations[0]?.field === alias;
    });
  });
}

test("aliases are made of the label, free of what means something else, and never twice", async () => {
  const wanted = [
    "Größe (EU)",
    "Id",
    "select",
    "owner id",
    "__proto__",
    "constructor",
    "ＩＤ",
    'a";drop table',
    "42",
    "…",
    "x".repeat(190),
  ];
  const made = await Promise.all(wanted.map((text) => addField({ label: text })));
  const aliases = made.map(({ alias }) => alias);
  assert.equal(new Set(aliases).size, wanted.length);
  for (const alias of aliases) assert.match(alias, /^[a-z][a-z0-9_]{0,24}$/);
  assert.ok(!aliases.includes("id") && !aliases.includes("owner_id"));
  const again = await addField({ label: "Größe (EU)" });
  assert.notEqual(again.alias, aliases[0]);
});

test("twenty creations of one label on two replicas make twenty fields", async () => {
  const name = label();
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const field = create(FieldSchema, { label: name });
      const request = { $typeName: "tidings.contact.v1.CreateFieldRequest" as const, field };
      return (index % 2 ? fields : other.fields).createField(request, call);
    }),
  );
  assert.equal(new Set(made.map(({ field }) => field?.alias)).size, 20);
});

test("alias, type and object never change", async () => {
  const field = await addField();
  const update = {
    $typeName: "tidings.contact.v1.UpdateFieldRequest" as const,
    id: field.id,
    field: create(FieldSchema, { label: "New", alias: "another", type: "number", object: "company" }),
    updateMask: {
      $typeName: "google.protobuf.FieldMask" as const,
      paths: ["label", "alias", "type", "object"],
    },
    allowMissing: false,
  };
  const { field: after } = await fields.updateField(update, call);
  assert.deepEqual(
    [after?.label, after?.alias, after?.type, after?.object],
    ["New", field.alias, "text", "lead"],
  );
});

test("a field of companies does not exist among those of contacts", async () => {
  const field = await addField();
  const companyFields = fieldHandlersOf(scene.context, "company");
  const get = { $typeName: "tidings.contact.v1.GetFieldRequest" as const, id: field.id };
  await assert.rejects(async () => companyFields.getField(get, call), { code: Code.NOT_FOUND });
  const { fields: listed = [] } = await companyFields.listFields(
    { $typeName: "tidings.contact.v1.ListFieldsRequest", query: listQuery({ pageSize: 1_000 }) },
    call,
  );
  assert.ok(!listed.some(({ id }) => id === field.id));
  assert.equal(listed.length, 15);
});

test("a shipped field that is fixed cannot be deleted; one that is not can", async () => {
  const remove = (id: number) =>
    fields.deleteField({ $typeName: "tidings.contact.v1.DeleteFieldRequest", id }, call);
  await assert.rejects(async () => remove(6), { code: Code.PERMISSION_DENIED });
  const { alias, id } = await addField();
  const contact = await addContact({ firstname: "Keeps", [alias]: "value" });
  await remove(id);
  const read = await scene.handlers.getContact(
    { $typeName: "tidings.contact.v1.GetContactRequest", id: contact.id },
    call,
  );
  assert.ok(!(alias in all(read as { fields: FormedJson })));
  await assert.rejects(listed(alias, "eq", ["value"]), { code: Code.INVALID_ARGUMENT });
});

test("a deleted field's values are gone for good: made again under the same alias it is empty", async () => {
  const { id, label: name, alias } = await addField();
  const contact = await addContact({ firstname: "Forgets", [alias]: "secret" });
  await fields.deleteField({ $typeName: "tidings.contact.v1.DeleteFieldRequest", id }, call);
  const again = await addField({ label: name });
  assert.equal(again.alias, alias);
  assert.deepEqual(await listed(alias, "eq", ["secret"]), []);
  await finishUpkeep();
  const [row] = await scene.context.database.query(
    { text: "select custom from contacts where id = $1" },
    [contact.id],
    Date.now() + 5_000,
  );
  assert.equal(row?.custom, "{}");
});

test("a default fills new contacts, a required field has to be there, a stale option is dropped", async () => {
  const filled = await addField({ defaultValue: "dflt" });
  const select = await addField({ type: "select", properties: json({ list: "a|b" }) });
  const contact = await addContact({ firstname: "D", [select.alias]: "b" });
  assert.equal(all(contact)[filled.alias], "dflt");
  await update(select.id, { properties: json({ list: "a|c" }) }, ["properties"]);
  const { contact: edited } = await edit(contact.id, { lastname: "E" });
  assert.equal(all(edited as { fields: FormedJson })[select.alias], null);

  const required = await addField({ isRequired: true });
  await assert.rejects(addContact({ firstname: "Without" }), { code: Code.INVALID_ARGUMENT });
  await edit(contact.id, { lastname: "Not named, not asked for" });
  await update(required.id, { isRequired: false }, ["is_required"]);
});

test("a unique field finds the contact on creation, and refuses a value that another one has", async () => {
  const { alias } = await addField({ isUniqueIdentifier: true });
  const first = await addContact({ firstname: "One", [alias]: "Key" });
  const same = await addContact({ lastname: "Same", [alias]: " key " });
  assert.equal(same.id, first.id);
  const second = await addContact({ firstname: "Two", [alias]: "other" });
  await assert.rejects(
    edit(second.id, { [alias]: "KEY" }),
    (error: Fault) => error.violations[0]?.field === alias,
  );
});

test("64 parallel creations of one value of an added unique field make one contact", async () => {
  const { alias } = await addField({ isUniqueIdentifier: true });
  const made = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      addContact({ [alias]: "the same" }, index % 2 ? other.contacts : scene.handlers),
    ),
  );
  assert.equal(new Set(made.map(({ id }) => id)).size, 1);
});

test("a field that becomes unique claims the values that are there, and gives them up again", async () => {
  const { id, alias } = await addField();
  const first = await addContact({ firstname: "A", [alias]: "twice" });
  await addContact({ firstname: "B", [alias]: "twice" });
  await update(id, { isUniqueIdentifier: true }, ["is_unique_identifier"]);
  await finishUpkeep();
  assert.equal((await addContact({ [alias]: "twice" })).id, first.id);
  await update(id, { isUniqueIdentifier: false }, ["is_unique_identifier"]);
  await finishUpkeep();
  assert.notEqual((await addContact({ firstname: "C", [alias]: "twice" })).id, first.id);
});

test("equality on an added text field knows no case", async () => {
  const { alias } = await addField();
  const { id } = await addContact({ firstname: "Found", [alias]: "Needle" });
  assert.deepEqual(await listed(alias, "eq", ["nEEDLE"]), [id]);
  assert.deepEqual(await listed(alias, "in", ["hay", "needle"]), [id]);
  assert.deepEqual(await listed(alias, "eq", ["needles"]), []);
});

async function edit(id: number, body: Record<string, unknown>) {
  return scene.handlers.updateContact(
    {
      $typeName: "tidings.contact.v1.UpdateContactRequest",
      id,
      contact: contactBody(body),
      allowMissing: false,
    },
    call,
  );
}

async function update(id: number, init: MessageInitShape<typeof FieldSchema>, paths: string[]) {
  return fields.updateField(
    {
      $typeName: "tidings.contact.v1.UpdateFieldRequest",
      id,
      field: create(FieldSchema, init),
      updateMask: { $typeName: "google.protobuf.FieldMask", paths },
      allowMissing: false,
    },
    call,
  );
}

/** Upkeep waits until no replica works with the old definitions: two seconds. */
async function finishUpkeep(): Promise<void> {
  await eventually(async () => {
    const { database } = scene.context;
    while (await stepJobs(upkeepOptions(database, createLog("test", "silent"))));
    const rows = await scene.context.database.query(
      { text: "select 1 from jobs where kind = 'field_upkeep'" },
      [],
      Date.now() + 5_000,
    );
    assert.equal(rows.length, 0);
  });
}
