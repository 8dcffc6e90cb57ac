import assert from "node:assert/strict";
import type { RawAnswer } from "./raw-http.ts";

/** Internals that no answer may show: stack traces, paths, SQL, names of our own parts. */
const INTERNALS = [
  /\n\s+at /,
  /node_modules|node:internal|file:\/\//,
  /\/(?:work|root|home|src|usr)\//,
  /\.ts:\d+/,
  /syntax error at|invalid input syntax|out of range for type|violates \w+ constraint|does not exist/,
  /SQLSTATE|current transaction|prepared statement|relation "/,
  /tidings\.\w+\.v\d|protobuf|INVALID_ARGUMENT|ECONN|grpc/i,
];

/** However odd the request: no failure of ours, an answer in JSON, an error in the one shape, and no look inside. */
export function assertHarmless({ status, headers, text }: RawAnswer): void {
  assert.ok(status >= 200 && status < 500, `${status} ${text}`);
  assert.equal(headers["content-type"], "application/json");
  const body = JSON.parse(text);
  if (status >= 400) {
    assert.equal(body.errors[0].code, status, text);
    assert.equal(typeof body.errors[0].message, "string");
    assertDiscreet(text);
  }
}

export function assertDiscreet(text: string): void {
  for (const pattern of INTERNALS) assert.doesNotMatch(text, pattern);
}
