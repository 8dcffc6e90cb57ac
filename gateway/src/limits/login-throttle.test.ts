import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestRedis } from "@tidings/testkit/redis";
import { type LoginThrottle, loginThrottle } from "./login-throttle.ts";
import { connectRedis } from "./rate-limit.ts";

const isLimited = (error: unknown) => error instanceof Fault && error.reason === "RATE_LIMITED";

const attempt = (throttle: LoginThrottle, login: string, ip = "1.1.1.1") => throttle.countAttempt(login, ip);

async function attempts(throttle: LoginThrottle, times: number, login: string): Promise<void> {
  for (let count = 0; count < times; count += 1) await attempt(throttle, login);
}

async function waitOf(throttle: LoginThrottle, login: string): Promise<number> {
  const refusal = await attempt(throttle, login).then(
    () => undefined,
    (error: Fault) => error,
  );
  return refusal?.retryAfterSeconds ?? 0;
}

let logins = 0;
/** A login that no other test uses: Redis is shared. */
function newLogin(): string {
  logins += 1;
  return `ada-${logins}`;
}

function suite(create: () => LoginThrottle) {
  test("five attempts are free, then the client waits", async () => {
    const throttle = create();
    const login = newLogin();
    await attempts(throttle, 5, login);
    assert.equal(await waitOf(throttle, login), 2);
  });

  test("only the free attempts of many concurrent ones are made", async () => {
    const throttle = create();
    const login = newLogin();
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => attempt(throttle, login)));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 5);
  });

  test("other users and other addresses are not affected, spelling of the name is no way around", async () => {
    const throttle = create();
    const login = newLogin();
    await attempts(throttle, 5, login);
    await attempt(throttle, login, "2.2.2.2");
    await attempt(throttle, newLogin());
    await assert.rejects(attempt(throttle, login.toUpperCase()), isLimited);
  });

  test("a success forgets the attempts before it", async () => {
    const throttle = create();
    const login = newLogin();
    await attempts(throttle, 4, login);
    await (await throttle.countAttempt(login, "1.1.1.1")).forgive();
    await attempts(throttle, 5, login);
  });

  test("attempts that nobody could judge do not count, however many they are", async () => {
    const throttle = create();
    const login = newLogin();
    for (let count = 0; count < 30; count += 1)
      await (await throttle.countAttempt(login, "1.1.1.1")).giveBack();
    await attempts(throttle, 5, login);
    await assert.rejects(attempt(throttle, login), isLimited);
  });
}

describe("in memory", () => suite(() => loginThrottle(undefined)));

describe("in Redis", async () => {
  const server = await startTestRedis();
  const redis = await connectRedis(server.url, createLog("limits", "silent"));
  after(async () => {
    redis.destroy();
    await server.stop();
  });
  await eventually(() => assert.ok(redis.isReady));
  suite(() => loginThrottle(redis));
  test("failures at one gateway count at the other", async () => {
    const elsewhere = await connectRedis(server.url, createLog("limits", "silent"));
    after(() => elsewhere.destroy());
    await eventually(() => assert.ok(elsewhere.isReady));
    // A Redis that takes more than 200 ms is passed by: on a busy machine an attempt may be counted in memory.
    await eventually(async () => {
      const login = newLogin();
      await attempts(loginThrottle(redis), 5, login);
      await assert.rejects(attempt(loginThrottle(elsewhere), login), isLimited);
    });
  });
});
