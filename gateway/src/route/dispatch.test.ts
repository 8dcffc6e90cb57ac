import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rateLimiter } from "../limits/rate-limit.ts";
import { clientOf } from "../testing/http.ts";
import { startScene } from "../testing/scene.ts";
import { jsonAnswer, SUCCESS } from "./answer.ts";
import { dispatch } from "./dispatch.ts";
import { id } from "./parameter.ts";
import { type Route, route } from "./route.ts";

const scene = await startScene();
after(scene.stop);
const api = clientOf(scene.port);

const keys = rateLimiter({ name: "keys", points: 10, windowSeconds: 60, redis: undefined });

test("an older path answers as its successor does, since when it is deprecated, and what to use", async () => {
  const { status, headers } = await api("POST", "/api/segments/1/contact/add/2");
  const successor = await api("POST", "/api/segments/1/contact/2/add");
  assert.equal(status, successor.status);
  assert.match(headers.get("deprecation") ?? "", /^@\d{10}$/);
  assert.equal(headers.get("link"), '</api/segments/1/contact/2/add>; rel="successor-version"');
  const odd = await api("POST", "/api/contacts/1/dnc/add/%F0%90%80%80%0Aa");
  assert.equal(
    odd.headers.get("link"),
    '</api/contacts/1/dnc/%F0%90%80%80%0Aa/add>; rel="successor-version"',
  );
  assert.deepEqual([successor.headers.get("deprecation"), successor.headers.get("link")], [null, null]);
});

function row(path: string, more: Partial<Route> = {}): Route {
  const made = route({
    method: "POST",
    path,
    summary: "Do nothing",
    operation: `do${path}`,
    parameters: { id: id("Id") },
    answer: SUCCESS,
    handle: () => undefined,
  });
  return { ...made, ...more };
}

test("an older path that ends says when", async () => {
  const old = { path: "/old/:id", since: "2026-01-01T00:00:00Z", sunset: "2027-01-01T00:00:00Z" };
  const headers = new Map<string, unknown>();
  const request = { method: "POST", path: "/old/7", headers: {}, get: () => undefined };
  const response = {
    req: request,
    locals: { exchange: { actor: { admin: true }, query: {}, form: {} } },
    setHeader: (name: string, value: unknown) => headers.set(name, value),
    end: () => undefined,
  };
  const answer = dispatch([row("/new/:id", { aliases: [old] })], keys);
  await answer(request as never, response as never, assert.fail);
  assert.equal(headers.get("deprecation"), "@1767225600");
  assert.equal(headers.get("sunset"), "Fri, 01 Jan 2027 00:00:00 GMT");
  assert.equal(headers.get("link"), '</api/new/7>; rel="successor-version"');
});

test("two rows of one path and method, and a row without a name, are errors of the program", () => {
  assert.throws(
    () => dispatch([row("/a"), row("/a", { operation: "other" })], keys),
    /POST \/a is there twice/,
  );
  assert.throws(() => dispatch([row("/a"), row("/b", { operation: "do/a" })], keys), /do\/a is there twice/);
  const nameless = {
    method: "GET",
    path: "/a",
    summary: "",
    answer: jsonAnswer({}),
    handle: () => ({}),
  } as const;
  assert.throws(() => route(nameless), /has no name/);
});
