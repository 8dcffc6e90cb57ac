import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { after, test } from "node:test";
import { type LeanMail, leanMailServer } from "./lean-mail-server.ts";

const OCTETS_MAX = 1_000;
const taken: LeanMail[] = [];
const server = leanMailServer({ octetsMax: OCTETS_MAX, onMail: (mail) => taken.push(mail) });
await once(server.listen(0, "127.0.0.1"), "listening");
const { port } = server.address() as AddressInfo;
after(() => server.close());

/** Writes the parts one after the other, and gives all that was answered until the end. */
async function conversation(parts: string[]): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let answers = "";
  socket.on("data", (chunk) => {
    answers += chunk;
  });
  for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
  await once(socket, "close");
  return answers;
}

const mailTo = (address: string, body: string) =>
  `MAIL FROM:<shop@example.org>\r\nRCPT TO:<${address}>\r\nDATA\r\n${body}\r\n.\r\n`;

test("mails that are pipelined are each taken, wherever the octets of a conversation are cut", async () => {
  const sent = `EHLO me\r\n${mailTo("one@example.org", "One\r\n..\r\r\n...more")}${mailTo("two@example.org", "Two")}QUIT\r\n`;
  for (const parts of [[sent], sent.split(/(?<=\r)/), [...sent]]) {
    taken.length = 0;
    const answers = await conversation(parts);
    assert.deepEqual(
      taken.map(({ recipients, octets }) => [recipients, octets.toString()]),
      [
        [["one@example.org"], "One\r\n.\r\r\n..more"],
        [["two@example.org"], "Two"],
      ],
    );
    assert.match(answers, /\r\n221 [^\r]*\r\n$/);
  }
});

test("a mail that is longer than what is kept is taken, and its beginning kept", async () => {
  taken.length = 0;
  const line = `${"x".repeat(70)}\r\n`;
  await conversation([mailTo("long@example.org", line.repeat(5_000)), "QUIT\r\n"]);
  assert.deepEqual(
    taken.map(({ octets }) => octets.length),
    [OCTETS_MAX],
  );
});

test("a command without an end closes the connection", async () => {
  assert.doesNotMatch(await conversation(["x".repeat(5_000)]), /221/);
});
