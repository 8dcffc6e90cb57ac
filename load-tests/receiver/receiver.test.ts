import assert from "node:assert/strict";
import { after, test } from "node:test";
import { composeMail } from "@tidings/mail/compose-mail";
import { smtpTransport } from "@tidings/mail/smtp-transport";
import { startReceiverServer } from "./receiver.ts";

const receiver = await startReceiverServer({ port: 0, mailPort: 0, host: "127.0.0.1" });
after(receiver.stop);
const url = `http://127.0.0.1:${receiver.port}`;
const deliver = (body: string) => fetch(`${url}/any/path`, { method: "POST", body });
const statusOf = async (mark: string, withinMs: number) =>
  (await fetch(`${url}/deliveries/${mark}?withinMs=${withinMs}`)).status;

test("a client that waits for a mark is answered as soon as a webhook brings it, and a later one at once", async () => {
  const waiting = [statusOf("load1-a-1", 20_000), statusOf("load1-a-1", 20_000)];
  const delivered = await deliver(JSON.stringify({ contact: { fax: "load1-a-1" } }));
  assert.equal(delivered.status, 200);
  assert.deepEqual(await Promise.all(waiting), [200, 200]);
  assert.equal(await statusOf("load1-a-1", 0), 200);
});

test("a mark that nobody brings is not found, nor one that another begins with", async () => {
  await deliver(JSON.stringify({ fax: "load1-b-12" }));
  assert.equal(await statusOf("load1-b-1", 0), 404);
  assert.equal(await statusOf("load1-b-12", 0), 200);
});

test("a body without end is refused and not kept", async () => {
  const { status } = await deliver(`${"x".repeat(5 * 1024 * 1024)} load1-c-1 `);
  assert.equal(status, 413);
  assert.equal(await statusOf("load1-c-1", 0), 404);
});

const transport = smtpTransport({
  ...{ host: "127.0.0.1", port: receiver.mailPort, tls: "off" },
  ...{ user: "", password: "" },
});
after(() => transport.close());
async function send(to: string, subject: string, html: string): Promise<string> {
  const from = { name: "Shop", address: "shop@example.org" };
  const messageId = `${to}-${html.length}`;
  const parts = {
    messageId,
    from,
    to: [{ name: "", address: to }],
    subject,
    html,
    text: "",
    headers: [],
    attachments: [],
  };
  const pieces = await composeMail({ ...parts, date: new Date(0) });
  const envelope = { from: from.address, to, bcc: [] };
  return (await transport.handOver({ messageId, envelope, pieces, mayBegin: () => true })).state;
}
const mail = async (mark: string, query: string) => fetch(`${url}/mails/${mark}?${query}`);

test("a client that waits for a mail gets its decoded parts, by a mark in its address or its subject", async () => {
  const waiting = mail("load1-d-1", "withinMs=20000");
  const html = `<a href="https://shop.example/?a=${"1".repeat(200)}">Zoë</a>`;
  assert.equal(await send("load1-d-1@example.org", "News load1-e-1", html), "taken");
  for (const response of [await waiting, await mail("load1-e-1", "withinMs=0")]) {
    assert.equal(response.status, 200);
    const taken = (await response.json()) as Record<string, unknown>;
    assert.deepEqual([taken.count, taken.subject, String(taken.html).trim()], [1, "News load1-e-1", html]);
  }
});

test("a client that waits for many mails is answered once so many have come", async () => {
  const waiting = mail("load1-f-1", "count=3&withinMs=20000");
  await send("a@example.org", "load1-f-1", "<p>One</p>");
  await send("b@example.org", "load1-f-1", "<p>Two</p>");
  assert.equal((await mail("load1-f-1", "count=3&withinMs=0")).status, 404);
  await send("c@example.org", "load1-f-1", "<p>Three</p>");
  const { count } = (await (await waiting).json()) as { count: number };
  assert.equal(count, 3);
});
