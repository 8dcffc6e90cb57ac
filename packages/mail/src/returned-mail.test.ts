import assert from "node:assert/strict";
import { test } from "node:test";
import {
  complaint,
  exchangeBounce,
  eximBounce,
  gmailBounce,
  letter,
  postfixBounce,
} from "@tidings/testkit/returned-mails";
import fc from "fast-check";
import { MailUnreadable, type ReturnedMail, readReturnedMail } from "./returned-mail.ts";

const RETURNED = {
  to: "bounces+abc234@inbox.example",
  recipient: "ada@example.org",
  messageId: "0190-1@mail.example",
  fields: ["X-Tidings-Send: abc234"],
};

const read = (text: string) => readReturnedMail(Buffer.from(text, "latin1"));

async function statusesOf(text: string) {
  const mail = await read(text);
  assert.equal(mail.kind, "delivery status");
  return mail as ReturnedMail & { kind: "delivery status" };
}

test("delivery reports of Postfix, Exim, Exchange and Gmail name address, status and words of the server", async () => {
  const cases: [string, string, RegExp][] = [
    [
      postfixBounce(RETURNED),
      "5.1.1",
      /^550 5\.1\.1 <ada@example\.org>: .* unknown in virtual mailbox table$/,
    ],
    [eximBounce(RETURNED), "5.0.0", /^552 5\.2\.2 mailbox full$/],
    [
      exchangeBounce(RETURNED),
      "5.7.133",
      /^550 5\.7\.133 RESOLVER\.RST\.SenderNotAuthenticated ; not allowed$/,
    ],
    [gmailBounce(RETURNED), "5.1.1", /^550-5\.1\.1 The email .* 550 5\.1\.1 NoSuchUser$/],
  ];
  for (const [text, status, diagnostic] of cases) {
    const { statuses, recipients, original } = await statusesOf(text);
    assert.equal(statuses.length, 1);
    assert.deepEqual(
      { ...statuses[0], diagnostic: "" },
      { action: "failed", address: "ada@example.org", status, diagnostic: "" },
    );
    assert.match(statuses[0]?.diagnostic ?? "", diagnostic);
    assert.ok(
      recipients.some((address) => address.toLowerCase() === RETURNED.to),
      recipients.join(),
    );
    assert.equal(original.header.get("x-tidings-send"), "abc234");
    assert.equal(original.sender, RETURNED.to);
  }
});

test("a report of several recipients has the status of each, also of those that are delayed or were delivered", async () => {
  const more = [
    "",
    "Final-Recipient: utf-8; bob@example.org",
    "Action: DELAYED",
    "Status: 4.4.1",
    "",
    "Action: nonsense",
    "Status: 5.1.1",
    "",
    "Final-Recipient: rfc822;<eve@example.org>",
    "Action: delivered",
    "Status: 2.0.0",
  ];
  const text = postfixBounce(RETURNED).replace("\r\nRemote-MTA", `\r\n${more.join("\r\n")}\r\nRemote-MTA`);
  const { statuses } = await statusesOf(text);
  assert.deepEqual(
    statuses.map(({ address, action, status }) => [address, action, status]),
    [
      ["ada@example.org", "failed", "5.1.1"],
      ["bob@example.org", "delayed", "4.4.1"],
      ["eve@example.org", "delivered", "2.0.0"],
    ],
  );
});

test("a complaint names its type and the header of the mail that it is about", async () => {
  const mail = await read(complaint(RETURNED, "bounces@inbox.example", "Abuse"));
  assert.equal(mail.kind, "feedback");
  assert.equal(mail.kind === "feedback" && mail.type, "abuse");
  assert.equal(mail.kind === "feedback" && mail.original.header.get("x-tidings-send"), "abc234");
});

