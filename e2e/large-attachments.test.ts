import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { TakenMail } from "@tidings/testkit/mail-sink";
import { simpleParser } from "mailparser";
import { startMailingStack } from "./mailing-stack.ts";
import { newsletterTo, segmentOf } from "./newsletters.ts";
import { uploader } from "./uploader.ts";

/** A mail with a file near the limit, to many. */

const MEGABYTE = 1024 * 1024;
const BYTES = 20 * MEGABYTE;
const RECIPIENTS = 50;
/** The lines of base64 of the file are held once, and the file never whole. */
const GROWN_BYTES_MAX = 80 * MEGABYTE;

const sha256 = (octets: Buffer | string) => createHash("sha256").update(octets).digest("hex");
const seen = { whole: undefined as Buffer | undefined, bodies: new Set<string>(), mails: 0 };
/** Keeps one mail, and of the others what their attachment is: together they are larger than the memory of a test. */
function lookAt(mail: TakenMail): undefined {
  seen.mails += 1;
  const [, body = ""] = mail.octets.split(/filename=large\.txt\r\n(?:[^\r]+\r\n)*\r\n/);
  seen.bodies.add(sha256(body.slice(0, body.indexOf("--"))));
  seen.whole ??= Buffer.from(mail.octets, "latin1");
  mail.octets = "";
}

const stack = await startMailingStack({
  hasOwnHost: true,
  content: { MAIL_CONNECTIONS: "4", UPLOAD_BYTES_MAX: String(BYTES) },
  server: { onMail: lookAt },
});
const { api, baseUrl, made } = stack;

/** The greatest resident memory of the content process since it was last asked. */
function peak(): number {
  const { pid } = stack.process("content");
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  // 5: the peak begins anew (proc(5), clear_refs).
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return Number(kilobytes) * 1_024;
}

test("a file of 20 MB goes with 50 mails whole, and is held in memory once", async () => {
  const content = Buffer.from(randomBytes((BYTES / 4) * 3).toString("base64"));
  const { name: file } = await uploader(baseUrl).file("assets", "large.txt", content);
  const { asset } = await made("assets/new", {
    ...{ title: "large", storageLocation: "local", file, isPublished: true },
  });
  const { id } = await segmentOf(
    stack,
    Array.from({ length: RECIPIENTS }, (_, index) => `large-${index}@example.org`),
  );
  const send = async (emailId: number) => {
    const answer = await api("POST", `emails/${emailId}/send`, {});
    assert.equal(answer.status, 200, answer.text);
  };
  await send(await newsletterTo(stack, [id]));
  peak();
  const before = peak();
  seen.whole = undefined;
  seen.bodies.clear();
  seen.mails = 0;
  const emailId = await newsletterTo(stack, [id], { assetAttachments: [asset.id] });
  await send(emailId);
  await eventually(
    async () => {
      const { body } = await api("GET", `emails/${emailId}/sends`);
      const [last] = (body as unknown as { sends: { state: string; sent: number }[] }).sends;
      assert.deepEqual([last?.state, last?.sent], ["finished", RECIPIENTS]);
    },
    { timeoutMs: 120_000, intervalMs: 500 },
  );
  const grown = peak() - before;
  assert.equal(seen.mails, RECIPIENTS);
  assert.equal(seen.bodies.size, 1, "all mails have the same attachment");
  const { attachments } = await simpleParser(seen.whole ?? "");
  assert.deepEqual(
    attachments.map((attached) => [attached.filename, sha256(attached.content)]),
    [["large.txt", sha256(content)]],
  );
  assert.ok(grown < GROWN_BYTES_MAX, `${Math.round(grown / MEGABYTE)} MB`);
});
