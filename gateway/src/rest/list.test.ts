import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request as send } from "node:http";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import { unavailable } from "@tidings/rpc/fault";
import { clientOf } from "../testing/http.ts";
import { AUTHORIZATION, startScene } from "../testing/scene.ts";

const ROWS = 10_000;
const scene = await startScene();
after(scene.stop);
scene.addTags(ROWS);
const api = clientOf(scene.port);

async function open(port: number, path: string): Promise<IncomingMessage> {
  const request = send({ port, path, headers: { authorization: AUTHORIZATION }, agent: false }).end();
  const [response] = await once(request, "response");
  return response;
}

test("a page is keyed by id in the order of the query, with the total of all", async () => {
  const { status, text, body } = await api("GET", "/api/tags?limit=3&start=1");
  assert.equal(status, 200);
  assert.match(text, /^\{"total":10000,"tags":\{"9999":\{.*,"9998":\{.*,"9997":\{/);
  assert.equal(Object.keys(body.tags as object).length, 3);
});

test("an empty page is an empty object, small or large", async () => {
  for (const limit of [30, 10_000])
    assert.equal(
      (await api("GET", `/api/tags?start=20000&limit=${limit}`)).text,
      '{"total":10000,"tags":{}}',
    );
});

test("ten thousand rows arrive complete and in order", async () => {
  const { status, text } = await api("GET", "/api/tags?limit=10000");
  assert.equal(status, 200);
  const ids = [...text.matchAll(/"(\d+)":\{"id":\1,/g)].map(([, id]) => Number(id));
  assert.deepEqual(
    ids,
    Array.from({ length: ROWS }, (_, index) => ROWS - index),
  );
  assert.equal(Object.keys(JSON.parse(text).tags).length, ROWS);
});

test("a select holds for large pages too", async () => {
  const { body } = await api("GET", "/api/tags?limit=600&select[]=id");
  assert.deepEqual(Object.values(body.tags as object)[0], { id: 1 + ROWS - 600 });
});

test("a client that reads slowly slows the reading of rows, and costs no warnings", async () => {
  let asked = 0;
  const slow = await startScene({
    handlers: {
      listTags: ({ query }) => {
        if (query?.idsOnly)
          return { ids: Array.from({ length: ROWS }, (_, index) => index + 1), totalSize: ROWS };
        asked += 1;
        return {
          tags: (query as ListQuery).ids.map((id) => ({ id, tag: "t", description: "x".repeat(3_000) })),
        };
      },
    },
  });
  after(slow.stop);
  const warnings: Error[] = [];
  const listen = (warning: Error) => warnings.push(warning);
  process.on("warning", listen);
  const response = await open(slow.port, "/api/tags?limit=10000");
  await pause(500);
  assert.ok(asked < 20, `${asked} parts were read ahead of the client`);
  let length = 0;
  for await (const chunk of response) {
    length += chunk.length;
    await pause(1);
  }
  process.off("warning", listen);
  assert.ok(length > ROWS * 3_000);
  assert.deepEqual(
    warnings.map(({ name }) => name),
    [],
  );
});

test("an answer that nobody takes for thirty seconds is given up", async ({ mock }) => {
  const untaken = await startScene({
    handlers: {
      listTags: ({ query }) =>
        query?.idsOnly
          ? { ids: Array.from({ length: ROWS }, (_, index) => index + 1), totalSize: ROWS }
          : {
              tags: (query as ListQuery).ids.map((id) => ({ id, tag: "t", description: "x".repeat(3_000) })),
            },
    },
  });
  after(untaken.stop);
  // The connection to the service has timers of the same length: it is there before.
  await clientOf(untaken.port)("GET", "/api/tags?limit=501");
  // The timer that begins when the answer is stuck is run at once.
  const { setTimeout } = globalThis;
  const stuck = Promise.withResolvers<() => void>();
  mock.method(globalThis, "setTimeout", (callback: () => void, ms: number, ...values: []) => {
    if (ms === 30_000) stuck.resolve(callback);
    return setTimeout(callback, ms, ...values);
  });
  const response = await open(untaken.port, "/api/tags?limit=10000");
  response.pause();
  const giveUp = await stuck.promise;
  giveUp();
  await assert.rejects(async () => {
    for await (const _chunk of response);
  }, /aborted/);
});

test("rows are read in parts of about 256 kB, however large they are", async () => {
  const sizes: number[] = [];
  const heavy = await startScene({
    handlers: {
      listTags: ({ query }) => {
        if (query?.idsOnly)
          return { ids: Array.from({ length: 600 }, (_, index) => index + 1), totalSize: 600 };
        sizes.push((query as ListQuery).ids.length);
        return {
          tags: (query as ListQuery).ids.map((id) => ({ id, tag: "t", description: "x".repeat(30_000) })),
        };
      },
    },
  });
  after(heavy.stop);
  const { body } = await clientOf(heavy.port)("GET", "/api/tags?limit=600");
  assert.equal(Object.keys(body.tags as object).length, 600);
  assert.equal(sizes[0], 50);
  assert.ok(
    sizes.slice(1).every((size) => size <= 9),
    sizes.join(),
  );
});

test("rows that vanish between the ids and the rows are left out", async () => {
  const gone = await startScene({
    handlers: {
      listTags: ({ query }) =>
        query?.idsOnly
          ? { ids: Array.from({ length: 1_200 }, (_, index) => index + 1), totalSize: 1_200 }
          : { tags: (query as ListQuery).ids.filter((id) => id > 1_000).map((id) => ({ id, tag: "t" })) },
    },
  });
  after(gone.stop);
  const { body } = await clientOf(gone.port)("GET", "/api/tags?limit=5000");
  assert.equal(Object.keys(body.tags as object).length, 200);
});

test("a failure half way cuts the connection: what was sent cannot be taken for the whole", async () => {
  let parts = 0;
  const failing = await startScene({
    handlers: {
      listTags: ({ query }) => {
        if (query?.idsOnly)
          return { ids: Array.from({ length: 2_000 }, (_, index) => index + 1), totalSize: 2_000 };
        parts += 1;
        if (parts > 2) throw unavailable(new Error("gone"));
        return { tags: (query as ListQuery).ids.map((id) => ({ id, tag: "t" })) };
      },
    },
  });
  after(failing.stop);
  await assert.rejects(clientOf(failing.port)("GET", "/api/tags?limit=2000"), /terminated|socket|aborted/);
});

test("a failure before the first row is an ordinary error", async () => {
  const failing = await startScene({
    handlers: {
      listTags: ({ query }) => {
        if (query?.idsOnly) return { ids: [1, 2], totalSize: 2 };
        throw unavailable(new Error("gone"));
      },
    },
  });
  after(failing.stop);
  const { status } = await clientOf(failing.port)("GET", "/api/tags?limit=2000");
  assert.equal(status, 503);
});

test("a client that leaves stops the reading of rows", async () => {
  let asked = 0;
  const left = await startScene({
    handlers: {
      listTags: ({ query }) => {
        if (query?.idsOnly)
          return { ids: Array.from({ length: ROWS }, (_, index) => index + 1), totalSize: ROWS };
        asked += 1;
        return {
          tags: (query as ListQuery).ids.map((id) => ({ id, tag: "t", description: "x".repeat(3_000) })),
        };
      },
    },
  });
  after(left.stop);
  const response = await open(left.port, "/api/tags?limit=10000");
  response.destroy();
  await pause(300);
  assert.ok(asked < 20, `${asked} parts were read for nobody`);
});
