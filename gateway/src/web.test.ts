import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { AUTHORIZATION, startScene } from "./testing/scene.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Stands for the content service: says what a test wants, and keeps what it was sent. */
const seen: IncomingMessage[] = [];
let answer: Answer;
const content = createServer((request, response) => {
  seen.push(request);
  answer(request, response);
});
let address = "";
let shared: Awaited<ReturnType<typeof startScene>>;
let own: Awaited<ReturnType<typeof startScene>>;
before(async () => {
  await new Promise<void>((resolve) => content.listen(0, "127.0.0.1", resolve));
  address = `127.0.0.1:${(content.address() as AddressInfo).port}`;
  shared = await startScene({ web: { address, host: undefined } });
  own = await startScene({ web: { address, host: "www.example" } });
});
after(async () => {
  await shared.stop();
  await own.stop();
  content.close();
});
beforeEach(() => {
  seen.length = 0;
  answer = (_request, response) => response.end("public");
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${shared.port}${path}`, { headers, redirect: "manual" });

/** With a Host header, which fetch does not let anybody set. */
function from(host: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { host, authorization: AUTHORIZATION };
    send({ port: own.port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once("error", reject)
      .end();
  });
}

test("the paths of the public web are the content service's, all others are not", async () => {
  assert.equal(await (await get("/robots.txt")).text(), "public");
  assert.equal(await (await get("/")).text(), "public");
  assert.equal(await (await get("/offers/autumn?a=1")).text(), "public", "a page in its category");
  for (const path of ["/api/tags", "/API", "/password", "/oauth/v2/token", "/a/b/c/d"]) await get(path);
  assert.deepEqual(
    seen.map(({ url }) => url),
    ["/robots.txt", "/", "/offers/autumn?a=1"],
  );
});

test("a host of its own has nothing but the public web, and the API's host nothing of it", async () => {
  assert.equal(await from("www.example", "/api/tags/1"), 200);
  assert.equal(await from("WWW.example", "/any/thing"), 200);
  assert.equal(await from("api.example", "/robots.txt"), 404);
  assert.equal(await from("api.example", "/"), 303, "people go on to the pages of the API");
  assert.deepEqual(
    seen.map(({ url }) => url),
    ["/api/tags/1", "/any/thing"],
  );
});

test("neither credentials nor cookies of the API are passed on, and forged addresses are not believed", async () => {
  await get("/", {
    authorization: AUTHORIZATION,
    cookie: "seen=1; __Host-sid=secret; tidings-sid-8080=secret; other=2",
    "x-forwarded-for": "1.2.3.4",
    forwarded: "for=1.2.3.4",
    "x-forwarded-proto": "ftp",
  });
  const headers = seen[0]?.headers ?? {};
  assert.equal(headers.authorization, undefined);
  assert.equal(headers.cookie, "seen=1; other=2");
  assert.deepEqual([headers["x-forwarded-for"], headers.forwarded], ["127.0.0.1", undefined]);
  assert.equal(headers["x-forwarded-proto"], undefined);
  assert.ok(headers["x-request-id"]);
});

test("an answer opens nothing of the API to others, and sets no cookie of the API", async () => {
  answer = (_request, response) => {
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("set-cookie", ["visit=1; Path=/", "__Host-sid=forged; Path=/; Secure"]);
    response.end();
  };
  const { headers } = await get("/");
  assert.equal(headers.get("access-control-allow-origin"), null);
  assert.deepEqual(headers.getSetCookie(), ["visit=1; Path=/"]);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

test("scripts of other sites read the answers of tracking and of forms, and no others", async () => {
  answer = (_request, response) =>
    response.setHeader("access-control-allow-origin", "https://shop.example").end();
  const allowed = async (path: string, method = "GET") => {
    const { headers } = await fetch(`http://127.0.0.1:${shared.port}${path}`, { method });
    return headers.get("access-control-allow-origin");
  };
  for (const path of ["/mtc", "/mtc/event", "/dwc/slot"])
    assert.equal(await allowed(path), "https://shop.example");
  for (const path of ["/video/hit", "/form/submit/ajax", "/mtc/event"])
    assert.equal(await allowed(path, "OPTIONS"), "https://shop.example");
  for (const path of [
    "/mtracking.gif",
    "/r/1",
    "/form/1",
    "/asset/1:a",
    "/a-page",
    "/mtc.js",
    "/api/contacts",
  ])
    assert.equal(await allowed(path), null, path);
});

