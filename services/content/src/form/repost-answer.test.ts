import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes } from "@tidings/resource/json-member";
import fc from "fast-check";
import { readRepostAnswer } from "./repost-answer.ts";
import { repostRequest } from "./repost-request.ts";

const form = create(FormSchema, {
  id: 7,
  name: "Apply",
  fields: [
    { alias: "mail", type: "email" },
    { alias: "first", type: "text" },
  ],
  actions: [
    {
      id: 1,
      type: "form.repost",
      properties: jsonBytes({ post_url: "https://other.example/form", first: "given_name" }),
    },
  ],
});
const [action] = form.actions as [(typeof form.actions)[number]];
const read = (body: unknown, status = 200, headers = {}) =>
  readRepostAnswer(
    { status, headers, text: typeof body === "string" ? body : JSON.stringify(body) },
    form,
    action,
  );

test("error, errors and violations refuse a submission, whatever the status", () => {
  const refusals: [unknown, object][] = [
    [{ error: "No" }, { message: "No" }],
    [{ error: 1, errors: ["x"] }, { message: "1" }],
    [{ errors: { a: "One", b: "Two" } }, { message: "One, Two" }],
    [{ violations: { given_name: "Short", mail: ["a", "b"] } }, { errors: { first: "Short", mail: "a, b" } }],
    [{ violations: { elsewhere: "Bad" } }, { message: "Bad" }],
    [{ violations: ["Bad"] }, { message: "Bad" }],
    [{ errors: [{ deep: 1 }] }, { message: "The form was not accepted." }],
  ];
  for (const [body, answer] of refusals)
    for (const status of [200, 400, 500])
      assert.deepEqual(read(body, status), { isRefusal: true, answer }, JSON.stringify(body));
  const encoded = { "content-type": "application/x-www-form-urlencoded; charset=utf-8" };
  assert.deepEqual(read("error=No+way", 200, encoded), { isRefusal: true, answer: { message: "No way" } });
});

test("an answer without them is a success or, by its status, a failure", () => {
  for (const body of [
    {},
    [],
    "",
    "<html>error</html>",
    "null",
    { error: "", errors: [], violations: {} },
    "{",
  ]) {
    assert.deepEqual(read(body), { isRefusal: false }, JSON.stringify(body));
    assert.match(read(body, 503).failure ?? "", /503/);
  }
  assert.deepEqual(read({ redirect: "https://a.example/x" }).answer, { redirect: "https://a.example/x" });
  for (const redirect of ["javascript:alert(1)", "//a.example", `https://a.example/${"x".repeat(3_000)}`, 5])
    assert.deepEqual(read({ redirect }), { isRefusal: false });
});

test("no JSON value makes reading fail, and what is shown of it is plain and short", () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.constantFrom("error", "errors", "violations", "redirect"),
      (value, name) => {
        const { answer } = read({ [name]: value });
        const texts = [answer?.message ?? "", ...Object.values(answer?.errors ?? {})];
        for (const text of texts) assert.ok(text.length <= 1_000);
      },
    ),
  );
});

test("the request names values as the other form does, beside the contact and the form, with the header", () => {
  const request = (header: string) =>
    repostRequest({
      form,
      action,
      results: { mail: "a@b.example", first: "A&B", gone: null },
      contact: { id: 3, email: "a@b.example", tags: ["x"], city: null },
      referer: "https://shop.example/",
      prefix: "svc",
      header,
    });
  const { method, url, body } = request("");
  assert.deepEqual([method, url], ["POST", "https://other.example/form"]);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
    mail: "a@b.example",
    given_name: "A&B",
    "svcContact[id]": "3",
    "svcContact[email]": "a@b.example",
    "svcContact[tags]": "",
    "svcContact[city]": "",
    "svcForm[id]": "7",
    "svcForm[name]": "Apply",
    "svcForm[url]": "https://shop.example/",
  });
  assert.equal(request("Bearer abc").headers?.authorization, "Bearer abc");
  assert.equal(request("X-Key: abc").headers?.["x-key"], "abc");
  for (const header of ["Host: evil", "Content-Length: 1", "A\r\nB: c", "Transfer-Encoding: chunked", ""])
    assert.deepEqual(
      Object.keys(request(header).headers ?? {}),
      ["content-type", "accept"],
      JSON.stringify(header),
    );
});
