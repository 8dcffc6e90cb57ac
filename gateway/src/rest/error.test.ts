import assert from "node:assert/strict";
import { test } from "node:test";
import { badRequest, Code, denied, Fault, invalid, notFound, taken, toFault } from "@tidings/rpc/fault";
import { errorEntry, methodNotAllowed } from "./error.ts";

const SECRET = "relation users does not exist";

for (const [name, status] of [
  ["INVALID_ARGUMENT", 400],
  ["UNAUTHENTICATED", 401],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["ABORTED", 409],
  ["FAILED_PRECONDITION", 409],
  ["ALREADY_EXISTS", 422],
  ["RESOURCE_EXHAUSTED", 503],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504],
  ["INTERNAL", 500],
  ["UNKNOWN", 500],
  ["DATA_LOSS", 500],
  ["CANCELLED", 500],
] as const) {
  test(`${name} answers ${status}`, () => {
    const entry = errorEntry(new Fault({ code: Code[name], reason: "ANY", message: "Said to the caller." }));
    assert.equal(entry.code, status);
    if (status !== 500) assert.equal(entry.message, "Said to the caller.");
  });
}

for (const [reason, code, status, type] of [
  ["API_DISABLED", Code.PERMISSION_DENIED, 403, "api_disabled"],
  ["BASIC_AUTH_DISABLED", Code.PERMISSION_DENIED, 403, "access_denied"],
  ["TOKEN_INVALID", Code.UNAUTHENTICATED, 401, "invalid_grant"],
  ["CREDENTIALS_INVALID", Code.UNAUTHENTICATED, 401, "access_denied"],
  ["BODY_TOO_LARGE", Code.INVALID_ARGUMENT, 413, undefined],
  ["RATE_LIMITED", Code.RESOURCE_EXHAUSTED, 429, undefined],
] as const) {
  test(`${reason} answers ${status} with the type ${type}`, () => {
    const entry = errorEntry(new Fault({ code, reason, message: "Text." }));
    assert.deepEqual([entry.code, entry.type], [status, type]);
  });
}

test("a wrong method answers 405", () => assert.equal(errorEntry(methodNotAllowed()).code, 405));

test("bad input names each field with a list of its texts", () => {
  const fault = invalid([{ field: "email", message: "A valid email is required." }]);
  assert.deepEqual(errorEntry(fault), {
    code: 400,
    message: "email: A valid email is required.",
    details: { email: ["A valid email is required."] },
  });
});

test("the last of several messages of one field is shown", () => {
  const fault = invalid([
    { field: "a", message: "First." },
    { field: "a", message: "Last." },
  ]);
  assert.deepEqual(errorEntry(fault).details, { a: ["Last."] });
});

test("without fields the details are an empty list, and a type is absent", () => {
  for (const fault of [notFound(), denied(), badRequest("No.")])
    assert.deepEqual(Object.keys(errorEntry(fault)), ["code", "message", "details"]);
  assert.deepEqual(errorEntry(notFound()).details, []);
});

test("a value that is taken answers 422 with its field", () => {
  const entry = errorEntry(taken([{ field: "email", message: "This field must be unique." }]));
  assert.deepEqual([entry.code, entry.details], [422, { email: ["This field must be unique."] }]);
});

test("an unforeseen error shows nothing of itself", () => {
  const entries = [
    toFault(new TypeError(SECRET)),
    new Fault({ code: Code.INTERNAL, reason: "X", message: SECRET }),
  ];
  for (const fault of entries) assert.ok(!JSON.stringify(errorEntry(fault)).includes(SECRET));
});
