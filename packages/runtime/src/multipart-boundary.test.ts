import assert from "node:assert/strict";
import { test } from "node:test";
import { multipartBoundary } from "./multipart-boundary.ts";

for (const [contentType, boundary] of [
  ["multipart/form-data; boundary=----WebKitFormBoundaryAb3", "----WebKitFormBoundaryAb3"],
  ['multipart/form-data; charset=utf-8; Boundary="a b?c"', "a b?c"],
  ["multipart/form-data;boundary=x ; charset=utf-8", "x"],
])
  test(`the boundary of ${contentType} is read`, () => {
    assert.equal(
      multipartBoundary(contentType ?? "")?.contentType,
      `multipart/form-data; boundary="${boundary}"`,
    );
  });

for (const contentType of [
  "multipart/form-data",
  "multipart/form-data; boundary=",
  'multipart/form-data; boundary="a\\"b"',
  `multipart/form-data; boundary=${"x".repeat(71)}`,
  "multipart/form-data; boundary=ä",
])
  test(`no boundary is read from ${contentType.slice(0, 60)}`, () => {
    assert.equal(multipartBoundary(contentType), undefined);
  });

test("delimiters after the first are counted over all octets of a body", () => {
  const boundary = multipartBoundary("multipart/form-data; boundary=x");
  assert.equal(boundary?.count(Buffer.from("--x\r\n\r\n--x\r\n--x--x")), 2);
  assert.equal(boundary?.count(Buffer.from("\r\n--y\r\n--x--\r\n")), 3);
});
