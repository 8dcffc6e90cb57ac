import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { Route } from "@tidings/gateway/route/route";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { Client as DatabaseClient } from "pg";
import { MULTIPART } from "./multipart.ts";
import { assertDescribed } from "./openapi/described.ts";
import { make } from "./people.ts";
import { entitiesOf } from "./permission/check-own.ts";
import { allRoutes, exampleOf, hasBody, pathOf } from "./permission/routes.ts";
import { query } from "./query.ts";
import { exchange, sendRaw } from "./raw-http.ts";
import { addFirstContact, resources } from "./resources.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";
import { authorizationOf } from "./uploader.ts";

const stack = await startTestStack({ env: { gateway: { IDEMPOTENCY_KEYS_PER_MINUTE: "100000" } } });
const { api, database } = stack;
after(() => stack.stop());
before(() => addFirstContact(api));

const MISSING = 2_000_000_000;
/** A segment that is hidden is 403, a folder that is none 406. */
const NOT_THERE = [404, 403, 406];

/** Operations that a request with nothing but a body that is good does not get through: they have tests of their own. */
const HARD = new Set([
  "removeUtmTags",
  "editEventLog",
  "editEventLogs",
  "uploadFile",
  "deleteFile",
  "uploadTheme",
  "downloadTheme",
  "deleteTheme",
  "getSubmission",
  "releaseSubmission",
  "getCampaignEvent",
  "listCampaignContactEvents",
  "changeOwnPassword",
  "endOwnSessions",
  "getBroadcast",
  "pauseBroadcast",
  "resumeBroadcast",
  "cancelBroadcast",
  "getSmsBroadcast",
  "pauseSmsBroadcast",
  "resumeSmsBroadcast",
  "cancelSmsBroadcast",
  "recordReply",
  // A GET that is no read.
  "sendSmsToContactByGet",
  "listSends",
  "resolveSend",
  "replaySends",
  "sendTestEmail",
  "getJob",
  "cancelJob",
  "getFile",
  "describe",
]);
const isHard = ({ operation }: Route) => HARD.has(operation.replace(/Alias\d?$/, ""));

interface Sent {
  path: string;
  body?: object;
}

const kindOf = (path: string) => {
  const kind = resources.find((resource) => resource.path === path);
  assert.ok(kind, path);
  return kind;
};

async function newEntity(path: string): Promise<number> {
  const { one, minimal } = kindOf(path);
  return (await make(api, path, one, minimal())).id;
}

/** A request that is good, about entities that nobody has touched. */
async function goodRequest(route: Route): Promise<Sent> {
  const kind = resources
    .filter(({ path }) => route.path.startsWith(`/${path}/`) || route.path === `/${path}`)
    .toSorted((one, other) => other.path.length - one.path.length)[0];
  const rest = kind && route.path.slice(kind.path.length + 1);
  if (kind && rest?.startsWith("/batch/")) return batchRequest(route, kind.path);
  const ids: Record<string, number> = {};
  for (const { parameter, resource } of entitiesOf(route)) ids[parameter] = await newEntity(resource);
  const path = pathOf(route.path, ids);
  if (kind && (rest === "/new" || (rest === "/:id/edit" && route.method === "PUT")))
    return { path, body: kind.minimal() };
  if (kind && rest === "/:id/edit") return { path, body: kind.change };
  const body = exampleOf(route);
  return { path, ...(body && { body }) };
}

async function batchRequest({ method, path }: Route, of: string): Promise<Sent> {
  const { minimal, change } = kindOf(of);
  const sent = path.slice(1);
  if (path.endsWith("/new")) return { path: sent, body: [minimal()] };
  const id = await newEntity(of);
  if (path.endsWith("/delete")) return { path: `${sent}?ids=${id}` };
  return { path: sent, body: [method === "PUT" ? { ...minimal(), id } : { id, ...change }] };
}

const withQuery = (path: string, more: string) => `${path}${path.includes("?") ? "&" : "?"}${more}`;

/** Keeps all answers from being kept, so that a write under a key stays at work until it is released. */
async function holdKeptAnswers() {
  const client = new DatabaseClient({ connectionString: database.adminUrl });
  await client.connect();
  const tables = processes.map(({ schema }) => `${schema}.kept_answers`).join(", ");
  return {
    async around<T>(work: () => Promise<T>): Promise<T> {
      await client.query(`begin; lock table ${tables} in share mode`);
      try {
        return await work();
      } finally {
        await client.query("commit");
      }
    },
    close: () => client.end(),
  };
}

const isWaiting = async () => {
  const [row] = await query<{ count: number }>(
    database,
    "select count(*)::integer as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%kept_answer%'",
  );
  return Number(row?.count) > 0;
};

