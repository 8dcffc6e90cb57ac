import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "@tidings/gateway/openapi/document";
import { changesBetween } from "./openapi-changes.ts";

const BEFORE = {
  paths: {
    "/api/tags": { get: { parameters: [{ in: "query", name: "search" }], responses: { 200: {}, 400: {} } } },
    "/api/tags/new": { post: { parameters: [], responses: { 200: {}, 201: {} } } },
  },
  components: {
    schemas: {
      Tag: { properties: { id: { type: "integer" }, tag: { type: "string" } } },
      TagInput: {
        properties: { tag: { type: ["string", "null"], maxLength: 100 }, kind: { enum: ["a", "b"] } },
      },
    },
  },
};

function changed(change: (document: typeof BEFORE) => void): string[] {
  const after = structuredClone(BEFORE);
  change(after);
  return changesBetween(BEFORE as unknown as Document, after as unknown as Document);
}

const cases: [name: string, change: (document: typeof BEFORE) => void, found: string[]][] = [
  ["nothing", () => undefined, []],
  ["a path that goes", ({ paths }) => Reflect.deleteProperty(paths, "/api/tags"), ["GET /api/tags is gone"]],
  [
    "a parameter that goes",
    ({ paths }) => paths["/api/tags"].get.parameters.pop(),
    ["GET /api/tags has no query parameter search any more"],
  ],
  [
    "a success that goes, but not an error",
    ({ paths }) => {
      Reflect.deleteProperty(paths["/api/tags/new"].post.responses, "201");
      Reflect.deleteProperty(paths["/api/tags"].get.responses, "400");
    },
    ["POST /api/tags/new does not answer 201 any more"],
  ],
  [
    "a member of an answer that goes",
    ({ components }) => Reflect.deleteProperty(components.schemas.Tag.properties, "tag"),
    ["Tag.tag is gone"],
  ],
  [
    "an answer that may be null",
    ({ components }) => Object.assign(components.schemas.Tag.properties.tag, { type: ["string", "null"] }),
    ["Tag.tag may be null"],
  ],
  [
    "a body that takes less",
    ({ components: { schemas } }) => {
      Object.assign(schemas.TagInput.properties.tag, { type: "string", maxLength: 50 });
      schemas.TagInput.properties.kind.enum.pop();
    },
    [
      "TagInput.tag takes no null any more",
      "TagInput.tag has a narrower maxLength",
      "TagInput.kind takes no b any more",
    ],
  ],
  [
    "more of everything",
    ({ paths, components: { schemas } }) => {
      Object.assign(paths, { "/api/more": { get: { parameters: [], responses: { 200: {} } } } });
      Object.assign(schemas.Tag.properties, { more: { type: "string" } });
      Object.assign(schemas.TagInput.properties.tag, { maxLength: 200 });
    },
    [],
  ],
];
for (const [name, change, found] of cases)
  test(`a change that breaks clients is found: ${name}`, () => assert.deepEqual(changed(change), found));
