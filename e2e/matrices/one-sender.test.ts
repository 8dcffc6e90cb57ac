import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { allRoutes, pathOf } from "../permission/routes.ts";
import { ADMINISTRATOR, startTestStack } from "../stack.ts";
import { authorizationOf } from "../uploader.ts";

/** One sender at every route that is mounted, with every limit low enough to be reached: nothing ends, and others are served. */

const LIMITS = { REQUESTS_IN_FLIGHT: "8", PUBLIC_REQUESTS_IN_FLIGHT: "8", PUBLIC_RATE_LIMIT: "1000" };
const stack = await startTestStack({ env: { gateway: LIMITS } });
after(() => stack.stop());
const { hostname, port } = new URL(stack.baseUrl);

/** More than any limit on open requests. */
const CONNECTIONS = 12;
const PIPELINED = 50;
const ROUTES_AT_ONCE = 8;

const routes = [
  ...allRoutes.map(({ method, path }) => `${method} /api/${pathOf(path)}`),
  ...[
    "GET /robots.txt",
    "GET /s/login",
    "POST /oauth/v2/token",
    "GET /media/images/none.png",
    "POST /form/submit",
  ],
];

const PROCESSES = processes.map(({ name }) => name);
const pids = PROCESSES.map((name) => stack.process(name).pid);

const head = (route: string, length: number, more = "") =>
  `${route} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorizationOf(ADMINISTRATOR)}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`;

async function open(): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined); // the server may end it
  await once(socket, "connect");
  return socket;
}

/** Does this with many connections at each route, some routes at a time, and then ends them. */
async function atEachRoute(
  work: (socket: Socket, route: string) => Promise<unknown> | unknown,
): Promise<void> {
  for (let start = 0; start < routes.length; start += ROUTES_AT_ONCE)
    await Promise.all(
      routes.slice(start, start + ROUTES_AT_ONCE).map(async (route) => {
        const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, open));
        await Promise.all(sockets.map((socket) => work(socket, route)));
        for (const socket of sockets) socket.destroy();
      }),
    );
}

async function allIsWell(): Promise<void> {
  await eventually(async () => assert.equal((await stack.api("GET", "contacts?limit=1")).status, 200));
  assert.deepEqual(
    PROCESSES.map((name) => stack.process(name).pid),
    pids,
  );
  const broken = PROCESSES.flatMap((name) => stack.lines.of(name)).filter((line) =>
    /uncaught|unhandled/i.test(line),
  );
  assert.deepEqual(broken, []);
}

const written = (socket: Socket, bytes: string) => new Promise((resolve) => socket.write(bytes, resolve));

test("bodies that begin and do not go on, more than may be on their way, end nothing", async () => {
  await atEachRoute((socket, route) => written(socket, `${head(route, 100_000)}{"name":`));
  await allIsWell();
});

test("bursts of pipelined requests whose senders leave end nothing", async () => {
  await atEachRoute((socket, route) => written(socket, head(route, 0).repeat(PIPELINED)));
  await allIsWell();
});

test("answers that nobody reads end nothing", async () => {
  await atEachRoute((socket, route) => {
    socket.pause();
    return written(socket, `${head(route, 2, "Connection: close\r\n")}{}`);
  });
  await allIsWell();
});
