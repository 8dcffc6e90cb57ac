import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "@tidings/gateway/openapi/document";
import { changesBetween, unnamed } from "./openapi-changes.ts";
import { openApiText } from "./openapi-file.ts";

// biome-ignore lint/suspicious/noExplicitAny: a planted change may be anywhere
type Any = any;

const json = (schema: object) => ({ content: { "application/json": { schema } } });
const TAG = { $ref: "#/components/schemas/Tag" };
const SENT = { $ref: "#/components/schemas/TagInput" };
const BEFORE: Any = {
  paths: {
    "/api/tags": {
      get: {
        parameters: [
          { in: "query", name: "search", schema: { type: "string", maxLength: 1_000 } },
          { $ref: "#/components/parameters/order" },
        ],
        responses: {
          200: {
            headers: { Link: {} },
            ...json({
              type: "object",
              properties: { tags: { type: "array", items: TAG }, total: { type: "integer" } },
              required: ["tags"],
              additionalProperties: false,
            }),
          },
          400: { $ref: "#/components/responses/E400" },
        },
      },
    },
    "/api/tags/new": {
      post: {
        parameters: [],
        requestBody: json(SENT),
        responses: { 200: json(TAG), 201: json(TAG) },
      },
    },
    "/api/tags/batch/edit": {
      patch: {
        parameters: [],
        requestBody: json({
          anyOf: [
            { type: "array", items: { allOf: [SENT, { properties: { id: { type: "integer" } } }] } },
            { type: "object", patternProperties: { "^\\d+$": SENT } },
          ],
        }),
        responses: { 200: json({ anyOf: [{ type: "array", items: TAG }, { type: "null" }] }) },
      },
    },
  },
  components: {
    parameters: {
      order: { in: "query", name: "order", schema: { type: "string", enum: ["asc", "desc"] } },
    },
    responses: { E400: json({ type: "object", properties: { message: { type: "string" } } }) },
    schemas: {
      Tag: {
        type: "object",
        properties: {
          id: { type: "integer" },
          tag: { type: "string" },
          state: { enum: ["new", "old"] },
          parent: { anyOf: [TAG, { type: "null" }] },
          numbers: { type: "object", additionalProperties: { type: "integer" } },
        },
        required: ["id", "tag", "state"],
        additionalProperties: false,
      },
      TagInput: {
        type: "object",
        properties: {
          tag: { type: ["string", "null"], maxLength: 100 },
          kind: { enum: ["a", "b"] },
          parts: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
        },
      },
    },
  },
};

function changed(change: (document: Any) => void): string[] {
  const after = structuredClone(BEFORE);
  change(after);
  return changesBetween(BEFORE as Document, after as Document);
}

const listOf = ({ paths }: Any) => paths["/api/tags"].get;
const answerOf = (document: Any) => listOf(document).responses[200].content["application/json"].schema;
const newOf = ({ paths }: Any) => paths["/api/tags/new"].post;
const batchOf = ({ paths }: Any) => paths["/api/tags/batch/edit"].patch;
const tagOf = ({ components }: Any) => components.schemas.Tag;
const sentOf = ({ components }: Any) => components.schemas.TagInput;

