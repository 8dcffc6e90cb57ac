import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { sendBytes } from "./send-bytes.ts";

const LENGTH = 100_000;

/** Serves these bytes as a file of LENGTH, and answers what a client gets of them and what the server throws. */
async function served(bytes: Readable): Promise<{ isWhole: boolean; received: number; thrown: unknown }> {
  const sending = Promise.withResolvers<unknown>();
  const server = createServer((_request, response) => {
    response.setHeader("content-length", LENGTH);
    sendBytes(response, bytes).then(() => sending.resolve(undefined), sending.resolve);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const outgoing = request({ port: (server.address() as AddressInfo).port, agent: false }).end();
  const [incoming] = await once(outgoing, "response");
  let received = 0;
  incoming.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  incoming.on("error", () => undefined); // the answer says so by not being complete
  await new Promise((resolve) => incoming.once("close", resolve));
  return { isWhole: incoming.complete, received, thrown: await sending.promise };
}

test("a file of its recorded size is sent whole", async () => {
  const pieces = Array.from({ length: 10 }, () => Buffer.alloc(LENGTH / 10));
  assert.deepEqual(await served(Readable.from(pieces)), {
    isWhole: true,
    received: LENGTH,
    thrown: undefined,
  });
});

test("a file that is shorter than its recorded size breaks the connection off, with an error", async () => {
  const { isWhole, received, thrown } = await served(Readable.from([Buffer.alloc(LENGTH / 10)]));
  assert.deepEqual([isWhole, received], [false, LENGTH / 10]);
  assert.match(String(thrown), /ended after 10000 bytes of 100000/);
});

test("a store that fails in the middle breaks the connection off, with its error", async () => {
  const failing = Readable.from(
    (async function* () {
      yield Buffer.alloc(10);
      throw new Error("the disk is gone");
    })(),
  );
  const { isWhole, thrown } = await served(failing);
  assert.equal(isWhole, false);
  assert.match(String(thrown), /the disk is gone/);
});

test("a client that leaves in the middle is no error", async () => {
  const sending = Promise.withResolvers<unknown>();
  const server = createServer((_request, response) => {
    response.setHeader("content-length", 10 * LENGTH);
    const endless = Readable.from(
      (async function* () {
        for (;;) yield Buffer.alloc(LENGTH);
      })(),
    );
    sendBytes(response, endless).then(() => sending.resolve("sent"), sending.resolve);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  const outgoing = request({ port: (server.address() as AddressInfo).port, agent: false }).end();
  outgoing.on("error", () => undefined); // it leaves
  const [incoming] = await once(outgoing, "response");
  incoming.on("error", () => undefined);
  incoming.destroy();
  assert.equal(await sending.promise, "sent");
});
