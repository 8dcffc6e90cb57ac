import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { startMailSink } from "@tidings/testkit/mail-sink";
import fc from "fast-check";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { composeMail, type MailParts } from "./compose-mail.ts";
import { type DkimKey, readDkimKeys } from "./dkim.ts";
import { smtpTransport } from "./smtp-transport.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const ed25519 = generateKeyPairSync("ed25519");
const base64 = (key: KeyObject) => key.export({ format: "der", type: "pkcs8" }).toString("base64");
const RSA = base64(rsa.privateKey);
const ED25519 = base64(ed25519.privateKey);
const BOTH = keysIn(`mail.example:r1:${RSA}`, `mail.example:e1.new:${ED25519}`);

/** The records in DNS, as docs/sending.md has their owner write them. */
const spki = (key: KeyObject) => key.export({ format: "der", type: "spki" });
const RECORDS: Record<string, string> = {
  "r1._domainkey.mail.example": `v=DKIM1; k=rsa; p=${spki(rsa.publicKey).toString("base64")}`,
  "e1.new._domainkey.mail.example": `v=DKIM1; k=ed25519; p=${spki(ed25519.publicKey).subarray(-32).toString("base64")}`,
};

const mail: MailParts = {
  messageId: "01abc@mail.example",
  date: new Date("2026-11-25T15:00:00Z"),
  from: { name: "Zoë", address: "news@mail.example" },
  replyTo: { name: "", address: "desk@mail.example" },
  to: [{ name: "Charles", address: "charles@example.org" }],
  cc: [{ name: "", address: "ada@example.org" }],
  subject: "Hello   Charles, there is news that is longer than one line of a header, and is folded",
  html: "<p>Hello</p>",
  text: ".\n..  \nHello \t Charles\n\n\n",
  headers: [
    ["X-Other", "1"],
    ["Precedence", "Bulk"],
    ["List-ID", "<email-1.mail.example>"],
    ["List-Unsubscribe", `<https://mail.example/email/unsubscribe/${"a".repeat(120)}>`],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
    ["Feedback-ID", "1:email:mail.example"],
  ],
  attachments: [{ name: "a.txt", type: "text/plain", bytes: Buffer.from("a\n\n") }],
};

function keysIn(...items: string[]): DkimKey[] {
  const keys = readDkimKeys(items);
  assert.ok(!("problem" in keys));
  return keys;
}

/** The outcome of each signature, as a receiver finds it. */
async function verified(octets: Buffer | string) {
  const { results } = await dkimVerify(Buffer.isBuffer(octets) ? octets : Buffer.from(octets, "latin1"), {
    strict: true,
    resolver: async (name) => [[RECORDS[name] ?? ""]],
  });
  return results.map(
    ({ signingDomain, selector, status }) => `${selector} ${signingDomain} ${status.result}`,
  );
}
const PASSED = ["r1 mail.example pass", "e1.new mail.example pass"];

test("mails that a mail server took verify by each key of their sender's domain", async () => {
  const sink = await startMailSink();
  after(() => sink.close());
  const server = { host: "127.0.0.1", port: sink.port, tls: "off", user: "", password: "" } as const;
  const transport = smtpTransport(server);
  after(() => transport.close());
  const pieces = await composeMail(mail, BOTH);
  const { state } = await transport.handOver({
    ...{ messageId: mail.messageId, pieces, mayBegin: () => true },
    envelope: { from: "bounces@mail.example", to: "charles@example.org", bcc: [] },
  });
  assert.equal(state, "taken");
  assert.deepEqual(await verified(sink.taken[0]?.octets ?? ""), PASSED);
});

test("mails share the octets of a large attachment, which arrive unchanged, and verify", async () => {
  const sink = await startMailSink();
  after(() => sink.close());
  const server = { host: "127.0.0.1", port: sink.port, tls: "off", user: "", password: "" } as const;
  const transport = smtpTransport(server);
  after(() => transport.close());
  const attachments = [
    { name: "ünder the\tbridge.bin", type: "application/x-two blanks", bytes: randomBytes(3_000_000) },
  ];
  const mails = await Promise.all(
    ["one", "two"].map((text) => composeMail({ ...mail, text, attachments }, BOTH)),
  );
  const [one = [], two = []] = mails;
  const shared = one.filter((piece) => two.includes(piece)).reduce((sum, { length }) => sum + length, 0);
  assert.ok(shared > 4_000_000, `${shared} octets are shared`);
  for (const pieces of mails) {
    const { state } = await transport.handOver({
      ...{ messageId: mail.messageId, pieces, mayBegin: () => true },
      envelope: { from: "bounces@mail.example", to: "charles@example.org", bcc: [] },
    });
    assert.equal(state, "taken");
  }
  for (const [index, { octets }] of sink.taken.entries()) {
    assert.equal(octets, Buffer.concat(mails[index] ?? []).toString("latin1"));
    assert.deepEqual(await verified(octets), PASSED);
  }
});

