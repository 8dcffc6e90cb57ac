import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { requestedPart } from "./requested-part.ts";

const file = { etag: '"a1"', size: 100 };
const ask = (headers: Record<string, string>, { method = "GET", size = file.size } = {}) =>
  requestedPart({ method, headers }, { ...file, size });
const part = (start: number, end: number) => ({ status: 206, range: { start, end } });

test("a single byte range is answered with these bytes, cut at the end of the file", () => {
  const parts = {
    "bytes=0-": part(0, 99),
    "bytes=0-0": part(0, 0),
    "Bytes=10-19": part(10, 19),
    "bytes= 90-1000 ": part(90, 99),
    "bytes=-5": part(95, 99),
    "bytes=-1000": part(0, 99),
    "bytes=99-99999999999999999999999": part(99, 99),
  };
  for (const [range, expected] of Object.entries(parts)) assert.deepEqual(ask({ range }), expected, range);
});

test("a range without a byte of the file is a 416", () => {
  for (const range of ["bytes=100-", "bytes=100-200", "bytes=-0", `bytes=${"9".repeat(400)}-`])
    assert.deepEqual(ask({ range }), { status: 416 }, range);
  assert.deepEqual(ask({ range: "bytes=0-" }, { size: 0 }), { status: 416 });
});

test("several ranges and malformed headers are answered with the whole file", () => {
  const many = `bytes=${Array.from({ length: 1_000 }, (_, index) => `${index}-`).join(",")}`;
  const whole = [
    "bytes=0-1,3-4",
    many,
    "bytes=5-4",
    "bytes=",
    "bytes=-",
    "bytes=a-b",
    "bytes=1",
    "items=0-1",
    "",
  ];
  for (const range of [...whole, "bytes=0-1, ", "bytes=+1-2", "bytes=0x1-2", "bytes=1.5-2", "bytes=--5"])
    assert.deepEqual(ask({ range }), { status: 200 }, range);
  assert.deepEqual(ask({ range: "bytes=-5" }, { size: 0 }), { status: 200 });
  assert.deepEqual(ask({ range: "bytes=1-2" }, { method: "HEAD" }), { status: 200 });
});

test("If-Range lets a range count for these bytes alone", () => {
  assert.deepEqual(ask({ range: "bytes=1-2", "if-range": '"a1"' }), part(1, 2));
  for (const condition of ['"b2"', 'W/"a1"', "Tue, 01 Jan 2030 00:00:00 GMT", ""])
    assert.deepEqual(ask({ range: "bytes=1-2", "if-range": condition }), { status: 200 }, condition);
});

test("If-None-Match with the tag is a 304, before any range", () => {
  for (const tags of ['"a1"', 'W/"a1"', '"x", "a1"', "*"])
    assert.deepEqual(ask({ "if-none-match": tags, range: "bytes=500-" }), { status: 304 }, tags);
  for (const tags of ["", "a1", '"a"', '"a1" "b"'])
    assert.deepEqual(ask({ "if-none-match": tags }), { status: 200 }, tags);
});

test("every Range header is answered within the file", () => {
  const digits = fc.stringMatching(/^\d{0,20}$/);
  const headers = fc.oneof(
    fc.string(),
    fc.tuple(digits, digits).map(([first, last]) => `bytes=${first}-${last}`),
  );
  fc.assert(
    fc.property(headers, fc.nat(200), (range, size) => {
      const answer = ask({ range }, { size });
      if (answer.status !== 206) return answer.status === 200 || answer.status === 416;
      const { start, end } = answer.range;
      return 0 <= start && start <= end && end < size;
    }),
  );
});
