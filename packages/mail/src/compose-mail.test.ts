import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { simpleParser } from "mailparser";
import PostalMime from "postal-mime";
import { attachmentName, base64Lines } from "./attachment.ts";
import { composeMail, MailInvalid, type MailParts } from "./compose-mail.ts";
import { withoutControls } from "./header-line.ts";

const plain: MailParts = {
  messageId: "01abc@mail.example",
  date: new Date("2026-11-25T15:00:00Z"),
  from: { name: "Ada Lovelace", address: "ada@mail.example" },
  to: [{ name: "", address: "charles@example.org" }],
  subject: "Hello",
  html: "<p>Hello</p>",
  text: "Hello",
  headers: [],
  attachments: [],
};

const HOSTILE = [
  "x\r\nBcc: evil@example.org",
  "x\nBcc: evil@example.org\n\nbody",
  "x\rBcc: evil@example.org",
  "x\u2028Bcc: evil@example.org",
  "x\u0085Bcc: evil@example.org",
  "x\0\x0b\x0cBcc: evil@example.org",
  '"\\", <evil@example.org>, "',
  "=?UTF-8?Q?=0D=0ABcc:_evil@example.org?=",
  "=?UTF-8?B?Zm9v?= =?UTF-8?B?YmFy?=",
  "w".repeat(2_000),
  "ü".repeat(2_000),
  "👩‍💻 ".repeat(300),
  `"${"\\".repeat(900)}"`,
];
const value = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: "grapheme", maxLength: 120 }),
  fc.string({ unit: "binary", maxLength: 120 }),
);
const LINES = [
  ".",
  "..",
  "From x",
  "\r.\r",
  "\n.\n",
  "\r\n.\r\n",
  "\r",
  "\n",
  "\0",
  "=20",
  "w".repeat(2_000),
];
const body = fc.oneof(
  fc.constant(""),
  fc
    .array(fc.oneof(value, fc.constantFrom(...LINES)), { minLength: 1, maxLength: 12 })
    .map((lines) => lines.join("\n")),
);
const mailbox = (address: string) => fc.record({ name: value, address: fc.constant(address) });
const parts: fc.Arbitrary<MailParts> = fc.record({
  messageId: fc.constant(plain.messageId),
  date: fc.constant(plain.date),
  from: mailbox("ada@mail.example"),
  replyTo: mailbox("desk@mail.example"),
  to: fc.array(mailbox("charles@example.org"), { minLength: 1, maxLength: 3 }),
  subject: value,
  html: body,
  text: body,
  headers: fc.array(
    fc.tuple(fc.oneof(fc.constantFrom("X-One", "bcc", "Content-Type", "X Y", "X:"), value), value),
    {
      maxLength: 3,
    },
  ),
  attachments: fc.array(
    fc.record({
      name: value,
      type: fc.oneof(fc.constantFrom("text/csv", "message/rfc822", "image/png"), value),
      bytes: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    }),
    { maxLength: 3 },
  ),
});

test("a composed mail parses back to its parts, whatever their values are", async () => {
  const property = fc.asyncProperty(parts, async (mail) => {
    const bytes = await composed(mail);
    assertWireFormat(bytes);
    await assertMailparserReads(bytes, mail);
    await assertPostalMimeReads(bytes, mail);
  });
  await fc.assert(property, { seed: 20_261_125, numRuns: 150 });
});

/** RFC 5322, 2.1.1, and RFC 5321, 2.3.8. */
function assertWireFormat(bytes: Buffer): void {
  const lines = bytes.toString("latin1").split("\r\n");
  assert.equal(lines.at(-1), "");
  for (const line of lines) {
    assert.ok(line.length <= 998, `a line of ${line.length} octets`);
    assert.doesNotMatch(line, /[\r\n\0]/);
  }
}

async function assertMailparserReads(bytes: Buffer, mail: MailParts): Promise<void> {
  const read = await simpleParser(bytes, { skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true });
  assert.equal(read.headers.has("bcc"), false);
  assert.equal(read.messageId, `<${mail.messageId}>`);
  assert.deepEqual(read.date, mail.date);
  assert.equal(squeezed(read.subject), squeezed(mail.subject));
  assert.deepEqual(
    [read.from, read.to, read.replyTo].map((list) => (list && "value" in list ? list.value.length : 0)),
    [1, mail.to.length, 1],
  );
  if (mail.text.trim() !== "") assert.equal(bodyOf(read.text), bodyOf(mail.text));
  if (mail.html.trim() !== "") assert.equal(bodyOf(read.html || ""), bodyOf(mail.html));
  assert.deepEqual(
    read.attachments.map(({ content }) => content.toString("hex")),
    mail.attachments.map((attachment) => ("bytes" in attachment ? attachment.bytes.toString("hex") : "")),
  );
}

async function assertPostalMimeReads(bytes: Buffer, mail: MailParts): Promise<void> {
  const read = await PostalMime.parse(bytes, { attachmentEncoding: "arraybuffer" });
  assert.equal(read.bcc, undefined);
  assert.equal(squeezed(read.subject), squeezed(mail.subject));
  assert.deepEqual(
    [read.from?.address, read.to?.map(({ address }) => address), read.replyTo?.map(({ address }) => address)],
    [mail.from.address, mail.to.map(({ address }) => address), [mail.replyTo?.address]],
  );
  assert.equal(squeezed(read.from?.name), squeezed(mail.from.name));
  assert.equal(squeezed(read.to?.[0]?.name), squeezed(mail.to[0]?.name));
  if (mail.text.trim() !== "") assert.equal(bodyOf(read.text), bodyOf(mail.text));
  if (mail.html.trim() !== "") assert.equal(bodyOf(read.html), bodyOf(mail.html));
  const shown = mail.headers.filter(([name, text]) => name === "X-One" && withoutControls(text) !== "");
  assert.equal(read.headers.filter(({ key }) => key === "x-one").length, shown.length);
  assert.deepEqual(
    read.attachments.map(({ filename }) => squeezed(filename ?? "")),
    mail.attachments.map(({ name }) => squeezed(attachmentName(name))),
  );
}

