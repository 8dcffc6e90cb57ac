import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { processes as rows } from "@tidings/scripts/processes";
import fc from "fast-check";
import { BODIES, CLAUSES, DIRECTIONS, FORGED_HEADERS, FRAMINGS, IDENTIFIERS, SEARCHES } from "../attacks.ts";
import { assertDiscreet, assertHarmless } from "../harmless.ts";
import { hostileBody, hostileQuery, hostileSegment, MEMBERS } from "../hostile-input.ts";
import { allRoutes } from "../permission/routes.ts";
import { exchange, type RawRequest, sendRaw } from "../raw-http.ts";
import { resources } from "../resources.ts";
import { ADMINISTRATOR, startTestStack } from "../stack.ts";

const stack = await startTestStack();
const { api, baseUrl } = stack;
const processes = rows.map(({ name }) => stack.process(name));
const pids = processes.map(({ pid }) => pid);
after(() => stack.stop());
for (const { path, minimal } of resources)
  await api("POST", `${path}/batch/new`, Array.from({ length: 12 }, minimal));

const SEED = 20_261;
/** All routes read paths, queries and bodies by the same code: each gets some inputs here, and all of them by `npm run test:all`. */
const RUNS = 60;
const authorization = `Basic ${Buffer.from(`${ADMINISTRATOR.username}:${ADMINISTRATOR.password}`).toString("base64")}`;

function send({ headers, ...request }: RawRequest) {
  return sendRaw(baseUrl, { ...request, headers: { authorization, ...headers } });
}

/** Every route that is mounted with all its methods, and `*` for a segment that the test makes up. */
const routes = [
  "GET *",
  ...allRoutes.map(({ method, path }) => `${method} ${path.slice(1).replaceAll(/:\w+/g, "*")}`),
];

