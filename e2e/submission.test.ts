import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { createAuthority } from "@tidings/testkit/certificates";
import { eventually } from "@tidings/testkit/eventually";
import { isWithoutSubmission, startImapServer } from "@tidings/testkit/imap-server";
import { startMailSink } from "@tidings/testkit/mail-sink";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { simpleParser } from "mailparser";
import { PDF } from "./multipart.ts";
import { uploader } from "./uploader.ts";
import { startVisitedStack } from "./visited-stack.ts";

/** Mails that are submitted to a real mail server: Dovecot's submission service, which gives them to a mail server that keeps them. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
type Any = any;

const skip = isWithoutSubmission();

async function start(signIn: string) {
  const folder = await temporaryFolder();
  const authority = await createAuthority(folder.path);
  const certificates = await authority.issue("submission", ["127.0.0.1"]);
  const sink = await startMailSink();
  const server = await startImapServer({ certificates, password: "secret", relayPort: sink.port });
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const key = privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
  const stack = await startVisitedStack({
    env: {
      content: {
        MAIL_URL: `smtp://${signIn}@127.0.0.1:${server.submissionPort}`,
        MAIL_FROM: "Shop <shop@mail.example>",
        MAIL_DKIM_KEYS: `mail.example:s1:${key}`,
        NODE_EXTRA_CA_CERTS: authority.caFile,
      },
    },
  });
  after(async () => {
    await stack.stop();
    await server.close();
    await sink.close();
    await folder.remove();
  });
  return { sink, stack, publicKey: publicKey.export({ format: "der", type: "spki" }).toString("base64") };
}

test("a mail with an attachment is submitted with STARTTLS and a sign-in, arrives byte for byte, and its signature holds", {
  skip,
}, async (t) => {
  const { sink, stack, publicKey } = await start("ada:secret");
  const { api, made, baseUrl } = stack;
  // Lines of any length and every octet, beside lines that begin with a dot.
  const content = Buffer.concat([PDF, Buffer.from("\r\n.\r\n..\n"), randomBytes(200_000)]);
  const { name: file } = await uploader(baseUrl).file("assets", "guide.pdf", content);
  const { asset } = await made("assets/new", {
    title: "Guide",
    storageLocation: "local",
    file,
    isPublished: true,
  });
  const { email } = await made("emails/new", {
    ...{ name: "Guide", subject: "Grüße für {contactfield=firstname}", emailType: "template" },
    ...{ customHtml: "<p>.</p>\n.\n<p>Grüße</p>", assetAttachments: [asset.id] },
  });
  const sendTo = async (address: string): Promise<Any> => {
    const { contact } = await made("contacts/new", { email: address, firstname: "Zoë" });
    return made(`emails/${email.id}/contact/${contact.id}/send`, {});
  };

  await t.test("as it was written", async () => {
    assert.deepEqual(await sendTo("ada@example.org"), { success: 1 });
    const [mail] = sink.taken.filter(({ to }) => to.includes("ada@example.org"));
    const octets = Buffer.from(mail?.octets ?? "", "latin1");
    const { subject, attachments } = await simpleParser(octets);
    const hash = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    assert.equal(subject, "Grüße für Zoë");
    assert.deepEqual(
      attachments.map(({ filename, content: got }) => [filename, hash(got)]),
      [["Guide.pdf", hash(content)]],
    );
    const { results } = await dkimVerify(octets, {
      strict: true,
      resolver: async () => [[`v=DKIM1; k=rsa; p=${publicKey}`]],
    });
    assert.deepEqual(
      results.map(({ signingDomain, status }) => [signingDomain, status.result]),
      [["mail.example", "pass"]],
    );
  });

  await t.test(
    "an address that the server cannot take fails with the reason, and nobody else does",
    async () => {
      // Dovecot does not offer SMTPUTF8.
      const { success, failed } = await sendTo("zoë@example.org");
      assert.equal(success, false);
      assert.match(failed, /SMTPUTF8/);
      assert.deepEqual(await sendTo("grace@xn--bcher-kva.example"), { success: 1 });
      // The mail server shows the domain in its own letters.
      assert.ok(sink.taken.some(({ to }) => to[0]?.startsWith("grace@")));
      assert.equal((await api("GET", "contacts?limit=1")).status, 200);
    },
  );
});

test("a sign-in that the server refuses holds mails back with its reason, while the process stays ready", {
  skip,
}, async () => {
  const { sink, stack } = await start("ada:wrong");
  const { api, made } = stack;
  const { list } = await made("segments/new", { name: "Readers" });
  const { contact } = await made("contacts/new", { email: "ada@example.org" });
  await made(`segments/${list.id}/contact/${contact.id}/add`, {});
  const { email } = await made("emails/new", {
    ...{ name: "News", subject: "News", emailType: "list", isPublished: true, lists: [list.id] },
    customHtml: "<p>Hello</p>",
  });
  const sending = made(`emails/${email.id}/send`, {});
  const send = await eventually(async () => {
    const [send] = ((await api("GET", `emails/${email.id}/sends`)).body as Any).sends;
    assert.ok(send?.lastError);
    return send;
  });
  assert.deepEqual([send.state, send.deferred, send.sent, send.failed], ["sending", 1, 0, 0]);
  assert.match(send.lastError, /535|authentication/i);
  assert.equal(
    (await fetch(`http://127.0.0.1:${await stack.lines.port("content", "ops")}/readyz`)).status,
    200,
  );
  const { queuedCount } = await sending;
  assert.equal(queuedCount, 1);
  assert.deepEqual(sink.taken, []);
});
