import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { clientIpReader } from "./client-ip.ts";
import { webLimits } from "./limits/web-limits.ts";
import { exchangeRaw } from "./testing/http.ts";
import { AUTHORIZATION, startScene } from "./testing/scene.ts";

/** Stands for the content service. */
let answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) =>
  response.end("public");
const seen: string[] = [];
const content = createServer((request, response) => {
  seen.push(request.url ?? "");
  answer(request, response);
});
let scene: Awaited<ReturnType<typeof startScene>>;
const sockets: Socket[] = [];
before(async () => {
  await new Promise<void>((resolve) => content.listen(0, "127.0.0.1", resolve));
  scene = await startScene({
    web: { address: `127.0.0.1:${(content.address() as AddressInfo).port}`, host: undefined },
    arrivalLimits: { perAddress: 2, inAll: 100, bytesMax: 1_000_000 },
    publicRate: 20,
  });
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  await scene.stop();
  content.close();
});

function open(bytes: string): Socket {
  const socket = connect(scene.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(bytes);
  sockets.push(socket);
  return socket;
}

function headers(method: string, path: string): string {
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\n`;
}

const read = async () => {
  const url = `http://127.0.0.1:${scene.port}/api/tags`;
  return (await fetch(url, { headers: { authorization: AUTHORIZATION } })).status;
};

test("an upload beyond the limit of bodies on their way is 429 on every upload route, and the process lives on", async () => {
  const multipart = "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\n";
  answer = () => undefined;
  const uploads = ["/api/files/images/new", "/api/files/assets/new", "/api/themes/new"];
  const held = [
    open(headers("POST", uploads[0] ?? "") + multipart),
    open(headers("POST", uploads[1] ?? "") + multipart),
  ];
  await eventually(() => assert.equal(seen.filter((url) => url.includes("/files/")).length, 2));
  for (const path of uploads)
    for (let count = 0; count < 5; count += 1) {
      const { text } = await exchangeRaw(scene.port, headers("POST", path) + multipart);
      assert.match(text, /^HTTP\/1\.1 429 /, path);
    }
  assert.equal(await read(), 200);
  for (const socket of held) socket.destroy();
  answer = (_request, response) => response.end("public");
  await eventually(async () => assert.equal(await read(), 200));
});

test("pipelined requests are answered in order, one after the other", async () => {
  const paths = [1, 2, 3].map((id) => `${headers("GET", `/api/tags/${id}`)}\r\n`);
  scene.addTags(3);
  const { text } = await exchangeRaw(scene.port, paths.join(""));
  assert.deepEqual(
    [...text.matchAll(/"tag":"tag (\d)"/g)].map(([, id]) => id),
    ["1", "2", "3"],
  );
});

test("a connection that pipelines public requests beyond its rate is closed, and requests behind a closed connection are not worked on", async () => {
  seen.length = 0;
  const pipelined = "GET /robots.txt HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1_500);
  const { text, isClosed } = await exchangeRaw(scene.port, pipelined);
  assert.ok(isClosed);
  assert.equal(text.split("HTTP/1.1 429 ").length - 1, 1, "one refusal ends the connection");
  assert.ok(seen.length <= 40, `${seen.length} were worked on`);

  seen.length = 0;
  answer = () => undefined;
  const left = open(`${headers("GET", "/api/tags/1")}\r\n`.repeat(500));
  await once(left, "data");
  left.destroy();
  assert.equal(await read(), 200);
});

test("slow readers of the public web take nothing from the API, and an address has its share of them", async () => {
  const picture = Buffer.alloc(8 * 1024 * 1024);
  answer = (_request, response) => {
    response.setHeader("content-length", picture.length);
    response.end(picture);
  };
  const other = await startScene({
    web: { address: `127.0.0.1:${(content.address() as AddressInfo).port}`, host: undefined },
  });
  after(other.stop);
  let refused = 0;
  let served = 0;
  const readers = Array.from({ length: 130 }, () => {
    const reader = send({ port: other.port, path: "/media/images/a.png", agent: false });
    reader.on("error", () => undefined);
    reader.on("response", (response) => {
      if (response.statusCode === 200) served += 1;
      if (response.statusCode === 429) refused += 1;
      response.pause();
    });
    return reader.end();
  });
  await eventually(() => assert.deepEqual([served, refused], [100, 30]));
  const url = `http://127.0.0.1:${other.port}/api/tags`;
  for (let count = 0; count < 20; count += 1)
    assert.equal((await fetch(url, { headers: { authorization: AUTHORIZATION } })).status, 200);
  for (const reader of readers) reader.destroy();
});

test("hits that are sent a byte at a time take no other visitor's place, and are given up after 10 s", async () => {
  const arrived = new Set<Socket>();
  answer = (request, response) => {
    arrived.add(request.socket);
    request.resume().once("end", () => response.end("public"));
  };
  const limits = webLimits({
    clientIp: clientIpReader([], createLog("test", "silent")),
    ratePerSecond: 0,
    // Half of them are for hits.
    inFlightMax: 20,
    redis: undefined,
  });
  const web = { address: `127.0.0.1:${(content.address() as AddressInfo).port}`, host: undefined, limits };
  const other = await startScene({ web });
  after(other.stop);
  const opened = performance.now();
  const senders = Array.from({ length: 10 }, () => {
    const sender = connect(other.port, "127.0.0.1");
    sender.on("error", () => undefined);
    sender.write("POST /mtc/event HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\na");
    const drip = setInterval(() => sender.write("a"), 500);
    return new Promise<number>((resolve) =>
      sender.resume().once("close", () => {
        clearInterval(drip);
        resolve(performance.now() - opened);
      }),
    );
  });
  await eventually(() => assert.equal(arrived.size, senders.length));
  const url = `http://127.0.0.1:${other.port}/mtc`;
  await eventually(async () => assert.equal((await fetch(url)).status, 200));
  const closedAfter = await Promise.all(senders);
  assert.ok(Math.min(...closedAfter) > 5_000 && Math.max(...closedAfter) < 20_000, String(closedAfter));
});

test("a body with wrong HTTP framing is 400 on every route", async () => {
  const chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n";
  for (const path of ["/api/tags/new", "/api/themes/new", "/robots.txt"]) {
    const { text, isClosed } = await exchangeRaw(scene.port, headers("POST", path) + chunked);
    assert.match(text, /^HTTP\/1\.1 4\d\d /, path);
    assert.ok(isClosed);
  }
  assert.equal(await read(), 200);
});
