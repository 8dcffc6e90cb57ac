import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { clientOf, exchangeRaw } from "./testing/http.ts";
import { AUTHORIZATION, startScene } from "./testing/scene.ts";

const scene = await startScene();
after(scene.stop);
const api = clientOf(scene.port);
const firstError = (body: Record<string, unknown>) =>
  (body.errors as { code: number; type?: string; message: string }[])[0];

describe("the order of answers", () => {
  test("without credentials it is 401, on known paths, unknown ones and wrong methods alike", async () => {
    for (const [method, path] of [
      ["GET", "/api/tags"],
      ["GET", "/api/nothing"],
      ["DELETE", "/api/tags"],
      ["PATCH", "/api/tags/1"],
    ] as const) {
      const { status, headers, body } = await api(method, path, { anonymous: true });
      assert.equal(status, 401, `${method} ${path}`);
      assert.match(headers.get("www-authenticate") ?? "", /^Basic /);
      assert.equal(firstError(body)?.type, "access_denied");
    }
  });

  test("an unknown path is 404, whatever its method", async () => {
    for (const [method, path] of [
      ["GET", "/api/nothing"],
      ["DELETE", "/api/nothing"],
      ["GET", "/api/tags/abc"],
      ["GET", "/api/tags/1/2"],
      ["GET", "/API/tags"],
    ] as const)
      assert.equal((await api(method, path)).status, 404, `${method} ${path}`);
  });

  test("an unknown path is 404 whatever body comes with it", async () => {
    assert.equal((await api("POST", "/api/nothing", { body: "{" })).status, 404);
  });

  test("a wrong method is 405 and names the right ones", async () => {
    for (const [method, path, allow] of [
      ["DELETE", "/api/tags", "GET"],
      ["GET", "/api/tags/new", "POST"],
      ["PATCH", "/api/tags/1", "GET"],
      ["GET", "/api/tags/1/edit", "PATCH, PUT"],
      ["GET", "/api/tags/1/delete", "DELETE"],
      ["GET", "/api/tags/batch/new", "POST"],
      ["OPTIONS", "/api/tags", "GET"],
      ["POST", "/api/contacts/list/fields", "GET"],
      ["POST", "/api/hooks/triggers", "GET"],
      ["GET", "/api/contacts/1/points/plus/1", "POST"],
    ] as const) {
      const { status, headers } = await api(method, path);
      assert.deepEqual([status, headers.get("allow")], [405, allow], `${method} ${path}`);
    }
  });

  test("a wrong method is 405 whatever body comes with it", async () => {
    assert.equal((await api("PATCH", "/api/tags/1", { body: "{" })).status, 405);
  });

  test("ids that no row can have are 404", async () => {
    for (const id of ["0", "007", "2147483648", "99999999999999999999", "1.5", "-1"])
      assert.equal((await api("GET", `/api/tags/${id}`)).status, 404, id);
  });

  test("schemes that are not known, bearers and bad credentials are 401", async () => {
    for (const [authorization, type] of [
      ["Digest x", "access_denied"],
      ["Bearer x", "invalid_grant"],
      ["Basic eDp5", "access_denied"],
      ["Basic", "access_denied"],
    ] as const) {
      const { status, body } = await api("GET", "/api/tags", { anonymous: true, headers: { authorization } });
      assert.deepEqual([status, firstError(body)?.type], [401, type], authorization);
    }
  });

  test("a switched-off API is 403 before anything else; Basic can be switched off alone", async () => {
    const off = await startScene({ isEnabled: false });
    after(off.stop);
    const { status, body } = await clientOf(off.port)("GET", "/api/nothing", { anonymous: true });
    assert.deepEqual([status, firstError(body)?.type], [403, "api_disabled"]);
    assert.match(
      (await exchangeRaw(off.port, "GET /api/a%2fb HTTP/1.1\r\nHost: x\r\n\r\n")).text,
      /^HTTP\/1.1 400 /,
    );
  });
});