describe("the example of a body that the description shows works", () => {
  for (const { path, one } of resources)
    test(path, async () => {
      const [created, changed] = ["/new", "/:id/edit"].map((rest) =>
        allRoutes.find((route) => route.path === `/${path}${rest}`),
      );
      assert.ok(created && changed);
      const { status, text, body } = await api("POST", `${path}/new`, exampleOf(created));
      assert.ok([200, 201].includes(status), text);
      const { id } = (body as unknown as Record<string, { id: number }>)[one] ?? { id: 0 };
      const again = await api("PATCH", `${path}/${id}/edit`, exampleOf(changed));
      assert.equal(again.status, 200, again.text);
    });
});

describe("every read answers what is described of it", () => {
  for (const route of allRoutes.filter(({ method }) => method === "GET"))
    test(`GET ${route.path}`, async () => {
      const twice = await api("GET", withQuery(pathOf(route.path), "access_token=none"));
      assert.equal(twice.status, 400, twice.text);
      if (Object.keys(route.parameters).length > 0) {
        const ids = Object.fromEntries(Object.keys(route.parameters).map((name) => [name, MISSING]));
        const { status, text } = await api("GET", pathOf(route.path, ids));
        assert.ok(NOT_THERE.includes(status), `${status} ${text}`);
      }
      if (isHard(route) || route.answer.contentType) return;
      const { path } = await goodRequest(route);
      const read = await api("GET", path);
      assert.equal(read.status, 200, read.text);
      const tag = read.headers.get("etag");
      if (tag) assert.equal((await api("GET", path, undefined, { "if-none-match": "*" })).status, 304);
    });
});

describe("every write answers what is described of it", () => {
  let held: Awaited<ReturnType<typeof holdKeptAnswers>>;
  before(async () => {
    held = await holdKeptAnswers();
  });
  after(() => held.close());

  for (const route of allRoutes.filter(({ isWrite }) => isWrite))
    test(`${route.method} ${route.path}`, async () => {
      const { method } = route;
      const { path, body } = await goodRequest(route);
      const ids = Object.fromEntries(
        entitiesOf(route).map(({ parameter }, index) => [parameter, MISSING + index]),
      );
      if (Object.keys(ids).length > 0 && !(method === "PUT" && route.path.endsWith("/:id/edit"))) {
        const { status, text } = await api(method, pathOf(route.path, ids), body);
        assert.ok(NOT_THERE.includes(status), `${status} ${text}`);
      }
      const expected = await api(method, path, body, { "if-match": '"0.none"' });
      assert.equal(expected.status, 412, expected.text);
      if (isHard(route)) return;

      const key = { "idempotency-key": randomUUID() };
      const first = await held.around(async () => {
        const sending = api(method, path, body, key);
        await eventually(async () => assert.ok(await isWaiting()), { intervalMs: 5 });
        assert.equal((await api(method, path, body, key)).status, 409);
        return { sending };
      });
      const done = await first.sending;
      assert.ok(done.status < 300, `${done.status} ${done.text}`);
      assert.equal((await api(method, withQuery(path, "other=1"), body, key)).status, 422);
    });
});

describe("every operation has limits", () => {
  const authorization = authorizationOf(ADMINISTRATOR);
  const typeOf = ({ body }: Route) => (body.isUpload ? MULTIPART : "application/json");
  const tooMuch = [
    { status: 431, headers: { "x-long": "x".repeat(20_000) } },
    { status: 413, headers: { "content-length": String(2 ** 40) } },
  ];
  for (const { status, headers } of tooMuch)
    test(`${status} where a request is too large`, async () => {
      for (const route of allRoutes.filter((one) => status === 431 || (hasBody(one) && !one.body.isUpload))) {
        const { method } = route;
        const path = `/api/${pathOf(route.path)}`;
        const sent = { authorization, "content-type": typeOf(route), ...headers };
        const answer = await sendRaw(stack.baseUrl, { method, path, headers: sent });
        assert.equal(answer.status, status, `${method} ${path} ${answer.text}`);
      }
    });

  test("417 where it is to meet an expectation that nobody can", async () => {
    for (const route of allRoutes) {
      const { method } = route;
      const path = `/api/${pathOf(route.path)}`;
      const head = `host: x\r\nauthorization: ${authorization}\r\ncontent-type: ${typeOf(route)}\r\ncontent-length: 2`;
      const answer = await exchange(
        stack.baseUrl,
        `${method} ${path} HTTP/1.1\r\n${head}\r\nexpect: a-pony\r\n\r\n{}`,
      );
      assert.match(answer, /^HTTP\/1.1 417 /, `${method} ${path}`);
      const [, text = ""] = answer.split("\r\n\r\n");
      assertDescribed({
        method,
        path,
        status: 417,
        headers: new Headers({ "content-type": "application/json" }),
        text,
      });
    }
  });
});

test("an API that is switched off answers every operation 403", async (t) => {
  const off = await startTestStack({ env: { gateway: { API_ENABLED: "false" } } });
  t.after(() => off.stop());
  for (const route of allRoutes) {
    const { status, text } = await off.api(route.method, pathOf(route.path));
    assert.equal(status, 403, `${route.method} ${route.path} ${text}`);
  }
});
