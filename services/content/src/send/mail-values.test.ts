import assert from "node:assert/strict";
import { test } from "node:test";
import { valuesOf } from "./mail-values.ts";

const TEMPLATE = { contactFields: ["firstname"], hasDates: false, contents: new Map(), tokens: [] };
const OWNER = {
  ...{ firstname: "Grace", lastname: "Hopper", email: "grace@mail.example" },
  ...{ position: "", signature: "", isPublished: true },
};
const READER = {
  fields: new Map([
    ["firstname", "Ada"],
    ["lastname", "Lovelace"],
    ["timezone", "Europe/Vienna"],
  ]),
  ...{ versions: new Map<string, number>(), owner: OWNER, now: 1_764_176_000_000 },
};
const read = (json: string | undefined) => JSON.parse(json ?? "null");

test("a mail keeps the values that its template reads, and the owner where it names one", () => {
  const at = READER.now;
  assert.deepEqual(read(valuesOf(TEMPLATE, READER)), { at, fields: { firstname: "Ada" } });
  assert.deepEqual(read(valuesOf({ ...TEMPLATE, hasDates: true }, READER)), {
    at,
    fields: { firstname: "Ada", timezone: "Europe/Vienna" },
  });
  const signed = { ...TEMPLATE, contactFields: [], tokens: [{ name: "signature", argument: undefined }] };
  assert.deepEqual(read(valuesOf(signed, READER)), { at, fields: {}, owner: OWNER });
  // A field without a value may get one later.
  assert.deepEqual(read(valuesOf(TEMPLATE, { ...READER, fields: new Map() })), { at, fields: {} });
});

test("a mail that reads nothing, and values of more than 20,000 characters, leave no row", () => {
  assert.equal(valuesOf({ ...TEMPLATE, contactFields: [] }, READER), undefined);
  const fields = new Map([["firstname", "x".repeat(20_000)]]);
  assert.equal(valuesOf(TEMPLATE, { ...READER, fields }), undefined);
});
