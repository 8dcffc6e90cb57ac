import assert from "node:assert/strict";
import { type Duplex, PassThrough, type Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import fc from "fast-check";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { passUnchanged } from "./mail-data.ts";

/** The octets that a connection gives to its socket for a mail in these chunks. */
async function octetsOf(
  chunks: string[],
  prepare: (connection: SMTPConnection) => void = passUnchanged,
  socket: Duplex = new PassThrough(),
): Promise<string> {
  const connection = new SMTPConnection({});
  prepare(connection);
  const data = Object.assign(connection, { _socket: socket }) as unknown as {
    _createSendStream(callback: () => void): Writable;
  };
  const stream = data._createSendStream(() => undefined);
  stream.once("end", () => setImmediate(() => socket.end()));
  for (const chunk of chunks) stream.write(Buffer.from(chunk));
  stream.end();
  return (await buffer(socket)).toString();
}

test("whatever a mail has and however it is cut, its octets on the way are those that nodemailer makes of it", async () => {
  const parts = fc.array(fc.constantFrom(".", "\r", "\n", "\r\n", "a", "ü", "\r\n.", "Hello. Hello"), {
    maxLength: 8,
  });
  const chunk = parts.map((all) => all.join(""));
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 4 }), async (chunks) => {
      assert.equal(await octetsOf(chunks), await octetsOf(chunks, () => undefined));
    }),
    { numRuns: 500 },
  );
});

test("a mail of several chunks that is larger than what the socket buffers arrives whole", async () => {
  const line = `${"a".repeat(70)}\r\n`;
  const chunks = Array.from({ length: 50 }, () => line.repeat(1_000));
  assert.equal(await octetsOf(chunks), `${chunks.join("")}.\r\n`);
});

test("a mail and the dot that ends it are one write", async () => {
  let writes = 0;
  const socket = new PassThrough({
    writev(chunks, done) {
      writes += 1;
      for (const { chunk } of chunks) this.push(chunk);
      done();
    },
  });
  const mail = "Subject: News\r\n\r\nHello\r\n";
  assert.equal(await octetsOf([mail], passUnchanged, socket), `${mail}.\r\n`);
  assert.equal(writes, 1);
});
