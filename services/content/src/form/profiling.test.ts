import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { type Acquaintance, hiddenFields } from "./profiling.ts";

type Fields = MessageInitShape<typeof FormSchema>["fields"];

/** The aliases of the fields that are not shown; ids are their places. */
function hidden(fields: Fields, known: Partial<Acquaintance>, form: object = {}): string[] {
  const numbered = (fields ?? []).map((field, index) => ({ type: "text", ...field, id: index + 1 }));
  const message = create(FormSchema, { ...form, fields: numbered });
  const ids = hiddenFields(message, { contact: {}, submissions: [], ...known });
  return message.fields.filter(({ id }) => ids.has(id)).map(({ alias }) => alias);
}

const MAIL = { alias: "mail", mappedObject: "contact", mappedField: "email", showWhenValueExists: false };

test("a known value, or one that was sent before, is not asked for again", () => {
  assert.deepEqual(hidden([MAIL], {}), []);
  assert.deepEqual(hidden([MAIL], { contact: { email: "ada@example.com" } }), ["mail"]);
  assert.deepEqual(hidden([MAIL], { contact: { email: "" } }), []);
  assert.deepEqual(hidden([MAIL], { submissions: [{}, { 1: "ada@example.com" }] }), ["mail"]);
  const known = { contact: { email: "a" }, submissions: [{ 1: "a" }] };
  for (const members of [{ alwaysDisplay: true }, { isAutoFill: true }, { showWhenValueExists: true }])
    assert.deepEqual(hidden([{ ...MAIL, ...members }], known), [], JSON.stringify(members));
  assert.deepEqual(hidden([MAIL], known, { inKioskMode: true }), [], "each is somebody else's there");
});

test("some fields are asked for from the so manieth submission on", () => {
  const later = { alias: "why", showAfterXSubmissions: 2 };
  assert.deepEqual(hidden([later], { submissions: [{}] }), ["why"]);
  assert.deepEqual(hidden([later], { submissions: [{}, {}] }), []);
  assert.deepEqual(hidden([{ ...later, alwaysDisplay: true }], {}), []);
});

test("so many are shown at once, in their order; what is always displayed is among them, what shows nothing is not", () => {
  const fields = [MAIL, { alias: "a" }, { alias: "b" }, { alias: "c", alwaysDisplay: true }, { alias: "d" }];
  const shown = { progressiveProfilingLimit: 2 };
  assert.deepEqual(hidden(fields, {}, shown), ["a", "b", "d"]);
  assert.deepEqual(hidden(fields, { contact: { email: "a" } }, shown), ["mail", "b", "d"]);
  const others = [
    { alias: "t", type: "freetext" },
    { alias: "h", type: "hidden" },
    { alias: "s", type: "button" },
  ];
  assert.deepEqual(hidden([...others, ...fields], {}, { progressiveProfilingLimit: 9 }), []);
});
