import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { parseRanges } from "./address.ts";
import { OutboundError, type OutboundErrorCode } from "./guard.ts";
import { createOutbound } from "./outbound.ts";

const { ranges } = parseRanges(["127.0.0.1/32"]);
const open = createOutbound({ allowed: ranges, timeoutMs: 700 });
const closed = createOutbound({ allowed: [], timeoutMs: 700 });

after(async () => {
  await open.close();
  await closed.close();
});

test("a POST arrives unchanged, and its answer comes back", async () => {
  const receiver = await startReceiver({ respond: () => ({ status: 202, body: "thanks" }) });
  const { status, text } = await open.send({
    method: "POST",
    url: `${receiver.url}/a?b=c`,
    headers: { "x-one": "1" },
    body: '{"ä":1}',
  });
  assert.deepEqual([status, text], [202, "thanks"]);
  const [request] = receiver.requests;
  assert.equal(request?.path, "/a?b=c");
  assert.equal(request?.headers["x-one"], "1");
  assert.equal(request?.body, '{"ä":1}');
  await receiver.stop();
});

test("no spelling of a private address is connected to", async () => {
  const receiver = await startReceiver();
  const { port } = new URL(receiver.url);
  const hosts = ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "a.localhost"];
  hosts.push(
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "127。0。0。1",
    "0.0.0.0",
  );
  for (const host of hosts)
    await assertFails(closed.send({ method: "POST", url: `http://${host}:${port}/` }), "blocked_address");
  assert.equal(receiver.requests.length, 0);
  await receiver.stop();
});

test("an allowed range lets exactly its addresses through, under any name for them", async () => {
  const receiver = await startReceiver();
  const { port } = new URL(receiver.url);
  for (const host of ["127.0.0.1", "localhost", "2130706433"]) {
    assert.equal((await open.send({ method: "POST", url: `http://${host}:${port}/` })).status, 200);
  }
  await assertFails(open.send({ method: "POST", url: `http://127.0.0.2:${port}/` }), "blocked_address");
  await receiver.stop();
});

test("a proxy named in the environment is not used", async () => {
  const proxy = await startReceiver();
  const receiver = await startReceiver();
  process.env.HTTP_PROXY = proxy.url;
  process.env.http_proxy = proxy.url;
  await open.send({ method: "POST", url: receiver.url });
  delete process.env.HTTP_PROXY;
  delete process.env.http_proxy;
  assert.deepEqual([proxy.requests.length, receiver.requests.length], [0, 1]);
  await proxy.stop();
  await receiver.stop();
});

test("a redirect is an answer and is not followed", async () => {
  const target = await startReceiver();
  const receiver = await startReceiver({
    respond: () => ({ status: 307, headers: { location: target.url } }),
  });
  assert.equal((await open.send({ method: "POST", url: receiver.url })).status, 307);
  assert.equal(target.requests.length, 0);
  await target.stop();
  await receiver.stop();
});

test("a receiver that hangs or drips headers is given up in time", async () => {
  const hanging = await startRawServer(() => undefined);
  await assertFails(open.send({ method: "POST", url: hanging.url }), "timeout");
  await hanging.stop();
  const dripping = await startRawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    const timer = setInterval(() => socket.write("x-drip: 1\r\n"), 50);
    socket.on("close", () => clearInterval(timer));
  });
  await assertFails(open.send({ method: "POST", url: dripping.url }), "timeout");
  await dripping.stop();
});

test("a receiver that answers and then drips its body has answered", async () => {
  const dripping = await startRawServer((socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
    const timer = setInterval(() => socket.write("x"), 50);
    socket.on("close", () => clearInterval(timer));
  });
  const { status, text } = await open.send({ method: "POST", url: dripping.url });
  assert.equal(status, 200);
  assert.match(text, /^x+$/);
  await dripping.stop();
});

test("an answer of a gigabyte is cut off", async () => {
  let sent = 0;
  let isClosed = false;
  const generous = await startRawServer((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${2 ** 30}\r\n\r\n`);
    const chunk = Buffer.alloc(65_536, "x");
    const pour = () => {
      while (!socket.destroyed) {
        sent += chunk.length;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on("drain", pour);
    socket.on("close", () => {
      isClosed = true;
    });
    pour();
  });
  const { status, text } = await open.send({ method: "POST", url: generous.url });
  assert.deepEqual([status, text.length], [200, 16_384]);
  await eventually(() => assert.ok(isClosed));
  assert.ok(sent < 2 ** 26, `${sent} bytes`);
  await generous.stop();
});

test("a reset, a closed port and nonsense are failed deliveries", async () => {
  const resetting = await startRawServer((socket) => socket.resetAndDestroy());
  await assertFails(open.send({ method: "POST", url: resetting.url }), "delivery_failed");
  await resetting.stop();
  await assertFails(open.send({ method: "POST", url: resetting.url }), "delivery_failed");
  const talking = await startRawServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
  await assertFails(open.send({ method: "POST", url: talking.url }), "delivery_failed");
  await talking.stop();
});

test("a receiver that does not speak TLS is a TLS error", async () => {
  const plain = await startReceiver();
  await assertFails(open.send({ method: "POST", url: plain.url.replace("http:", "https:") }), "tls_error");
  await plain.stop();
});

async function assertFails(work: Promise<unknown>, code: OutboundErrorCode): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof OutboundError, String(error));
    assert.equal(error.code, code);
    return true;
  });
}

/** A server that does with a connection, once something was sent, whatever it likes. */
async function startRawServer(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined); // the other end may give up
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

test("every method arrives with its headers and body", async () => {
  const receiver = await startReceiver();
  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const) {
    const body = method === "GET" || method === "HEAD" ? {} : { body: `of ${method}` };
    const request = { method, url: receiver.url, headers: { "x-method": method }, ...body };
    assert.equal((await open.send(request)).status, 200);
    const received = receiver.requests.at(-1);
    assert.deepEqual(
      [received?.method, received?.headers["x-method"], received?.body],
      [method, method, body.body ?? ""],
    );
  }
  await receiver.stop();
});

test("a request that is sent once says whether the receiver may have it, and asks right before it leaves", async () => {
  const receiver = await startReceiver({
    respond: (_, index) =>
      [{ status: 201, body: "taken" }, { drop: true }, { delayMs: Infinity }][index] ?? {},
  });
  const request = { method: "POST", url: `${receiver.url}/x`, body: '{"ä":1}' } as const;
  const sendOnce = (url = request.url, mayBegin = () => true) => open.sendOnce({ ...request, url }, mayBegin);
  assert.deepEqual(await sendOnce(request.url, () => false), { state: "not begun" });
  assert.equal(receiver.requests.length, 0);
  const answered = await sendOnce();
  assert.deepEqual([answered.state, "answer" in answered && answered.answer.text], ["answered", "taken"]);
  const [{ headers, body } = { headers: {}, body: "" }] = receiver.requests;
  assert.deepEqual([body, headers["content-length"], headers.connection], [request.body, "8", "close"]);
  assert.deepEqual(await sendOnce(), { state: "unknown", code: "delivery_failed" });
  assert.deepEqual(await sendOnce(), { state: "unknown", code: "timeout" });
  await receiver.stop();
  assert.deepEqual(await sendOnce(), { state: "unreached", code: "delivery_failed" });
  const blocked = await closed.sendOnce(request, () => true);
  assert.deepEqual(blocked, { state: "unreached", code: "blocked_address" });
});
