import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { WebhookSchema } from "@tidings/proto/tidings/webhook/v1/webhook";
import { messageWriter } from "./message-json.ts";

const writeContact = messageWriter(ContactSchema);
const writeWebhook = messageWriter(WebhookSchema);

test("an optional field that is not set is null", () => {
  const contact = JSON.parse(writeContact(create(ContactSchema, { id: 7 })));
  assert.equal(contact.id, 7);
  for (const name of ["createdBy", "createdByUser", "dateModified", "points", "color", "owner"])
    assert.equal(contact[name], null, name);
});

test("a zero, an empty text and false that were set are written as they are", () => {
  const webhook = create(WebhookSchema, { createdBy: 0, description: "", isPublished: false });
  const json = JSON.parse(writeWebhook(webhook));
  assert.deepEqual([json.createdBy, json.description, json.isPublished], [0, "", false]);
});

test("times are ISO 8601 in UTC with an offset and without milliseconds", () => {
  const dateAdded = timestampFromMs(Date.UTC(2024, 4, 1, 10, 0, 0, 999));
  const { dateAdded: text } = JSON.parse(writeContact(create(ContactSchema, { dateAdded })));
  assert.equal(text, "2024-05-01T10:00:00+00:00");
});

test("raw JSON is passed on byte for byte, and empty raw JSON is null", () => {
  const owner = Buffer.from('{ "core":{"city":{"value":"Köln 🐘"}} , "n": 1.0 }');
  const text = writeContact(create(ContactSchema, { owner }));
  assert.ok(text.includes(`"owner":${owner}`));
  assert.equal(JSON.parse(text).tags, null);
});

test("values are written into the form they came with, and without one they are the whole", () => {
  const form = { constants: '{"a":\u001f,"all":[\u001f,\u001f]}', slots: [0, 1, 0] };
  const filled = writeContact(create(ContactSchema, { fields: { form, values: '"x"\u001f"Köln"' } }));
  assert.deepEqual(JSON.parse(filled).fields, { a: "x", all: ["Köln", "x"] });
  const whole = writeContact(create(ContactSchema, { fields: { values: '{"a":1}' } }));
  assert.deepEqual(JSON.parse(whole).fields, { a: 1 });
});

test("raw JSON that is a part of a larger buffer is written without the rest of the buffer", () => {
  const whole = Buffer.from('xx["a"]yy');
  const text = writeContact(create(ContactSchema, { tags: whole.subarray(2, 7) }));
  assert.deepEqual(JSON.parse(text).tags, ["a"]);
});

test("fields that are for input only are never written", () => {
  const contact = create(ContactSchema, {
    values: Buffer.from("{}"),
    ipAddress: "1.2.3.4",
    overwriteWithBlank: true,
  });
  const json = JSON.parse(writeContact(contact));
  for (const name of ["values", "ipAddress", "overwriteWithBlank"]) assert.ok(!(name in json), name);
});

test("text is escaped, and lists of texts are arrays", () => {
  const triggers = ['a"b', "c\u2028\n"];
  const json = JSON.parse(writeWebhook(create(WebhookSchema, { name: 'say "hi"\\', triggers })));
  assert.equal(json.name, 'say "hi"\\');
  assert.deepEqual(json.triggers, triggers);
});

test("with select only the named members are written, and of them none that are null", () => {
  const contact = create(ContactSchema, { id: 7, points: 3 });
  const select = new Set(["id", "points", "color", "owner", "tags", "noSuchMember"]);
  assert.equal(writeContact(contact, select), '{"id":7,"points":3}');
});

test("a select of nothing known writes an empty object", () => {
  assert.equal(writeContact(create(ContactSchema, { id: 7 }), new Set(["noSuchMember"])), "{}");
});