/** Readers treat a run of spaces in a header as one, and leave out those at its ends. */
function squeezed(text = ""): string {
  return withoutControls(text).replace(/\s+/g, " ").trim();
}

/** A body as it arrives: every line end is the same, and the last one may be added. */
function bodyOf(text = ""): string {
  return text
    .toWellFormed()
    .replace(/\r\n|\r|\n/g, "\n")
    .replace(/\n+$/, "");
}

test("a mail of one body has no multipart, and both bodies are alternatives within mixed", async () => {
  const types = async (mail: Partial<MailParts>) => {
    const bytes = await composed({ ...plain, ...mail });
    return [...bytes.toString().matchAll(/^Content-Type: ([\w/]+)/gm)].map(([, type]) => type);
  };
  const attachments = [{ name: "a.txt", type: "text/plain", bytes: Buffer.from("a") }];
  assert.deepEqual(await types({ html: "" }), ["text/plain"]);
  assert.deepEqual(await types({ text: " " }), ["text/html"]);
  assert.deepEqual(await types({}), ["multipart/alternative", "text/plain", "text/html"]);
  assert.deepEqual(await types({ attachments }), [
    "multipart/mixed",
    "multipart/alternative",
    "text/plain",
    "text/html",
    "text/plain",
  ]);
  assert.deepEqual(await types({ html: "", text: "", attachments }), [
    "multipart/mixed",
    "text/plain",
    "text/plain",
  ]);
});

test("a header that the mail has of its own, or without a valid name, is left out", async () => {
  const names = ["From", "to", "CC", "Bcc", "Date", "Message-ID", "MIME-Version", "Content-Type", "Sender"];
  names.push(
    "Return-Path",
    "DKIM-Signature",
    "Received",
    "reply-to",
    "subject",
    "",
    "X Y",
    "X:",
    "Ü",
    "X\r\nBcc",
  );
  const bytes = await composed({
    ...plain,
    headers: [
      ...names.map((name): [string, string] => [name, "planted"]),
      ["X-Kept", "kept"],
      ["X-Empty", "\r\n"],
    ],
  });
  assert.equal(bytes.includes("planted"), false);
  assert.match(bytes.toString(), /\r\nX-Kept: kept\r\n/);
  assert.equal(bytes.includes("X-Empty"), false);
});

test("a domain is written in A-labels, and a local part outside of ASCII is kept", async () => {
  const to = { name: "Jürgen", address: "jürgen@müller.example" };
  const bytes = await composed({ ...plain, from: { name: "", address: "info@BÜCHER.example" }, to: [to] });
  const text = bytes.toString();
  assert.match(text, /^From: <info@xn--bcher-kva\.example>\r\n/);
  assert.match(text, /\r\nTo: =\?UTF-8\?B\?SsO8cmdlbg==\?= <jürgen@xn--mller-kva\.example>\r\n/);
});

test("a text that is no address is refused by its field", async () => {
  const texts = [
    "",
    "x",
    "@example.org",
    "a@",
    "a@b c",
    "a@exa\r\nmple.org",
    "a>b@example.org",
    "a@b..c",
    "a@-",
  ];
  for (const address of texts) {
    await assert.rejects(composeMail({ ...plain, to: [{ name: "", address }] }), (error) => {
      assert.ok(error instanceof MailInvalid, address);
      return error.field === "to";
    });
  }
  await assert.rejects(composeMail({ ...plain, messageId: "a@b>\r\nBcc: c@d" }), MailInvalid);
  await assert.rejects(composeMail({ ...plain, date: new Date(Number.NaN) }), MailInvalid);
});

test("a local part that needs quotes is quoted, so that one recipient stays one", async () => {
  const to = { name: "", address: "a, b@evil.example, c..d@example.org" };
  const { to: read } = await PostalMime.parse(await composed({ ...plain, to: [to] }));
  assert.equal(read?.length, 1);
  assert.match(read?.[0]?.address ?? "", /@example\.org$/);
});

async function composed(mail: MailParts): Promise<Buffer> {
  return Buffer.concat(await composeMail(mail));
}

test("a file that is read in chunks is the same attachment as one that is read whole, in lines of 78 octets", async () => {
  const octets = randomBytes(150_001);
  for (const size of [100, 57, 47_880, 65_536, 200_000]) {
    const chunks = Array.from({ length: Math.ceil(octets.length / size) }, (_, index) =>
      octets.subarray(index * size, (index + 1) * size),
    );
    const lines = Buffer.concat(await base64Lines(chunks)).toString("latin1");
    assert.ok(Buffer.from(lines, "base64").equals(octets));
    assert.match(lines, /^(?:[A-Za-z0-9+/]{76}\r\n)*[A-Za-z0-9+/]{1,76}={0,2}\r\n$/);
    assert.equal(lines.length, Buffer.concat(await base64Lines([octets])).length);
  }
  assert.deepEqual(await base64Lines([]), []);
});
