import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes, jsonOf } from "@tidings/resource/json-member";
import { Fault } from "@tidings/rpc/fault";
import type { ContactFields } from "./contact-field.ts";
import { aliasOf, resolveFields } from "./field.ts";

/** Fields of contacts that a form can be mapped to. */
const FIELDS: ContactFields = new Map([
  ["email", { object: "contact", type: "email", choices: [] }],
  ["city", { object: "contact", type: "text", choices: [] }],
  ["companyname", { object: "company", type: "text", choices: [] }],
]);

const formOf = (fields: MessageInitShape<typeof FormSchema>["fields"]): Form =>
  create(FormSchema, { fields: fields ?? [] });

test("an alias is a short Latin word that means nothing else", () => {
  const aliases: [string, string][] = [
    ["First name", "first_name"],
    ["  Größe (cm) ", "grosse_cm"],
    ["Select", "f_select"],
    ["2nd address", "f_2nd_address"],
    ["12", "f_12"],
    ["name", "f_name"],
    ["Return", "f_return"],
    ["form_id", "f_form_id"],
    ["a".repeat(40), "a".repeat(25)],
    ["???", "f_field"],
    ["__proto__", "f___proto_field"],
  ];
  for (const [text, alias] of aliases) assert.equal(aliasOf(text), alias, text);
});

test("aliases made of labels get numbers to differ, and none that was asked for gives way", () => {
  const form = formOf([
    { label: "Email" },
    { label: "Email" },
    { label: "Work", alias: "email1" },
    { label: "x".repeat(30) },
    { label: "x".repeat(31) },
  ]);
  assert.deepEqual(resolveFields(form, undefined, FIELDS), []);
  assert.deepEqual(
    form.fields.map(({ alias }) => alias),
    ["email", "email2", "email1", "x".repeat(25), `${"x".repeat(24)}1`],
  );
});

test("the same alias twice is refused by name", () => {
  const fault = resolveFields(
    formOf([
      { label: "A", alias: "Mail" },
      { label: "B", alias: "mail" },
    ]),
    undefined,
    FIELDS,
  );
  assert.ok(fault instanceof Fault);
  assert.match(fault.message, /^Another field is already using this alias: mail\./);
});

test("a mapping by the older name is one by the newer name, and the other way round", () => {
  const before = formOf([
    { id: 1, label: "A", leadField: "email", mappedField: "email", mappedObject: "contact" },
  ]);
  const older = formOf([{ label: "A", leadField: "email" }]);
  const newer = formOf([
    { id: 1, label: "A", leadField: "email", mappedField: "city", mappedObject: "contact" },
  ]);
  const company = formOf([{ label: "A", mappedField: "companyname", mappedObject: "company" }]);
  const cleared = formOf([
    { id: 1, label: "A", leadField: "", mappedField: "email", mappedObject: "contact" },
  ]);
  const mapped = (form: Form, old?: Form) => {
    assert.deepEqual(resolveFields(form, old, FIELDS), []);
    const [{ leadField, mappedObject, mappedField } = form.fields[0] as never] = form.fields;
    return [leadField, mappedObject, mappedField];
  };
  assert.deepEqual(mapped(older), ["email", "contact", "email"]);
  assert.deepEqual(mapped(newer, before), ["city", "contact", "city"]);
  assert.deepEqual(mapped(company), [undefined, "company", "companyname"]);
  assert.deepEqual(mapped(cleared, before), [undefined, undefined, undefined]);
});

test("a field is mapped to one that there is, of the object it says; one that is gone since stays named", () => {
  const wrong = (field: object, old?: object) => {
    const found = resolveFields(
      formOf([{ id: 1, label: "A", ...field }]),
      old && formOf([{ id: 1, label: "A", ...old }]),
      FIELDS,
    );
    assert.ok(Array.isArray(found));
    return found.map(({ field: path, message }) => `${path} ${message}`);
  };
  assert.deepEqual(wrong({ mappedField: "gone" }), [
    "fields[0].mappedField There is no such field of a contact.",
  ]);
  assert.deepEqual(wrong({ leadField: "gone" }), [
    "fields[0].mappedField There is no such field of a contact.",
  ]);
  assert.deepEqual(wrong({ leadField: "companyname" }), [], "older clients say no object");
  assert.equal(wrong({ mappedField: "city", mappedObject: "company" }).length, 1);
  const gone = { mappedField: "gone", mappedObject: "contact", leadField: "gone" };
  assert.deepEqual(wrong(gone, gone), []);
});

test("a field depends on another one of its form, and never on itself", () => {
  const paths = (form: Form, before?: Form) => {
    const found = resolveFields(form, before, FIELDS);
    assert.ok(!(found instanceof Fault));
    return found.map(({ field }) => field);
  };
  assert.deepEqual(
    paths(
      formOf([
        { id: 1, label: "A" },
        { id: 2, label: "B", parent: 1 },
      ]),
    ),
    [],
  );
  assert.deepEqual(paths(formOf([{ id: 1, label: "A", parent: 9 }])), ["fields[0].parent"]);
  assert.deepEqual(paths(formOf([{ id: 1, label: "A", parent: 1 }])), ["fields[0].parent"]);
  const circle = formOf([
    { id: 1, label: "A", parent: 3 },
    { id: 2, label: "B", parent: 1 },
    { id: 3, label: "C", parent: 2 },
  ]);
  assert.equal(paths(circle).length, 3);
  const orphan = formOf([{ id: 2, label: "B", parent: 1 }]);
  assert.deepEqual(
    paths(
      orphan,
      formOf([
        { id: 1, label: "A" },
        { id: 2, label: "B", parent: 1 },
      ]),
    ),
    [],
  );
  assert.equal(orphan.fields[0]?.parent, undefined, "what it depended on has left");
});

test("conditions have one form, however they were written", () => {
  const kept = (conditions: unknown) => {
    const form = formOf([{ label: "A", conditions: jsonBytes(conditions) }]);
    const wrong = resolveFields(form, undefined, FIELDS);
    assert.ok(Array.isArray(wrong));
    return wrong.length > 0 ? wrong[0]?.field : jsonOf(form.fields[0]?.conditions);
  };
  assert.deepEqual(kept([]), []);
  assert.deepEqual(kept({ expr: "in", any: "0", values: { 0: "a", 1: 2 } }), {
    expr: "in",
    any: false,
    values: ["a", "2"],
  });
  assert.deepEqual(kept({ any: 1 }), { expr: "in", any: true, values: [] });
  assert.equal(kept({ expr: "near" }), "fields[0].conditions.expr");
  assert.equal(kept({ values: [{}] }), "fields[0].conditions.values");
  assert.equal(kept("always"), "fields[0].conditions");
});