test("an answer of a machine is automatic, and one of a person is personal", async () => {
  const answer = "In-Reply-To: <0190-1@mail.example>";
  const automatic = [
    "Auto-Submitted: auto-replied (vacation)",
    "Auto-Submitted: auto-generated",
    "Precedence: bulk",
    "Precedence: auto_reply",
    "X-Auto-Response-Suppress: All",
    "X-Auto-Response-Suppress: DR, OOF, AutoReply",
    "X-Autoreply: yes",
    "Return-Path: <>",
    "From: MAILER-DAEMON@example.org",
    "Subject: unsubscribe\r\nAuto-Submitted: auto-replied",
  ];
  for (const field of automatic) assert.equal((await read(letter([answer, field]))).kind, "automatic", field);
  for (const field of ["Auto-Submitted: no", "Precedence: first-class", "Return-Path: <ada@example.org>"])
    assert.equal((await read(letter([answer, field]))).kind, "personal", field);
  for (const subject of ["unsubscribe", "UNSUBSCRIBE "])
    assert.equal((await read(letter([`Subject: ${subject}`]))).kind, "unsubscribe");
  assert.equal((await read(letter(["Subject: Re: how to unsubscribe"]))).kind, "personal");
});

test("a reply names the mails before it, the nearest first", async () => {
  const { answered } = await read(
    letter([
      "In-Reply-To: <3@a.example> (News)",
      "References: <1@a.example>\r\n <2@a.example>\t<3@a.example> x",
    ]),
  );
  assert.deepEqual(answered, ["3@a.example", "3@a.example", "2@a.example", "1@a.example"]);
});

const NESTED = Array.from({ length: 1_000 }, (_, level) => level).reduce(
  (text, level) => `${text}--b${level}\r\nContent-Type: multipart/mixed; boundary=b${level + 1}\r\n\r\n`,
  "From: a@b.example\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b0\r\n\r\n",
);

test("a hostile mail is unreadable or has no report, within seconds", async () => {
  const report = "From: a@b.example\r\nContent-Type: multipart/report; report-type=delivery-status";
  const mails: Record<string, string> = {
    "nested 1,000 deep": NESTED,
    "without a boundary": `${report}\r\n\r\nAction: failed\r\n`,
    "with an empty boundary": `${report}; boundary=""\r\n\r\n--\r\nContent-Type: message/delivery-status\r\n\r\nAction: failed`,
    "without a status": postfixBounce(RETURNED).replace("Action: failed", "Action: constructor"),
    "cut before its report": postfixBounce(RETURNED).split("Reporting-MTA")[0] ?? "",
    empty: "",
    "that is none": "no mail at all",
    "without a header": "\r\n\r\nHello",
    "of 10 MB without a line end": "x".repeat(10_000_000),
  };
  for (const [name, text] of Object.entries(mails)) {
    const began = performance.now();
    await assert.rejects(read(text), MailUnreadable, name);
    assert.ok(performance.now() - began < 10_000, name);
  }
  const long: Record<string, string> = {
    "with 100,000 fields": `${"X: y\r\n".repeat(100_000)}\r\n`,
    "with a field of 2 MB": `To: ${"<".repeat(2_000_000)}\r\n\r\n`,
    "with 300,000 references": `References: ${"<a@b> ".repeat(300_000)}\r\n\r\n`,
    "with 50,000 recipients": postfixBounce(RETURNED).replace(
      "\r\nRemote-MTA",
      `${"\r\n\r\nAction: failed\r\nFinal-Recipient: rfc822;x@y".repeat(50_000)}\r\nRemote-MTA`,
    ),
    "with 5 MB of HTML": exchangeBounce(RETURNED).replace("Undeliverable</p>", "<a <b &amp;".repeat(500_000)),
  };
  for (const [name, text] of Object.entries(long)) {
    const began = performance.now();
    const mail = await read(text.slice(0, 262_144)).catch((error: unknown) => error);
    assert.ok(mail instanceof MailUnreadable || (mail && "kind" in Object(mail)), name);
    assert.ok(performance.now() - began < 10_000, name);
  }
});

test("any change of a report gives a reading or MailUnreadable, and nothing else", async () => {
  const texts = [postfixBounce, eximBounce, exchangeBounce, gmailBounce].map((write) => write(RETURNED));
  texts.push(complaint(RETURNED, "bounces@inbox.example"));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...texts),
      fc.nat(1_500),
      fc.nat(400),
      fc.string({ unit: "binary", maxLength: 40 }),
      async (text, at, length, put) => {
        const changed = Buffer.from(text.slice(0, at) + put + text.slice(at + length));
        const mail = await readReturnedMail(changed).catch((error: unknown) => error);
        assert.ok(mail instanceof MailUnreadable || (mail && "kind" in Object(mail)));
      },
    ),
    { numRuns: 300 },
  );
});
