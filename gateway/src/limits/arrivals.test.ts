import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { clientOf, exchangeRaw } from "../testing/http.ts";
import { AUTHORIZATION, startScene } from "../testing/scene.ts";
import { apiRateLimits } from "./api-limits.ts";
import { bodyArrivals } from "./arrivals.ts";
import { rateLimiter } from "./rate-limit.ts";
import { loadShedding } from "./shedding.ts";

const WORK_MAX = 4;
const PER_ADDRESS = 10;

async function sceneWith(overrides: Parameters<typeof startScene>[0] = {}) {
  const shedding = loadShedding(WORK_MAX);
  after(shedding.stop);
  const arrivals = bodyArrivals({ perAddress: PER_ADDRESS, inAll: 1_000, bytesMax: 1_000_000 });
  const scene = await startScene({ shedding, arrivals, ...overrides });
  after(scene.stop);
  return { scene, api: clientOf(scene.port) };
}

/** Sends the head of a request and a part of its body. */
function halfSent(port: number, path: string, headers: string): { socket: Socket; text(): string } {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  after(() => socket.destroy());
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.on("error", () => undefined); // it is reset when it was refused
  socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: 100\r\n\r\n{"a":`);
  return { socket, text: () => received };
}

const FORM = "Content-Type: application/x-www-form-urlencoded\r\n";
const JSON_OF_A_USER = `Authorization: ${AUTHORIZATION}\r\nContent-Type: application/json\r\n`;

for (const [what, path, headers] of [
  ["forms of nobody", "/api/tags/new", FORM],
  ["JSON of a user", "/api/tags/new", JSON_OF_A_USER],
  ["sign-ins", "/oauth/v2/token", FORM],
] as const)
  test(`half-sent ${what} keep nobody from being served`, async () => {
    const { scene, api } = await sceneWith();
    assert.equal((await api("GET", "/api/tags")).status, 200, "the user is known now");
    const senders = Array.from({ length: 4 * WORK_MAX }, () => halfSent(scene.port, path, headers));
    await eventually(async () => {
      const refused = senders.filter(({ text }) => / 429 /.test(text())).length;
      assert.equal(refused, senders.length - PER_ADDRESS);
    });
    for (let count = 0; count < 3; count += 1) assert.equal((await api("GET", "/api/tags")).status, 200);
    const made = await api("POST", "/api/tags/new", { body: { tag: what } });
    assert.equal(made.status, 201, made.text);
  });

test("a body that does not get on is given up after a few seconds with 408", async () => {
  const { scene } = await sceneWith();
  const { text } = halfSent(scene.port, "/api/tags/new", JSON_OF_A_USER);
  await eventually(async () => assert.match(text(), /^HTTP\/1\.1 408 [\s\S]*"code":408/), {
    timeoutMs: 10_000,
  });
});

test("a body that comes byte by byte is given up too", async () => {
  const { scene } = await sceneWith();
  const { socket, text } = halfSent(scene.port, "/api/tags/new", JSON_OF_A_USER);
  const drip = setInterval(() => socket.write(" "), 50);
  after(() => clearInterval(drip));
  await eventually(async () => assert.match(text(), /^HTTP\/1\.1 408 /), { timeoutMs: 10_000 });
});

test("a form of nobody counts against its address before its body is waited for", async () => {
  const anonymous = rateLimiter({ name: "few", points: 2, windowSeconds: 60, redis: undefined });
  const rates = { ...apiRateLimits({ requestsPerHour: 0, keysPerMinute: 100 }, undefined), anonymous };
  const { scene } = await sceneWith({ rates });
  for (let count = 0; count < 2; count += 1) halfSent(scene.port, "/api/tags/new", FORM);
  await eventually(async () => {
    const request = `POST /api/tags/new HTTP/1.1\r\nHost: a\r\n${FORM}Content-Length: 100\r\n\r\na`;
    assert.match((await exchangeRaw(scene.port, request)).text, /^HTTP\/1\.1 429 /);
  });
});

test("bytes that wait for the rest of their body are limited in all", () => {
  const arrivals = bodyArrivals({ perAddress: 1, inAll: 1, bytesMax: 10 });
  arrivals.hold(10);
  assert.throws(() => arrivals.hold(1), /busy/);
  arrivals.release(10);
  arrivals.hold(1);
});
