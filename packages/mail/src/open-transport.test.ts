import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { openTransport, readTransportUrl, readTransportUrls } from "./open-transport.ts";

test("a URL says how mails leave", () => {
  const server = { host: "mail.example", port: 587, tls: "required", user: "", password: "" };
  assert.deepEqual(readTransportUrl("smtp://mail.example"), { kind: "smtp", server });
  assert.deepEqual(readTransportUrl("smtp://a%40b:p%2Fw@mail.example:25?tls=off"), {
    kind: "smtp",
    server: { ...server, port: 25, tls: "off", user: "a@b", password: "p/w" },
  });
  assert.deepEqual(readTransportUrl("smtps://[::1]"), {
    kind: "smtp",
    server: { ...server, host: "::1", port: 465, tls: "implicit" },
  });
  assert.deepEqual(readTransportUrl("file:.data/mail"), { kind: "file", folder: ".data/mail" });
  assert.deepEqual(readTransportUrl("file:///var/mail"), { kind: "file", folder: "/var/mail" });
});

test("a list names transports in their order; a comma or blank that no scheme follows is part of its URL", () => {
  const read = (text: string) => {
    const urls = readTransportUrls(text);
    assert.ok(Array.isArray(urls), text);
    return urls.map((url) =>
      url.kind === "file" ? url.folder : `${url.server.password}@${url.server.host}:${url.server.port}`,
    );
  };
  assert.deepEqual(read(" smtp://u:a,b@one:25, smtps://two,file:my mail,old\nsmtp://three "), [
    ...["a,b@one:25", "@two:465", "my mail,old", "@three:587"],
  ]);
  for (const text of [
    "smtp://one,two",
    "smtp://one, two:25",
    "smtp://one:25,two",
    "smtp://one/,two",
    "smtp://one,https://secret",
    "",
  ]) {
    const urls = readTransportUrls(text);
    assert.ok("problem" in urls && !urls.problem.includes("secret"), text);
  }
});

test("the reason why a text is no such URL names nothing of it", () => {
  const texts = `secret smtp:// smtp://user:secret@ https://user:secret@host smtp://secret@host smtp://user:secret%@host
    smtp://secret:secret@host?tls=on smtps://user:secret@host?tls=off smtp://user:secret@host?secret=1 file: file://secret/x`;
  for (const text of texts.split(/\s+/)) {
    const read = readTransportUrl(text);
    assert.ok("problem" in read, text);
    assert.doesNotMatch(read.problem, /secret/, text);
  }
});

test("a folder keeps each mail whole under its message id, with its envelope", async () => {
  const folder = await temporaryFolder();
  after(folder.remove);
  const path = join(folder.path, "mail");
  const transport = openTransport({ kind: "file", folder: path });
  const mail = {
    messageId: "../01@mail.example",
    envelope: { from: "ada@mail.example", to: "a@example.org", bcc: ["b@example.org"] },
    pieces: [Buffer.from("Subject: Hello\r\n\r\nHello\r\n")],
    mayBegin: () => true,
  };
  assert.equal((await transport.handOver(mail)).state, "taken");
  assert.equal(
    (await transport.handOver({ ...mail, messageId: "02", mayBegin: () => false })).state,
    "not begun",
  );
  assert.deepEqual(await readdir(path), [".._01@mail.example.eml"]);
  assert.equal(
    await readFile(join(path, ".._01@mail.example.eml"), "utf8"),
    "X-Envelope-From: <ada@mail.example>\r\nX-Envelope-To: <a@example.org>, <b@example.org>\r\nSubject: Hello\r\n\r\nHello\r\n",
  );
});

test("a folder that cannot be written to is away", async () => {
  const transport = openTransport({ kind: "file", folder: "/dev/null/mail" });
  const envelope = { from: "a@example.org", to: "b@example.org", bcc: [] };
  const mail = { messageId: "01", envelope, pieces: [Buffer.from("")], mayBegin: () => true };
  const outcome = await transport.handOver(mail);
  assert.equal(outcome.state, "away");
  assert.doesNotMatch(JSON.stringify(outcome), /dev/);
});
