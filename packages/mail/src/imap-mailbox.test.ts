import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { createAuthority } from "@tidings/testkit/certificates";
import { isWithoutDovecot, startImapServer } from "@tidings/testkit/imap-server";
import { letter } from "@tidings/testkit/returned-mails";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { InboxAway, openMailbox } from "./imap-mailbox.ts";
import { readInboxUrl } from "./inbox-url.ts";

const skip = isWithoutDovecot();
const folder = await temporaryFolder();
after(folder.remove);
const authority = await createAuthority(folder.path);
const ca = await readFile(authority.caFile, "utf8");
const certificates = await authority.issue("imap", ["127.0.0.1"]);

async function server() {
  const started = await startImapServer({ certificates, password: "p/w" });
  after(started.close);
  return started;
}

/** Tests read over each kind of line. */
async function opened(url: string, options: { ca?: string; bytesMax?: number } = {}) {
  const inbox = readInboxUrl(url);
  assert.ok(!("problem" in inbox));
  const mailbox = await openMailbox(inbox, { ca, bytesMax: 10_000, ...options });
  after(mailbox.close);
  return mailbox;
}

test("mails are read oldest first, over each kind of line, until they are marked", { skip }, async () => {
  const { port, plainPort, tlsPort, deliver, stored } = await server();
  for (const subject of ["1", "2", "3"]) {
    await deliver(letter([`Subject: ${subject}`]));
    // Maildir has no order within a second but that in which the server first saw mails.
    await (await opened(`imaps://u:p%2Fw@127.0.0.1:${tlsPort}`)).next(1);
  }
  const urls = [
    `imaps://u:p%2Fw@127.0.0.1:${tlsPort}/INBOX`,
    `imap://u:p%2Fw@127.0.0.1:${port}`,
    `imap://u:p%2Fw@127.0.0.2:${plainPort}?tls=off`,
  ];
  for (const [index, url] of urls.entries()) {
    const mailbox = await opened(url);
    const [mail] = await mailbox.next(1);
    assert.ok(mail);
    assert.match(mail.octets.toString(), new RegExp(`^Subject: ${index + 1}\r$`, "m"));
    assert.ok(Math.abs(mail.receivedAt - Date.now()) < 60_000);
    await mailbox.mark([{ uid: mail.uid, isSeen: index === 0, isFlagged: index === 2 }]);
  }
  const last = await opened(urls[0] ?? "");
  assert.deepEqual(await last.next(10), []);
  const flags = (await stored()).map((mail) => [/Subject: (\d)/.exec(mail.text)?.[1], mail.flags]);
  assert.deepEqual(Object.fromEntries(flags), { 1: "Sa", 2: "a", 3: "Fa" });
});

test("a long mail is read by its first octets", { skip }, async () => {
  const { tlsPort, deliver } = await server();
  await deliver(letter(["Subject: long"], "x\r\n".repeat(5_000_000)));
  const [mail] = await (await opened(`imaps://u:p%2Fw@127.0.0.1:${tlsPort}`)).next(10);
  assert.equal(mail?.octets.length, 10_000);
});

test("an inbox that cannot be read says why, and names nothing of its URL", { skip }, async () => {
  const { port, plainPort, tlsPort } = await server();
  const cases: [string, InboxAway["reason"], string?][] = [
    [`imaps://user1:secret1@127.0.0.1:${tlsPort}`, "sign-in"],
    [`imaps://user1:p%2Fw@127.0.0.1:${tlsPort}/other1`, "folder"],
    ["imaps://user1:p%2Fw@127.0.0.1:1", "unreachable"],
    // STARTTLS is not offered.
    [`imap://user1:p%2Fw@127.0.0.2:${plainPort}`, "unreachable"],
    // No authority that is known signed the certificate.
    [`imaps://user1:p%2Fw@127.0.0.1:${tlsPort}`, "unreachable", ""],
    [`imap://user1:p%2Fw@127.0.0.1:${port}`, "unreachable", ""],
  ];
  for (const [url, reason, trusted] of cases)
    await assert.rejects(opened(url, trusted === undefined ? {} : { ca: trusted }), (error: unknown) => {
      assert.ok(error instanceof InboxAway);
      assert.equal(error.reason, reason, url);
      assert.doesNotMatch(error.message, /user1|secret1|127\.0\.0\.1/);
      return true;
    });
});

test("a URL names an inbox, or the reason why it does not, which has nothing of it", () => {
  const server = { host: "mail.example", port: 993, tls: "implicit", user: "a@b", password: "p/w" };
  assert.deepEqual(readInboxUrl("imaps://a%40b:p%2Fw@mail.example"), { server, folder: "INBOX" });
  assert.deepEqual(readInboxUrl("imap://a%40b:p%2Fw@mail.example/Re%20plies/x?tls=off"), {
    server: { ...server, port: 143, tls: "off" },
    folder: "Re plies/x",
  });
  for (const text of `secret imaps://host imaps://user@host imaps://user:secret@ https://user:secret@host imap://user:secret%@host
    imaps://user:secret@host?tls=off imap://user:secret@host?secret=1 imaps://user:secret@host/%zz imaps://user:secret@host/%0d`.split(
    /\s+/,
  )) {
    const read = readInboxUrl(text);
    assert.ok("problem" in read, text);
    assert.doesNotMatch(read.problem, /secret/, text);
  }
});
