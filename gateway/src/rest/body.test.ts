import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { Fault } from "@tidings/rpc/fault";
import { BATCH, readBody, SINGLE } from "./body.ts";

const server = createServer((request, response) => {
  readBody(request, request.url === "/batch" ? BATCH : SINGLE).then(
    (body) => response.end(JSON.stringify({ body })),
    (error) =>
      response.end(JSON.stringify({ reason: error instanceof Fault ? error.reason : String(error) })),
  );
}).listen(0, "127.0.0.1");
await once(server, "listening");
after(() => server.close());

interface Result {
  body?: unknown;
  reason?: string;
}

async function read(
  body: string | Buffer,
  headers: Record<string, string> = {},
  path = "/",
): Promise<Result> {
  const { port } = server.address() as AddressInfo;
  const options = {
    port,
    path,
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    agent: false,
  };
  const request = send(options).on("error", () => undefined); // the server may close before all was sent
  request.end(body);
  const [response] = await once(request, "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return JSON.parse(text);
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const BAD = { reason: "BAD_REQUEST" };
const MEGABYTE = 1024 * 1024;
const jsonOfSize = (bytes: number) => JSON.stringify("x".repeat(bytes - 2));

test("JSON is read with any parameters of its content type", async () => {
  assert.deepEqual(await read('{"a":[1,"ü",null]}'), { body: { a: [1, "ü", null] } });
  const headers = { "content-type": "Application/JSON; charset=utf-8" };
  assert.deepEqual(await read('{"a":1}', headers), { body: { a: 1 } });
});

test("a form is read with its brackets", async () => {
  const body = { a: "1 2", tags: ["x", "y"], b: { c: "ü" } };
  assert.deepEqual(await read("a=1+2&tags[]=x&tags[]=y&b[c]=%C3%BC", FORM), { body });
});

test("nothing at all is an empty object, whatever it claims to be", async () => {
  assert.deepEqual(await read(""), { body: {} });
  assert.deepEqual(await read("", { "content-type": "text/html" }), { body: {} });
});

for (const [what, body, headers] of [
  ["text that is not JSON", '{"a":', {}],
  ["two documents", "{}{}", {}],
  ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22]), {}],
  ["UTF-16", Buffer.from('{"a":1}', "utf16le"), {}],
  ["half a surrogate pair", '{"a":"\\ud800"}', {}],
  ["NUL in a value", '{"a":"\\u0000"}', {}],
  ["NUL in a name", '{"\\u0000":1}', {}],
  ["NUL in a form", "a=%00", FORM],
  ["broken percent-encoding in a form", "a=%zz", FORM],
  ["33 levels", `${"[".repeat(33)}${"]".repeat(33)}`, {}],
  ["200,000 levels", "[".repeat(200_000) + "]".repeat(200_000), {}],
  [
    "2,001 members",
    JSON.stringify(Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`k${index}`, 1]))),
    {},
  ],
  ["a compressed body", "{}", { "content-encoding": "gzip" }],
] as const) {
  test(`${what} is a bad request`, async () => assert.deepEqual(await read(body, headers), BAD));
}

test("an unknown content type is a bad request that names the known ones", async () => {
  assert.deepEqual(await read("{}", { "content-type": "text/plain" }), { reason: "BODY_UNREADABLE" });
});

test("a number that no number can hold is a bad request and not silently nothing", async () => {
  assert.deepEqual(await read('{"a":1e400}'), BAD);
});

test("32 levels and 2,000 members are fine", async () => {
  assert.ok("body" in (await read(`${"[".repeat(32)}${"]".repeat(32)}`)));
  const members = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, 1]));
  assert.ok("body" in (await read(JSON.stringify(members))));
});

for (const [what, path, headers, bytesMax] of [
  ["JSON", "/", {}, MEGABYTE],
  ["a batch", "/batch", {}, 5 * MEGABYTE],
] as const) {
  test(`${what} may be as large as its limit, and not a byte larger`, async () => {
    assert.ok("body" in (await read(jsonOfSize(bytesMax), headers, path)));
    assert.deepEqual(await read(jsonOfSize(bytesMax + 1), headers, path), { reason: "BODY_TOO_LARGE" });
  });
}

test("a form may have 256 kB", async () => {
  assert.ok("body" in (await read(`a=${"x".repeat(256 * 1024 - 2)}`, FORM)));
  assert.deepEqual(await read(`a=${"x".repeat(256 * 1024)}`, FORM), { reason: "BODY_TOO_LARGE" });
});

test("a body without a length is stopped at the limit", async () => {
  const headers = { "transfer-encoding": "chunked" };
  assert.deepEqual(await read(jsonOfSize(MEGABYTE + 1), headers), { reason: "BODY_TOO_LARGE" });
});

test("names that every object has are only names", async () => {
  const { body } = await read('{"__proto__":{"polluted":1},"constructor":1}');
  assert.equal((body as { constructor: unknown }).constructor, 1);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});
