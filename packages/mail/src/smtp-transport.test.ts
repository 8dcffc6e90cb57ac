import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { createAuthority } from "@tidings/testkit/certificates";
import { type SinkOptions, startMailSink } from "@tidings/testkit/mail-sink";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import type { WrittenMail } from "./mail-transport.ts";
import type { SmtpServer } from "./smtp-conversation.ts";
import { smtpTransport } from "./smtp-transport.ts";

const MAIL = "Subject: Hello\r\n\r\n.\r\n..\r\nHello\r\n";

function mailTo(to: string, members: Partial<WrittenMail> = {}): WrittenMail {
  return {
    messageId: "01@mail.example",
    envelope: { from: "ada@mail.example", to, bcc: [] },
    pieces: [Buffer.from(MAIL)],
    mayBegin: () => true,
    ...members,
  };
}

function transportTo(port: number, members: Partial<SmtpServer> = {}) {
  const transport = smtpTransport({
    ...{ host: "127.0.0.1", port, tls: "off", user: "", password: "" },
    ...members,
  });
  after(() => transport.close());
  return transport;
}

async function sink(options: SinkOptions = {}) {
  const started = await startMailSink(options);
  after(() => started.close());
  return started;
}

/** A server of these lines: each command gets the answer that its beginning names; `hang up` closes the connection instead. */
async function scripted(answers: Record<string, string>) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.setEncoding("latin1"));
    let isData = false;
    let heard = "";
    const answer = (name: string, otherwise: string) => {
      const said = Object.hasOwn(answers, name) ? answers[name] : otherwise;
      if (said === "hang up") socket.destroy();
      else if (said !== "silence") socket.write(`${said}\r\n`);
    };
    answer("greeting", "220 scripted");
    socket
      .on("error", () => undefined)
      .on("data", (text: string) => {
        heard += text;
        for (
          let end = heard.indexOf(isData ? "\r\n.\r\n" : "\r\n");
          end >= 0;
          end = heard.indexOf(isData ? "\r\n.\r\n" : "\r\n")
        ) {
          const line = heard.slice(0, end);
          heard = heard.slice(end + (isData ? 5 : 2));
          if (isData) {
            isData = false;
            answer("end", "250 taken");
          } else if (line === "DATA") {
            isData = !Object.hasOwn(answers, "DATA");
            answer("DATA", "354 go on");
          } else answer(line.slice(0, 4), line.startsWith("EHLO") ? "250 scripted" : "250 ok");
        }
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  assert.ok(address && typeof address === "object");
  return address.port;
}

for (const isPipelining of [true, false])
  test(`mails arrive octet for octet, many over one connection${isPipelining ? ", pipelined" : ""}`, async () => {
    const { port, taken } = await sink({ isPipelining });
    const transport = transportTo(port);
    for (const to of ["a@example.org", "b@example.org"]) {
      const outcome = await transport.handOver(mailTo(to));
      assert.equal(outcome.state, "taken");
    }
    assert.deepEqual(taken, [
      { from: "ada@mail.example", to: ["a@example.org"], octets: MAIL },
      { from: "ada@mail.example", to: ["b@example.org"], octets: MAIL },
    ]);
  });

for (const isPipelining of [true, false])
  test(`a refused recipient gets nothing, nor do blind copies, and the next mail goes${isPipelining ? ", pipelined" : ""}`, async () => {
    const { port, taken } = await sink({
      isPipelining,
      onRecipient: (address) => (address.startsWith("gone") ? "550 5.1.1 no such mailbox" : undefined),
    });
    const transport = transportTo(port);
    const refusal = {
      ...{ state: "refused", by: "recipient", code: 550, text: "5.1.1 no such mailbox" },
      isForGood: true,
    };
    assert.deepEqual(await transport.handOver(mailTo("gone@example.org")), refusal);
    const copied = { from: "ada@mail.example", to: "gone@example.org", bcc: ["archive@example.org"] };
    assert.deepEqual(await transport.handOver(mailTo("", { envelope: copied })), refusal);
    const other = { from: "ada@mail.example", to: "here@example.org", bcc: ["gone@example.org"] };
    assert.equal((await transport.handOver(mailTo("", { envelope: other }))).state, "taken");
    assert.deepEqual(
      taken.map(({ to }) => to),
      [["here@example.org"]],
    );
  });

test("a refused sender or message says so, with its code", async () => {
  const outcomeOf = async (answers: Record<string, string>) =>
    transportTo(await scripted(answers)).handOver(mailTo("a@example.org"));
  assert.deepEqual(await outcomeOf({ MAIL: "553 5.7.1 not yours" }), {
    state: "refused",
    by: "sender",
    code: 553,
    text: "5.7.1 not yours",
    isForGood: true,
  });
  assert.deepEqual(await outcomeOf({ RCPT: "450 4.2.1 come back" }), {
    state: "refused",
    by: "recipient",
    code: 450,
    text: "4.2.1 come back",
    isForGood: false,
  });
  for (const at of ["DATA", "end"])
    assert.deepEqual(await outcomeOf({ [at]: "554 5.6.0 spam" }), {
      state: "refused",
      by: "message",
      code: 554,
      text: "5.6.0 spam",
      isForGood: true,
    });
});

test("a mail above the server's limit is refused before it is sent", async () => {
  const { port, taken } = await sink({ sizeMax: 20 });
  const outcome = await transportTo(port).handOver(mailTo("a@example.org"));
  assert.deepEqual(
    [outcome.state, "by" in outcome && outcome.by, "code" in outcome && outcome.code],
    ["refused", "message", 552],
  );
  assert.deepEqual(taken, []);
});

test("an address with other letters before the @ is given to a server that offers SMTPUTF8, and to no other", async () => {
  const { port, taken } = await sink();
  assert.equal((await transportTo(port).handOver(mailTo("zoë@example.org"))).state, "taken");
  assert.deepEqual(taken[0]?.to, ["zoë@example.org"]);
  const outcome = await transportTo(await scripted({})).handOver(mailTo("zoë@example.org"));
  assert.deepEqual(
    [outcome.state, "isForGood" in outcome && outcome.isForGood, "text" in outcome && outcome.text],
    ["refused", true, "5.6.7 The mail server does not offer SMTPUTF8, which the address needs."],
  );
});

test("a line that breaks after the last octet leaves it unknown; before, nothing was sent", async () => {
  const stateOf = async (answers: Record<string, string>) =>
    (await transportTo(await scripted(answers)).handOver(mailTo("a@example.org"))).state;
  assert.equal(await stateOf({ end: "hang up" }), "unknown");
  assert.equal(await stateOf({ end: "421 closing" }), "refused");
  assert.equal(await stateOf({ end: "nonsense" }), "unknown");
  for (const at of ["greeting", "EHLO", "MAIL", "RCPT", "DATA"]) {
    assert.equal(await stateOf({ [at]: "hang up" }), "away", at);
    assert.equal(await stateOf({ [at]: "421 4.3.2 busy" }), at === "RCPT" ? "refused" : "away", at);
  }
});

test("a server that is not there, or refuses the sign-in, is away, and no password in the reason", async () => {
  const { port } = await sink({ signIn: { user: "ada", password: "secret-1" } });
  const signedIn = transportTo(port, { user: "ada", password: "secret-1" });
  assert.equal((await signedIn.handOver(mailTo("a@example.org"))).state, "taken");
  const outcome = await transportTo(port, { user: "ada", password: "secret-2" }).handOver(
    mailTo("a@example.org"),
  );
  assert.deepEqual([outcome.state, "isRefusedSignIn" in outcome && outcome.isRefusedSignIn], ["away", true]);
  assert.doesNotMatch(JSON.stringify(outcome), /secret/);
  assert.equal((await transportTo(1).handOver(mailTo("a@example.org"))).state, "away");
});

test("STARTTLS is required and its certificate checked, unless TLS is off", async () => {
  const folder = await temporaryFolder();
  after(folder.remove);
  const authority = await createAuthority(folder.path);
  const certificates = await authority.issue("mail", ["127.0.0.1"]);
  const ca = await readFile(authority.caFile, "utf8");
  const stateOf = async (port: number, members: Partial<SmtpServer>) =>
    (await transportTo(port, members).handOver(mailTo("a@example.org"))).state;
  const offering = await sink({ certificates });
  assert.equal(await stateOf(offering.port, { tls: "required", ca }), "taken");
  assert.equal(await stateOf(offering.port, { tls: "required" }), "away");
  assert.equal(await stateOf((await sink()).port, { tls: "required", ca }), "away");
  const implicit = await sink({ certificates, isImplicit: true });
  assert.equal(await stateOf(implicit.port, { tls: "implicit", ca }), "taken");
  assert.equal(await stateOf(implicit.port, { tls: "implicit" }), "away");
});

test("a mail whose recipient said no meanwhile is held back once the server waits for it", async () => {
  const { port, taken } = await sink();
  const transport = transportTo(port);
  assert.deepEqual(await transport.handOver(mailTo("a@example.org", { mayBegin: () => false })), {
    state: "not begun",
  });
  assert.equal((await transport.handOver(mailTo("b@example.org"))).state, "taken");
  assert.deepEqual(
    taken.map(({ to }) => to),
    [["b@example.org"]],
  );
});

test("a connection that the server closed meanwhile is replaced by a new one", async () => {
  const first = await startMailSink();
  const transport = transportTo(first.port);
  assert.equal((await transport.handOver(mailTo("a@example.org"))).state, "taken");
  await first.close();
  const second = await startMailSink({}, first.port);
  after(() => second.close());
  assert.equal((await transport.handOver(mailTo("b@example.org"))).state, "taken");
  assert.deepEqual(
    second.taken.map(({ to }) => to),
    [["b@example.org"]],
  );
});