test("each kind of path has its limit by address, and an image is answered beyond it", async (t) => {
  const one = { points: 1, windowSeconds: 60 };
  const limited = await startScene({
    web: { address, host: undefined },
    publicRates: { tracking: one, form: one, ofForm: { points: 2, windowSeconds: 60 } },
  });
  t.after(limited.stop);
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${limited.port}${path}`, init);
  assert.equal((await send("/mtc/event")).status, 200);
  const refused = await send("/mtc/event");
  assert.deepEqual(
    [refused.status, refused.headers.get("content-type")],
    [429, "application/json; charset=utf-8"],
  );
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  assert.equal(((await refused.json()) as { success: number }).success, 0);
  const image = await send("/mtracking.gif");
  assert.deepEqual([image.status, image.headers.get("content-type")], [200, "image/gif"]);
  const submit = async (id: number) => (await send(`/form/submit?formId=${id}`, { method: "POST" })).status;
  assert.deepEqual([await submit(1), await submit(1), await submit(2)], [200, 429, 200]);
  assert.match(
    await (await send("/form/submit?formId=1", { method: "POST" })).text(),
    /<h1>Too many requests/,
  );
  assert.equal((await send("/a-page")).status, 200);
});

test("a submission counts for the form that its address names, however that is written; those whose address names none count together", async (t) => {
  const limited = await startScene({
    web: { address, host: undefined },
    publicRates: { ofForm: { points: 1, windowSeconds: 60 } },
  });
  t.after(limited.stop);
  const submit = async (query: string) =>
    (await fetch(`http://127.0.0.1:${limited.port}/form/submit${query}`, { method: "POST" })).status;
  assert.equal(await submit("?formId=1"), 200);
  for (const same of ["?form%49d=1", "?formId=%31", "?a=1&formId=1", "?formId=1&formId=2", "?formId=1&"])
    assert.equal(await submit(same), 429, same);
  assert.equal(await submit("?formId=2"), 200);
  assert.equal(await submit(""), 200);
  for (const unnamed of ["", "?formId=", "?formId=01", "?x?formId=1"])
    assert.equal(await submit(unnamed), 429, unnamed);
});

test("answers pass as they come", async () => {
  let end: () => void = () => undefined;
  answer = (_request, response) => {
    response.write("first");
    end = () => response.end(" and all");
  };
  const response = await get("/");
  const reader = response.body?.getReader();
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), "first");
  end();
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), " and all");
});

test("a body is refused by the head of its request, and a method other than GET and HEAD is 405", async () => {
  const headers = { "content-length": 200 * 1024 * 1024 };
  for (const [method, status] of [
    ["POST", 405],
    ["PUT", 405],
    ["GET", 400],
  ] as const) {
    const outgoing = send({ port: shared.port, path: "/robots.txt", method, headers });
    outgoing.on("error", () => undefined).write("x");
    const [refusal] = await once(outgoing, "response");
    assert.equal(refusal.statusCode, status);
  }
  assert.equal(seen.length, 0);
});

test("while the content service is away visitors get a plain page", async () => {
  answer = (request) => request.socket.destroy();
  const away = await get("/");
  assert.deepEqual([away.status, away.headers.get("retry-after")], [503, "1"]);
  assert.match(away.headers.get("content-type") ?? "", /text\/html/);
  assert.match(await away.text(), /Not available/);
});