test("every mail that can be written verifies, whatever its values are", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc
      .array(fc.constantFrom(" ", "\t", "\r\n", "\n", "\r", ".", "a", "ü"), { maxLength: 60 })
      .map((all) => all.join("")),
  );
  const property = fc.asyncProperty(text, text, text, text, async (subject, html, body, name) => {
    const attachments = [{ name, type: "text/plain", bytes: Buffer.from(body) }];
    const octets = await composed({ ...mail, subject, html, text: body, attachments }, BOTH);
    assert.deepEqual(await verified(octets), PASSED);
  });
  await fc.assert(property, { seed: 20_261_125, numRuns: 100 });
});

test("a covered header that is changed, removed or added, and a changed body, break the signature", async () => {
  const octets = (await composed(mail, BOTH)).toString("latin1");
  const names =
    `From To Cc Reply-To Subject Date Message-ID MIME-Version Content-Type List-ID List-Unsubscribe
    List-Unsubscribe-Post Precedence Feedback-ID`.split(/\s+/);
  const broken = async (changed: string, what: string) => {
    assert.notEqual(changed, octets, what);
    for (const result of await verified(changed)) assert.doesNotMatch(result, / pass$/, what);
  };
  for (const name of names) {
    const field = new RegExp(`^${name}:.*\r\n(?:[ \t].*\r\n)*`, "im");
    await broken(
      octets.replace(field, (line) => line.replace(": ", ": x")),
      `${name} changed`,
    );
    await broken(octets.replace(field, ""), `${name} removed`);
    await broken(
      octets.replace(field, (line) => `${name}: x\r\n${line}`),
      `${name} added`,
    );
  }
  await broken(octets.replace("<p>Hello</p>", "<p>Hullo</p>"), "the body");
  const relayed = `Received: by relay.example\r\n${octets.replace("X-Other: 1", "X-Other: 2")}\r\n\r\n`;
  assert.deepEqual(await verified(relayed), PASSED);
});

test("the keys of the nearest domain sign, and a mail of another domain is not signed", async () => {
  const keys = keysIn(
    `example.com:up:${ED25519}`,
    `news.example.com:near:${ED25519}`,
    `bücher.example:b:${ED25519}`,
  );
  const signers = async (address: string) => {
    const octets = await composed({ ...mail, from: { name: "", address } }, keys);
    return [...octets.toString().matchAll(/\bd=(\S+);\s+s=(\S+);/g)].map(
      ([, domain, selector]) => `${selector} ${domain}`,
    );
  };
  assert.deepEqual(await signers("a@example.com"), ["up example.com"]);
  assert.deepEqual(await signers("a@shop.EXAMPLE.com"), ["up example.com"]);
  assert.deepEqual(await signers("a@eu.news.example.com"), ["near news.example.com"]);
  assert.deepEqual(await signers("a@BÜCHER.example"), ["b xn--bcher-kva.example"]);
  assert.deepEqual(await signers("a@badexample.com"), []);
});

test("a key is a PEM file or the base64 of it, and the reason why a text is no key names nothing of it", () => {
  const pem = rsa.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  assert.ok(keysIn(`mail.example:r1:${pem}`)[0]?.key.equals(rsa.privateKey));
  assert.ok(keysIn(`mail.example:r1:${RSA}`)[0]?.key.equals(rsa.privateKey));
  const ec = base64(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
  const short = base64(generateKeyPairSync("rsa", { modulusLength: 512 }).privateKey);
  const reasons: [string, RegExp][] = [
    [ED25519, /domain:selector:key/],
    [`mail.example:${ED25519}`, /domain:selector:key/],
    [`a..b:s:${ED25519}`, /domain/],
    [`mail.example:s; d=x:${ED25519}`, /selector/],
    [`mail.example:s:${ED25519.slice(4)}`, /PKCS 8/],
    [`mail.example:s:${pem.replaceAll("PRIVATE", "PUBLIC").slice(0, 200)}`, /PKCS 8/],
    [`mail.example:s:${ec}`, /neither RSA nor Ed25519/],
    [`mail.example:s:${short}`, /1024 bits/],
  ];
  for (const [text, reason] of reasons) {
    const read = readDkimKeys([`mail.example:r1:${RSA}`, text]);
    assert.ok("problem" in read, text);
    assert.match(read.problem, reason);
    assert.match(read.problem, /^entry 2 /);
    assert.doesNotMatch(read.problem, /MII|MC4/);
  }
});

async function composed(...mail: Parameters<typeof composeMail>): Promise<Buffer> {
  return Buffer.concat(await composeMail(...mail));
}