const cases: [name: string, change: (document: Any) => void, found: string[]][] = [
  ["nothing", () => undefined, []],
  ["a path that goes", ({ paths }) => delete paths["/api/tags"], ["GET /api/tags is gone"]],
  [
    "parameters that go, inline and shared",
    (document) => listOf(document).parameters.splice(0, 2),
    [
      "GET /api/tags has no query parameter search any more",
      "GET /api/tags has no query parameter order any more",
    ],
  ],
  [
    "a parameter that takes less",
    (document) => {
      listOf(document).parameters[0].schema.maxLength = 10;
      document.components.parameters.order.schema.enum.pop();
    },
    [
      "GET /api/tags query parameter search has a narrower maxLength",
      "GET /api/tags query parameter order takes no desc any more",
    ],
  ],
  [
    "a parameter that is needed now",
    (document) => listOf(document).parameters.push({ in: "query", name: "list", required: true, schema: {} }),
    ["GET /api/tags needs the query parameter list"],
  ],
  [
    "a success that goes, but not an error",
    (document) => {
      delete newOf(document).responses[201];
      delete listOf(document).responses[400];
    },
    ["POST /api/tags/new does not answer 201 any more"],
  ],
  [
    "a header that goes",
    (document) => delete listOf(document).responses[200].headers.Link,
    ["GET /api/tags 200 has no header Link any more"],
  ],
  [
    "a body that is needed now, and one of another type",
    (document) => {
      newOf(document).requestBody.required = true;
      batchOf(document).requestBody.content = { "text/csv": {} };
    },
    ["POST /api/tags/new needs a body", "PATCH /api/tags/batch/edit takes no application/json any more"],
  ],
  [
    "a member of an answer that goes",
    (document) => delete tagOf(document).properties.tag,
    ["Tag.tag is gone"],
  ],
  [
    "a member of an answer that may be null, or missing",
    (document) => {
      tagOf(document).properties.tag.type = ["string", "null"];
      tagOf(document).required.pop();
    },
    ["Tag.state may be missing", "Tag.tag may be null"],
  ],
  [
    "a value that answers did not have",
    (document) => tagOf(document).properties.state.enum.push("odd"),
    ["Tag.state may be odd"],
  ],
  [
    "members within an answer",
    (document) => {
      tagOf(document).properties.numbers.additionalProperties.type = "string";
      answerOf(document).properties.total.type = "string";
    },
    ["Tag.numbers.* may be string", "GET /api/tags 200.total may be string"],
  ],
  [
    "an answer of another schema, behind a reference and beside null",
    (document) => {
      document.components.schemas.Other = { type: "object", properties: { id: { type: "string" } } };
      tagOf(document).properties.parent.anyOf[0] = { $ref: "#/components/schemas/Other" };
    },
    [
      "Tag may have other members",
      "Tag.id may be missing",
      "Tag.id may be string",
      "Tag.tag is gone",
      "Tag.state is gone",
      "Tag.parent is gone",
      "Tag.numbers is gone",
    ],
  ],
  [
    "an answer that is a list no more",
    (document) => {
      batchOf(document).responses[200].content["application/json"].schema.anyOf[0] = { type: "string" };
    },
    ["PATCH /api/tags/batch/edit 200 may be string"],
  ],
  [
    "a body that takes less",
    (document) => {
      Object.assign(sentOf(document).properties.tag, { type: "string", maxLength: 50 });
      sentOf(document).properties.kind.enum.pop();
      sentOf(document).properties.parts.items.properties.name.type = "integer";
    },
    [
      "TagInput.tag takes no null any more",
      "TagInput.tag has a narrower maxLength",
      "TagInput.kind takes no b any more",
      "TagInput.parts[].name takes no string any more",
    ],
  ],
  [
    "a body that needs more, or has no others",
    (document) => Object.assign(sentOf(document), { required: ["tag"], additionalProperties: false }),
    ["TagInput needs tag", "TagInput takes no other members any more"],
  ],
  [
    "a form of a body that goes",
    (document) => batchOf(document).requestBody.content["application/json"].schema.anyOf.pop(),
    ["PATCH /api/tags/batch/edit body takes no object any more"],
  ],
  [
    "an error that has another form",
    ({ components }) =>
      delete components.responses.E400.content["application/json"].schema.properties.message,
    ["400.message is gone"],
  ],
  [
    "more of everything",
    (document) => {
      Object.assign(document.paths, { "/api/more": { get: { parameters: [], responses: { 200: {} } } } });
      listOf(document).parameters.push({ in: "query", name: "more", schema: { type: "string" } });
      listOf(document).responses[200].headers.ETag = {};
      tagOf(document).properties.more = { type: "string" };
      tagOf(document).properties.state.enum.pop();
      sentOf(document).properties.more = { type: "string" };
      sentOf(document).properties.kind.enum.push("c");
      sentOf(document).properties.tag.maxLength = 200;
      batchOf(document).requestBody.content["application/json"].schema.anyOf.push({ type: "string" });
    },
    [],
  ],
];
for (const [name, change, found] of cases)
  test(`a change that breaks clients is found: ${name}`, () =>
    assert.deepEqual(changed(change).toSorted(), found.toSorted()));

test("the description of the API loses nothing against itself, and each member that goes is found", () => {
  const before: Document = JSON.parse(openApiText());
  assert.deepEqual(changesBetween(before, before), []);
  for (const [name, schema] of Object.entries(before.components.schemas)) {
    const [member] = Object.keys((schema.properties ?? {}) as object);
    if (member === undefined) continue;
    const after: Any = structuredClone(before);
    delete after.components.schemas[name].properties[member];
    assert.ok(changesBetween(before, after).includes(`${name}.${member} is gone`), `${name}.${member}`);
  }
});

test("a line names a change once: one that was there before allows nothing", () => {
  const change = "Tag.tag is gone";
  const once = `# Changes\n\n- ${change}\n`;
  assert.deepEqual(unnamed([change], { before: "", after: once }), []);
  assert.deepEqual(unnamed([change], { before: once, after: once }), [change]);
  assert.deepEqual(unnamed([change], { before: once, after: `${once}- ${change}\n` }), []);
  assert.deepEqual(unnamed([change], { before: "", after: `- ${change} in part\n` }), [change]);
});
