import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { readBody } from "./read-body.ts";

const BYTES_MAX = 1_000;

const server = createServer(async (incoming, response) => {
  response.end(JSON.stringify(await readBody(incoming, BYTES_MAX)));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
after(() => server.close());

async function sent(body: string): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ port, method: "POST", agent: false });
  outgoing.on("error", () => undefined); // the server need not read all of it
  // Written in pieces it has no length that could be looked at.
  for (let at = 0; at < body.length; at += 500) outgoing.write(body.slice(at, at + 500));
  outgoing.end();
  const [incoming] = await once(outgoing, "response");
  return JSON.parse(await text(incoming));
}

test("a body of the greatest length is read whole", async () => {
  for (const body of ["", "a", "a".repeat(BYTES_MAX)])
    assert.deepEqual(await sent(body), { text: body, isCut: false });
});

test("a longer body is cut there, and its request is answered all the same", async () => {
  for (const length of [BYTES_MAX + 1, 10 * BYTES_MAX, 500 * BYTES_MAX])
    assert.deepEqual(await sent("a".repeat(length)), { text: "a".repeat(BYTES_MAX), isCut: true });
});
