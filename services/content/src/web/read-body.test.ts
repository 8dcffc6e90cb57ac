import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { readBody } from "./read-body.ts";

const BYTES_MAX = 1_000;

const server = createServer(async (incoming, response) => {
  response.end(JSON.stringify(await readBody(incoming, BYTES_MAX)));
});
// A connection that is held up stays so.
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1");
await once(server, "listening");
after(() => server.close());
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
after(() => agent.destroy());

async function sent(body: string, own: Agent | false = false): Promise<unknown> {
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ port, method: "POST", agent: own });
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

test("the next request of a connection is answered after a body that was cut", {
  timeout: 10_000,
}, async () => {
  for (const body of ["a".repeat(4_000 * BYTES_MAX), "b"])
    assert.deepEqual(await sent(body, agent), {
      text: body.slice(0, BYTES_MAX),
      isCut: body.length > BYTES_MAX,
    });
});
