import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FormActionSchema } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes, jsonOf } from "@tidings/resource/json-member";
import { resolveProperties } from "@tidings/resource/properties";
import { generateSecretKey, secretBox } from "@tidings/secrets/secret-box";
import { checkAction } from "./action.ts";
import { FIELD_PROPERTIES } from "./field-types.ts";

const box = secretBox([generateSecretKey()]);

/** The kept properties, or the member that is wrong. */
function resolved(type: string, properties: unknown): unknown {
  const item = { type, properties: jsonBytes(properties) };
  const [wrong] = resolveProperties(item, FIELD_PROPERTIES.get(item.type) ?? {}, "properties");
  return wrong ? wrong.field : jsonOf(item.properties);
}

function action(type: string, properties: unknown): unknown {
  const item = create(FormActionSchema, { type, properties: jsonBytes(properties) });
  const [wrong] = checkAction(item, "actions[0]", { before: undefined, allowed: [], box });
  return wrong ? wrong.field : jsonOf(item.properties);
}

test("the choices of a list are kept in one form, however they were written", () => {
  const list = [
    { label: "Red", value: "r" },
    { label: "Blue", value: "b" },
  ];
  const kept = { list: { list } };
  for (const written of [list, { list }, { r: "Red", b: "Blue" }, { list: { r: "Red", b: "Blue" } }])
    assert.deepEqual(resolved("select", { list: written }), kept, JSON.stringify(written));
  const plain = { list: { list: [{ label: "a", value: "a" }] } };
  for (const written of [["a"], { 0: "a" }, [{ value: "a" }], [{ label: "a" }]])
    assert.deepEqual(resolved("select", { list: written }), plain, JSON.stringify(written));
  assert.deepEqual(resolved("radiogrp", { optionlist: { list: [] } }), { optionlist: { list: [] } });
  for (const wrong of ["a|b", 1, [[1]], [{ label: {} }]])
    assert.equal(resolved("select", { list: wrong }), "properties.list", JSON.stringify(wrong));
});

test("properties are what their type has them be, and others stay as they are", () => {
  assert.deepEqual(resolved("text", { placeholder: "<b>Name</b>", mine: { a: 1 } }), {
    placeholder: "Name",
    mine: { a: 1 },
  });
  assert.deepEqual(resolved("freehtml", { text: "<b>Hello</b>" }), { text: "<b>Hello</b>" });
  assert.deepEqual(resolved("file", { allowed_file_extensions: "PDF, .png", allowed_file_size: "2" }), {
    allowed_file_extensions: ["pdf", "png"],
    allowed_file_size: 2,
  });
  assert.deepEqual(resolved("country", { multiple: "yes" }), { multiple: 1 });
  assert.deepEqual(resolved("text", []), []);
  assert.deepEqual(resolved("text", ""), []);
  assert.equal(resolved("text", "many"), "properties");
  assert.equal(resolved("text", { placeholder: {} }), "properties.placeholder");
  assert.equal(resolved("number", { precision: 99 }), "properties.precision");
  assert.equal(resolved("button", { type: "explode" }), "properties.type");
  assert.equal(resolved("file", { allowed_file_extensions: ["../x"] }), "properties.allowed_file_extensions");
  assert.deepEqual(
    resolved("text", JSON.parse('{"__proto__": {"placeholder": 1}, "constructor": 2}')),
    JSON.parse('{"__proto__": {"placeholder": 1}, "constructor": 2}'),
  );
});

test("properties of actions are checked as numbers, operators and addresses; unknown actions keep theirs as sent", () => {
  assert.deepEqual(action("lead.pointschange", { operator: "plus", points: "5", group: "" }), {
    operator: "plus",
    points: 5,
    group: null,
  });
  assert.deepEqual(action("lead.changelist", { addToLists: ["1", 2], removeFromLists: "3" }), {
    addToLists: [1, 2],
    removeFromLists: [3],
  });
  assert.deepEqual(action("email.send.user", { useremail: { email: "7" }, user_id: [1] }), {
    useremail: { email: 7 },
    user_id: [1],
  });
  assert.deepEqual(action("form.repost", { post_url: "https://example.com/a" }), {
    post_url: "https://example.com/a",
  });
  assert.deepEqual(action("plugin.mine", { anything: [{}] }), { anything: [{}] });
  for (const [type, properties, member] of [
    ["lead.pointschange", { operator: "root" }, "operator"],
    ["lead.pointschange", { points: "many" }, "points"],
    ["lead.changelist", { addToLists: ["a"] }, "addToLists"],
    ["email.send.lead", { email: -1 }, "email"],
    ["form.repost", { post_url: "javascript:alert(1)" }, "post_url"],
    ["lead.scorecontactscompanies", { score: 0 }, "score"],
  ] as const)
    assert.equal(action(type, properties), `actions[0].properties.${member}`);
});
