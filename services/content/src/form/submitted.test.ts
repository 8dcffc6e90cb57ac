import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type FormField, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { type JsonObject, jsonBytes } from "@tidings/resource/json-member";
import { readSubmitted } from "./submitted.ts";

type Field = Partial<Omit<FormField, "$typeName" | "properties" | "validation" | "conditions">> & {
  properties?: object;
  validation?: object;
  conditions?: object;
};

/** Fields are known by their aliases here, their ids are their places. */
function read(fields: Field[], values: JsonObject) {
  const form = create(FormSchema, {
    fields: fields.map(({ properties = [], validation = [], conditions = [], ...field }, index) => ({
      type: "text",
      label: field.alias ?? "",
      ...field,
      id: index + 1,
      properties: jsonBytes(properties),
      validation: jsonBytes(validation),
      conditions: jsonBytes(conditions),
    })),
  });
  const { errors, results, contact, company } = readSubmitted(form, values);
  return {
    errors: Object.fromEntries(errors.map(({ field, message }) => [field, message])),
    results: Object.fromEntries([...results].map(([{ alias }, value]) => [alias, value])),
    contact: Object.fromEntries(contact),
    company: Object.fromEntries(company),
  };
}

const errorsOf = (field: Field, value: unknown) => read([{ alias: "a", ...field }], { a: value }).errors.a;

test("a missing required value is asked for in the words of its field, or the usual ones", () => {
  assert.equal(errorsOf({ isRequired: true, label: "Your name" }, "  "), "'Your name' is required.");
  assert.equal(errorsOf({ isRequired: true, validationMessage: "Say it" }, "<p></p>"), "Say it");
  assert.equal(errorsOf({ isRequired: true }, "x"), undefined);
});

test("values fit their type", () => {
  for (const [type, good, bad, message] of [
    ["email", " ada@example.com ", "ada@", "The email is invalid."],
    ["url", "https://example.com/a?b=c", "/a", "The URL is invalid."],
    ["url", "http://example.com", "javascript:alert(1)", "The URL is invalid."],
    ["number", "-1 000.5", "ten", "The number is invalid."],
  ] as const) {
    assert.equal(errorsOf({ type }, good), undefined, good);
    assert.equal(errorsOf({ type }, bad), message, bad);
  }
  const international = {
    type: "tel",
    validation: { international: 1, international_validationmsg: "With +" },
  };
  assert.equal(errorsOf(international, "+49 (30) 123-456"), undefined);
  assert.equal(errorsOf(international, "030 123456"), "With +");
  assert.equal(errorsOf({ type: "tel" }, "030 123456"), undefined);
});

test("nothing that no form sends is taken for a value", () => {
  const values: unknown[] = [{}, [[1]], [{ toString: 1 }], "x".repeat(65_536), Array(501).fill("a")];
  for (const value of values) assert.equal(errorsOf({}, value), "This value is not valid.", typeof value);
  assert.deepEqual(read([{ alias: "constructor" }, { alias: "tostring" }], {}).results, {
    constructor: "",
    tostring: "",
  });
});

test("tags go, several values become one, and what is not to be kept is not", () => {
  const { results } = read(
    [
      { alias: "a" },
      { alias: "b", type: "checkboxgrp" },
      { alias: "c", saveResult: false },
      { alias: "d", type: "button" },
    ],
    { a: "<b>1 < 2</b>", b: ["x", "", "y"], c: "secret", d: "1", e: "unknown" },
  );
  assert.deepEqual(results, { a: "1 < 2", b: "x, y" });
});

test("mapped values have the names of the contact and the company, kept or not, unless they are empty", () => {
  const { contact, company } = read(
    [
      { alias: "a", mappedObject: "contact", mappedField: "email", saveResult: false },
      { alias: "b", mappedObject: "company", mappedField: "companyname" },
      { alias: "c", mappedObject: "contact", mappedField: "city" },
    ],
    { a: "ada@example.com", b: "Engines", c: "" },
  );
  assert.deepEqual([contact, company], [{ email: "ada@example.com" }, { companyname: "Engines" }]);
});

test("a field that was not to be asked for is as if nothing had been sent, however required it is", () => {
  const fields: Field[] = [
    { alias: "pet", type: "radiogrp" },
    {
      alias: "breed",
      parent: 1,
      isRequired: true,
      conditions: { expr: "in", any: false, values: ["dog", "cat"] },
    },
    { alias: "fur", parent: 2, isRequired: true, conditions: { expr: "in", any: true, values: [] } },
    { alias: "why", parent: 1, conditions: { expr: "notIn", any: false, values: ["dog"] } },
  ];
  assert.deepEqual(read(fields, { pet: "fish", breed: "hidden", fur: "hidden", why: "calm" }), {
    errors: {},
    results: { pet: "fish", why: "calm" },
    contact: {},
    company: {},
  });
  const { errors, results } = read(fields, { pet: "dog" });
  assert.deepEqual(Object.keys(errors), ["breed"]);
  assert.deepEqual(results, { pet: "dog" });
  assert.deepEqual(Object.keys(read(fields, { pet: "cat", breed: "tabby" }).errors), ["fur"]);
});

test("a captcha wants its answer, is a trap without one, and is never kept", () => {
  const asked = { type: "captcha", properties: { captcha: "42", errorMessage: "No" } };
  assert.equal(errorsOf(asked, "42"), undefined);
  assert.equal(errorsOf(asked, "43"), "No");
  assert.equal(errorsOf(asked, ""), "No");
  const trap = create(FormSchema, { fields: [{ id: 1, alias: "a", type: "captcha" }] });
  const trapped = readSubmitted(trap, { a: "I am a machine" });
  assert.deepEqual([trapped.errors, trapped.isTrapped], [[], true]);
  assert.equal(readSubmitted(trap, { a: "" }).isTrapped, false);
  assert.deepEqual(read([{ alias: "a", ...asked }], { a: "42" }).results, {});
});

test("the name of an uploaded file is kept, if its kind and size are allowed", () => {
  const file = {
    alias: "a",
    type: "file",
    properties: { allowed_file_extensions: ["pdf"], allowed_file_size: 1 },
  };
  const sent = (name: string, size: number) => read([file], { a: { name, size } });
  assert.deepEqual(sent("C:\\letters\\cv.PDF", 1_000_000).results, { a: "cv.PDF" });
  assert.match(sent("cv.exe", 1).errors.a ?? "", /pdf/);
  assert.match(sent("cv.pdf", 1_000_001).errors.a ?? "", /1 MB/);
});