for (const route of routes) {
  const [method = "", template = ""] = route.split(" ");
  const hasBody = method !== "GET" && method !== "DELETE";
  const path = fc
    .array(hostileSegment, { minLength: 3, maxLength: 3 })
    .map((segments) => template.replaceAll("*", () => segments.pop() ?? "1"));
  const body = hasBody ? hostileBody : fc.constant({ type: "", body: Buffer.alloc(0) });

  test(`nothing sent to ${route} makes it fail, hang or talk`, async () => {
    const property = fc.asyncProperty(path, hostileQuery, body, async (target, query, { type, body }) => {
      const headers = type ? { "content-type": type } : {};
      const place = `/api/${target}${query && `?${query}`}`;
      assertHarmless(await send({ method, path: place, headers, body }));
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
  });
}

test("no process was lost to any of it", () => {
  assert.deepEqual(
    processes.map(({ pid }) => pid),
    pids,
  );
});

for (const { path } of resources) {
  for (const name of IDENTIFIERS) {
    test(`${path} cannot be ordered, filtered or paged by ${name.slice(0, 50)}`, async () => {
      const column = encodeURIComponent(name);
      for (const query of [
        `orderBy=${column}`,
        `order[0][col]=${column}`,
        `where[0][col]=${column}&where[0][expr]=isNull`,
      ]) {
        const answer = await send({ method: "GET", path: `/api/${path}?${query}` });
        assertHarmless(answer);
        assert.equal(answer.status, 400, answer.text);
      }
    });
  }

  test(`${path} are ordered up or down and in no other direction`, async () => {
    for (const direction of DIRECTIONS) {
      const answer = await send({
        method: "GET",
        path: `/api/${path}?orderBy=id&orderByDir=${encodeURIComponent(direction)}`,
      });
      assertHarmless(answer);
      assert.equal(answer.status, 400, `${direction}: ${answer.text}`);
    }
  });

  for (const clause of CLAUSES.filter((clause) => path !== "tags" || !clause.includes("dateAdded"))) {
    test(`${path} refuse ${decodeURIComponent(clause).slice(0, 80)}`, async () => {
      const answer = await send({ method: "GET", path: `/api/${path}?${clause}` });
      assertHarmless(answer);
      assert.equal(answer.status, 400, answer.text);
    });
  }

  for (const text of SEARCHES) {
    test(`${path} take ${text.slice(0, 50)} as a text to search for`, async () => {
      assertHarmless(await send({ method: "GET", path: `/api/${path}?search=${encodeURIComponent(text)}` }));
    });
  }
}

const jsonType = { "content-type": "application/json" };

for (const [name, body] of Object.entries(BODIES)) {
  test(`a body with ${name} is 400`, async () => {
    const answer = await send({ method: "POST", path: "/api/contacts/new", headers: jsonType, body });
    assertHarmless(answer);
    assert.equal(answer.status, 400, answer.text);
  });
}

test("names of every object's own parts are no members", async () => {
  const body = '{"__proto__":{"points":7},"constructor":{"prototype":{"points":7}},"firstname":"Ada"}';
  const answer = await send({ method: "POST", path: "/api/contacts/new", headers: jsonType, body });
  assertHarmless(answer);
  if (answer.status < 300) assert.equal(JSON.parse(answer.text).contact.points, 0);
});

for (const { path, minimal } of resources) {
  test(`names of every object's own parts are no values of ${path} either`, async () => {
    for (const member of MEMBERS) {
      for (const value of ["constructor", "__proto__", "toString"]) {
        const body = JSON.stringify({ ...minimal(), [member]: value });
        assertHarmless(await send({ method: "POST", path: `/api/${path}/new`, headers: jsonType, body }));
      }
    }
  });
}

test("a body of one byte too many is 413, with or without a Content-Length", async () => {
  const body = `{"firstname":"${"x".repeat(1024 * 1024)}"}`;
  const told = await send({ method: "POST", path: "/api/contacts/new", headers: jsonType, body });
  assert.equal(told.status, 413, told.text);
  assert.equal(JSON.parse(told.text).errors[0].code, 413);
  const head = `POST /api/contacts/new HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json`;
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const untold = await exchange(baseUrl, `${head}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}`);
  assert.match(untold, /^HTTP\/1.1 413 /);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const field = `firstname=${"x".repeat(256 * 1024)}`;
  assert.equal(
    (await send({ method: "POST", path: "/api/contacts/new", headers: form, body: field })).status,
    413,
  );
});

test("compressed bodies are refused", async () => {
  const body = gzipSync(Buffer.alloc(10_000_000, " "));
  for (const encoding of ["gzip", "br", "deflate", "x-unknown"]) {
    const headers = { ...jsonType, "content-encoding": encoding };
    const answer = await send({ method: "POST", path: "/api/contacts/new", headers, body });
    assertHarmless(answer);
    assert.ok([400, 415].includes(answer.status), answer.text);
  }
});

for (const [name, bytes] of Object.entries(FRAMINGS)) {
  test(`a request with ${name} is refused and its connection closed`, async () => {
    const credentials = bytes.replace(
      "Host: localhost\r\n",
      `Host: localhost\r\nAuthorization: ${authorization}\r\n`,
    );
    const next = `GET /api/contacts/list/fields HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`;
    const answer = await exchange(baseUrl, credentials + next);
    assert.match(answer, /^HTTP\/1.1 400 /);
    assert.doesNotMatch(answer, /HTTP\/1.1 (?!400)/, "what follows must not be served");
    assertDiscreet(answer);
  });
}

test("headers beyond 16 kB are 431", async () => {
  const answer = await exchange(
    baseUrl,
    `GET /api/contacts HTTP/1.1\r\nHost: a\r\nX-A: ${"x".repeat(20_000)}\r\n\r\n`,
  );
  assert.match(answer, /^HTTP\/1.1 431 /);
});

test("headers that claim to come from inside open nothing", async () => {
  for (const headers of FORGED_HEADERS) {
    const answer = await sendRaw(baseUrl, { method: "GET", path: "/api/contacts", headers });
    assert.equal(answer.status, 401, JSON.stringify(headers));
  }
});

test("a GET stays a GET, whatever method it claims to be", async () => {
  const { id } = (await api("POST", "contacts/new", { firstname: "Kept" })).body.contact;
  const headers = { "x-http-method-override": "DELETE" };
  assertHarmless(await send({ method: "GET", path: `/api/contacts/${id}/delete?_method=DELETE`, headers }));
  assert.equal((await api("GET", `contacts/${id}`)).status, 200);
});