describe("every answer", () => {
  test("has the version, a request id and the security headers, errors too", async () => {
    for (const path of ["/api/tags", "/api/nothing", "/no/where/at/all"]) {
      const { headers } = await api("GET", path);
      assert.equal(headers.get("content-type"), "application/json", path);
      assert.equal(headers.get("tidings-version"), "1.2.3");
      assert.match(headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal(headers.get("x-powered-by"), null);
    }
  });

  test("repeats the caller's request id if it is harmless", async () => {
    const idOf = async (id: string) =>
      (await api("GET", "/api/tags", { headers: { "x-request-id": id } })).headers.get("x-request-id");
    assert.equal(await idOf("a.B_9-"), "a.B_9-");
    for (const id of ["a b", "x".repeat(129), '"', "a\tb"]) assert.notEqual(await idOf(id), id);
  });
});

describe("framing", () => {
  const start = (line: string, ...headers: string[]) =>
    `${[`${line} HTTP/1.1`, "Host: x", `Authorization: ${AUTHORIZATION}`, ...headers].join("\r\n")}\r\n\r\n`;
  for (const [what, request] of [
    ["an unknown transfer coding", start("POST /api/tags/new", "Transfer-Encoding: xchunked")],
    ["a list of transfer codings", start("POST /api/tags/new", "Transfer-Encoding: chunked, identity")],
    [
      "a length besides chunks",
      `${start("POST /api/tags/new", "Transfer-Encoding: chunked", "Content-Length: 3")}0\r\n\r\n`,
    ],
    ["two lengths", `${start("POST /api/tags/new", "Content-Length: 2", "Content-Length: 3")}{}`],
    ["an absolute target", start("GET http://x/api/tags")],
    ["a target that begins with two slashes", start("GET //evil/api/tags")],
    ["an asterisk", start("OPTIONS *")],
    ["NUL in the path", start("GET /api/tags%00")],
    ["an encoded slash", start("GET /api/tags%2f1")],
    ["an encoded backslash", start("GET /api/tags%5c1")],
    ["broken percent-encoding", start("GET /api/tags/%zz")],
    ["percent-encoded bytes that are not UTF-8", start("GET /api/tags/%ff")],
    ["a header without a host", "GET /api/tags HTTP/1.1\r\n\r\n"],
    ["what is not HTTP", "HELLO\r\n\r\n"],
  ] as const) {
    test(`${what} is 400 in the form of errors, and the connection closes`, async () => {
      const { text, isClosed } = await exchangeRaw(scene.port, request);
      assert.match(text, /^HTTP\/1\.1 400 /);
      if (what !== "a header without a host") assert.match(text, /\{"errors":\[\{"code":400/);
      assert.ok(isClosed, "the connection stayed open");
    });
  }

  test("headers above 16 kB are 431", async () => {
    assert.match(
      (await exchangeRaw(scene.port, start("GET /api/tags", `X: ${"x".repeat(20_000)}`))).text,
      /^HTTP\/1\.1 431 /,
    );
  });

  test("broken percent-encoding in a query is 400", async () => {
    assert.equal((await api("GET", "/api/tags?search=%zz")).status, 400);
  });

  test("a body above the limit is 413 in the form of errors, and the connection closes", async () => {
    const { text, isClosed } = await exchangeRaw(
      scene.port,
      start("POST /api/tags/new", "Content-Type: application/json", "Content-Length: 9999999"),
    );
    assert.match(text, /^HTTP\/1\.1 413 /);
    assert.match(text, /"errors"/);
    assert.ok(isClosed);
  });

  test("an answer to a good request keeps the connection, a 404 outside the API too", async () => {
    for (const path of ["/api/tags", "/no/where/at/all"])
      assert.ok(!(await exchangeRaw(scene.port, start(`GET ${path}`))).isClosed, path);
  });
});

describe("method overrides", () => {
  const tag = async (name: string): Promise<number> =>
    ((await api("POST", "/api/tags/new", { body: { tag: name } })).body.tag as { id: number }).id;
  for (const [where, sent] of [
    ["in the header", { headers: { "x-http-method-override": "PATCH" } }],
    ["in the query", { query: "?_method=patch" }],
    ["in the body", { member: { _method: "PATCH" } }],
  ] as [string, { headers?: Record<string, string>; query?: string; member?: object }][]) {
    test(`a POST stands for the method named ${where}`, async () => {
      const id = await tag(`override ${where}`);
      const body = { tag: `changed ${where}`, ...sent.member };
      const answer = await api("POST", `/api/tags/${id}/edit${sent.query ?? ""}`, {
        body,
        headers: sent.headers ?? {},
      });
      assert.equal(answer.status, 200, answer.text);
    });
  }
  test("a GET stands for nothing else", async () => {
    const id = await tag("stays");
    assert.equal((await api("GET", `/api/tags/${id}/delete?_method=DELETE`)).status, 405);
  });
});

describe("routes of their own", () => {
  test("contacts/list/fields is not taken for an id", async () => {
    const { status, body } = await api("GET", "/api/contacts/list/fields");
    assert.deepEqual([status, body], [200, { "1": { id: 1, alias: "title" } }]);
  });
  test("hooks/triggers is keyed by name", async () => {
    assert.deepEqual((await api("GET", "/api/hooks/triggers")).body, {
      triggers: { "svc.a": { label: "A", description: "About A" } },
    });
  });
  test("points: success, a missing contact, a bad delta", async () => {
    assert.deepEqual(
      (await api("POST", "/api/contacts/1/points/plus/5", { body: { eventName: "x" } })).body,
      { success: true },
    );
    assert.equal(
      (await api("POST", "/api/contacts/1/points/plus/5", { body: { eventname: "missing" } })).status,
      404,
    );
    for (const delta of ["-1", "1.5", "abc", "2147483648"])
      assert.equal((await api("POST", `/api/contacts/1/points/plus/${delta}`)).status, 400, delta);
  });
});
