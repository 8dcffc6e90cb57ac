import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startMailingStack } from "./mailing-stack.ts";
import { type SentMail, sendToReader } from "./sent-mail.ts";
import { ONE_CLICK } from "./unsubscribe-link.ts";
import { visitor } from "./visitor.ts";

/** Unsubscribing while other parts are away: it holds here at once, and the contact service learns of it later. */

/** The secret key of the product that sent before. */
const FORMER_SECRET = "5d0c1a7e9b3f4c62a8e1d7b0c9f35e24";
const stack = await startMailingStack({
  hasOwnHost: true,
  content: { FORMER_UNSUBSCRIBE_SECRETS: FORMER_SECRET },
});
const { api, baseUrl, publicUrl, made, query, sink } = stack;
const browser = visitor(baseUrl, { host: new URL(publicUrl).host });
/** On a machine with other work; the page alone takes milliseconds. */
const ANSWERED_MS = 1_000;
const LATER = { timeoutMs: 40_000, intervalMs: 200 };

const { email } = await made("emails/new", {
  ...{ name: "News", subject: "News", emailType: "template", isPublished: true },
  customHtml: '<html><body><a href="{unsubscribe_url}">Leave</a></body></html>',
});
const mailed = () => sendToReader(stack, sink, email.id);

/** Posts to the link as a button of the page does, or as a mail program does (RFC 8058). */
async function unsubscribe({ unsubscribe }: SentMail, body = ""): Promise<void> {
  const beganAt = performance.now();
  const { status, text, headers } = await browser.ask(unsubscribe, { method: "POST", body });
  const tookMs = performance.now() - beganAt;
  assert.deepEqual([status, /You are unsubscribed/.test(text)], [200, true]);
  assert.deepEqual([headers.location, headers["set-cookie"]], [undefined, undefined]);
  assert.ok(tookMs < ANSWERED_MS, `${Math.round(tookMs)} ms`);
}

const isRefusedHere = async ({ contactId }: SentMail) =>
  (
    await query(
      `select reason from content.send_refusals where contact_id = ${contactId} and channel = 'email'`,
    )
  ).map(({ reason }) => Number(reason));
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
const doNotContact = async ({ contactId }: SentMail): Promise<any[]> =>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it knows to be there
  ((await api("GET", `contacts/${contactId}`)).body as any).contact.doNotContact;

for (const [away, begin, end] of [
  [
    "the contact service",
    () => stack.process("contact").kill("SIGKILL"),
    () => stack.process("contact").restart(),
  ],
  ["NATS", () => stack.nats.kill(), () => stack.nats.start()],
] as const)
  test(`while ${away} is away POST of an unsubscribe link holds at once, and the contact service learns of it later`, async () => {
    const readers = [await mailed(), await mailed(), await mailed()] as const;
    const [pressed, byProgram, gone] = readers;
    await query(`delete from content.sends where contact_id = ${gone.contactId}`);
    await begin();
    try {
      await unsubscribe(pressed);
      await unsubscribe(pressed);
      await unsubscribe(byProgram, ONE_CLICK);
      await unsubscribe(gone);
      for (const reader of readers) assert.deepEqual(await isRefusedHere(reader), [1]);
    } finally {
      await end();
    }
    for (const reader of readers) {
      const { body } = await api("POST", `emails/${email.id}/contact/${reader.contactId}/send`);
      assert.deepEqual(body, { success: false, failed: "Contact has requested to not be emailed." });
      assert.equal(sink.taken.filter(({ to }) => to.includes(reader.address)).length, 1);
      await eventually(async () => {
        const [said, ...more] = await doNotContact(reader);
        assert.deepEqual(more, []);
        assert.deepEqual([said?.channel, said?.reason, said?.channelId], ["email", 1, email.id]);
      }, LATER);
    }
  });

test("an unsubscribe link whose signature was changed is an unknown address, for GET and POST", async () => {
  const { unsubscribe: path, ...reader } = await mailed();
  const forged = path.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  for (const method of ["GET", "POST"])
    assert.equal(
      (await browser.ask(forged, { method, ...(method === "POST" && { body: ONE_CLICK }) })).status,
      404,
    );
  assert.deepEqual(await isRefusedHere({ ...reader, unsubscribe: path }), []);
});

test("an unsubscribe link of the product that sent before works for the contact with its address, and for one that comes later", async () => {
  const formerLink = (address: string) => {
    const mac = createHmac("sha256", FORMER_SECRET).update(address).digest("hex");
    return `/email/unsubscribe/5f1d7a0b21c34/${encodeURIComponent(address)}/${mac}`;
  };
  const reader = await mailed();
  const link = formerLink(reader.address);
  const shown = await browser.ask(link);
  assert.deepEqual([shown.status, shown.text.includes(`action="${link}"`)], [200, true]);
  assert.deepEqual(await doNotContact(reader), []);
  await stack.process("contact").kill("SIGKILL");
  try {
    for (let times = 0; times < 2; times += 1)
      await unsubscribe({ ...reader, unsubscribe: link }, times === 0 ? "" : ONE_CLICK);
  } finally {
    await stack.process("contact").restart();
  }
  const { body } = await api("POST", `emails/${email.id}/contact/${reader.contactId}/send`);
  assert.deepEqual(body, { success: false, failed: "Contact has requested to not be emailed." });
  await eventually(async () => {
    const [said, ...more] = await doNotContact(reader);
    assert.deepEqual([said?.channel, said?.reason, more], ["email", 1, []]);
  }, LATER);
  await unsubscribe({ ...reader, unsubscribe: formerLink("not-yet@example.org") });
  await eventually(async () => {
    const kept = await query("select from contact.suppressions");
    assert.equal(kept.length, 1);
  }, LATER);
  const { contact: later } = await made("contacts/new", { email: "Not-Yet@example.org" });
  assert.equal((await doNotContact({ ...reader, contactId: later.id })).length, 1);
  // The address goes once the contact service has it.
  await eventually(async () => {
    const kept = await query(
      "select kind as one from content.jobs where kind = 'address_refusal' union all select channel from content.refused_addresses where contact_id = 0",
    );
    assert.deepEqual(kept, []);
  }, LATER);
});

test("a link of the product that sent before whose address or signature was changed is an unknown address", async () => {
  const mac = createHmac("sha256", FORMER_SECRET).update("ada@example.org").digest("hex");
  for (const path of [
    `/email/unsubscribe/1/grace%40example.org/${mac}`,
    `/email/unsubscribe/1/ada%40example.org/${mac.replace(/.$/, (last) => (last === "0" ? "1" : "0"))}`,
    `/email/resubscribe/1/ada%40example.org/${mac}`,
    "/email/unsubscribe/1/ada%40example.org/0",
  ])
    for (const method of ["GET", "POST"])
      assert.equal((await browser.ask(path, { method })).status, 404, `${method} ${path}`);
});
