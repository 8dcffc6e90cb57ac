import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { after, describe, test } from "node:test";
import { Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestRedis } from "@tidings/testkit/redis";
import { createClient } from "redis";
import { connectRedis, consume, type Redis, rateLimiter } from "./rate-limit.ts";

const log = createLog("limits", "silent");
const isLimited = (error: unknown) => error instanceof Fault && error.reason === "RATE_LIMITED";
const answer = () => new ServerResponse(new IncomingMessage(new Socket()));
let names = 0;

function limiter(points: number, redis?: Redis) {
  names += 1;
  return rateLimiter({ name: `test-${names}`, points, windowSeconds: 60, redis });
}

async function startRedis() {
  const server = await startTestRedis();
  const redis = await connectRedis(server.url, log);
  after(async () => {
    redis.destroy();
    await server.stop();
  });
  await eventually(() => assert.ok(redis.isReady));
  return { server, redis };
}

describe("in memory", () => {
  test("a key has its points and no more; other keys are not affected", async () => {
    const limit = limiter(2);
    await consume(limit, "a", answer());
    await consume(limit, "a", answer());
    await assert.rejects(consume(limit, "a", answer()), isLimited);
    await consume(limit, "b", answer());
  });

  test("the answer says what the limit is and what is left of it, refused or not", async () => {
    const limit = limiter(2);
    const first = answer();
    await consume(limit, "a", first);
    assert.equal(first.getHeader("ratelimit-policy"), '"default";q=2;w=60');
    assert.match(String(first.getHeader("ratelimit")), /^"default";r=1;t=\d+$/);
    assert.deepEqual(
      [first.getHeader("x-ratelimit-limit"), first.getHeader("x-ratelimit-remaining")],
      [2, 1],
    );
    const reset = Number(first.getHeader("x-ratelimit-reset")) - Date.now() / 1000;
    assert.ok(reset > 0 && reset <= 61, `${reset} s`);
    await consume(limit, "a", answer());
    const refused = answer();
    await assert.rejects(consume(limit, "a", refused), (error: Fault) => {
      assert.ok(error.retryAfterSeconds && error.retryAfterSeconds > 0 && error.retryAfterSeconds <= 60);
      return isLimited(error);
    });
    assert.match(String(refused.getHeader("ratelimit")), /^"default";r=0;t=\d+$/);
  });

  test("only as many of a hundred concurrent requests pass as there are points", async () => {
    const limit = limiter(10);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => consume(limit, "a", answer())),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 10);
  });
});

describe("in Redis", () => {
  test("two gateways share the points of a key", async () => {
    const { server, redis } = await startRedis();
    const other = await connectRedis(server.url, log);
    after(() => other.destroy());
    await eventually(() => assert.ok(other.isReady));
    const options = { name: "shared", points: 2, windowSeconds: 60 };
    const [here, there] = [rateLimiter({ ...options, redis }), rateLimiter({ ...options, redis: other })];
    await consume(here, "a", answer());
    await consume(there, "a", answer());
    await assert.rejects(consume(here, "a", answer()), isLimited);
  });

  test("a Redis that is not there when we start neither fails nor hangs a request", async () => {
    const redis = await connectRedis("redis://127.0.0.1:1", log);
    after(() => redis.destroy());
    const limit = limiter(1, redis);
    await consume(limit, "a", answer());
    await assert.rejects(consume(limit, "a", answer()), isLimited);
  });

  test("a Redis that stops leaves every gateway counting for itself", async () => {
    const { server, redis } = await startRedis();
    const limit = limiter(2, redis);
    await consume(limit, "a", answer());
    await server.stop();
    await eventually(() => assert.ok(!redis.isReady));
    await consume(limit, "a", answer());
    await consume(limit, "a", answer());
    await assert.rejects(consume(limit, "a", answer()), isLimited);
  });

  test("a Redis that does not answer any more does not hang a request", async () => {
    const { server, redis } = await startRedis();
    const limit = limiter(100, redis);
    const operator = createClient({ url: server.url });
    operator.on("error", () => undefined); // the server stops before it does
    await operator.connect();
    after(() => operator.destroy());
    await operator.sendCommand(["CLIENT", "PAUSE", "6000", "ALL"]);
    const startedAt = performance.now();
    await consume(limit, "a", answer());
    await limit.get("a");
    assert.ok(performance.now() - startedAt < 3_000, `took ${Math.round(performance.now() - startedAt)} ms`);
  });
});
