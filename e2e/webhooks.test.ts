import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { type ReceivedRequest, startReceiver } from "@tidings/testkit/receiver";
import { Webhook } from "standardwebhooks";
import type { Contact } from "./client.ts";
import { query } from "./query.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack({
  env: { webhook: { WEBHOOK_SCHEDULE: "0,0.1,0.1", WEBHOOK_TIMEOUT: "2" } },
});
const { api } = stack;
after(() => stack.stop());

const TRIGGERS = ["new", "update", "points", "delete"] as const;
const NAMES = {
  new: "svc.lead_post_save_new",
  update: "svc.lead_post_save_update",
  points: "svc.lead_points_change",
  delete: "svc.lead_post_delete",
};
const SECRET = `whsec_${Buffer.from("a secret of thirty-two characters").toString("base64")}`;

interface Item {
  id?: number;
  contact: Pick<Contact, "points" | "fields"> & { id: number | null };
  points?: { old_points: number; new_points: number };
  timestamp: string;
}

/** The one trigger and the one item of a delivery, once its signature is verified. */
function opened({ body, headers }: ReceivedRequest, secret = SECRET): [string, Item] {
  const signed = Object.fromEntries(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, String(headers[name])]),
  );
  const payload = new Webhook(secret).verify(body, signed) as Record<string, Item[]>;
  const [[trigger, items] = ["", []]] = Object.entries(payload);
  assert.equal(Object.keys(payload).length, 1);
  assert.equal(items.length, 1);
  return [trigger, items[0] as Item];
}

async function createHook(webhookUrl: string, more: object = {}) {
  const triggers = TRIGGERS.map((name) => NAMES[name]);
  const answer = await api("POST", "hooks/new", {
    name: "Local",
    webhookUrl,
    secret: SECRET,
    triggers,
    ...more,
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.hook;
}

async function finished(hookId: number): Promise<void> {
  await eventually(async () => {
    const rows = await query(
      stack.database,
      `select 1 from contact.outbox_waiting
       union all select 1 from webhook.deliveries where webhook_id = ${hookId} and state = 'waiting'`,
    );
    assert.equal(rows.length, 0);
  });
}

test("every change of a contact arrives once, signed and under its trigger", async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const hook = await createHook(receiver.url, { eventsOrderbyDir: "ASC" });

  const created = await api("POST", "contacts/new", { email: "hooked@example.com", firstname: "Ada" });
  const { id } = created.body.contact;
  await receiver.waitFor(1);
  await api("PATCH", `contacts/${id}/edit`, { city: "London" });
  await receiver.waitFor(2);
  await api("POST", `contacts/${id}/points/plus/5`);
  await receiver.waitFor(4);
  await api("DELETE", `contacts/${id}/delete`);
  await receiver.waitFor(5);
  await finished(hook.id);

  const deliveries = receiver.requests.map((request) => opened(request));
  assert.deepEqual(
    deliveries.map(([trigger]) => trigger),
    [NAMES.new, NAMES.update, NAMES.points, NAMES.update, NAMES.delete],
  );
  const [[, first], [, edited], [, scored], , [, deleted]] = deliveries as [
    [string, Item],
    [string, Item],
    [string, Item],
    [string, Item],
    [string, Item],
  ];
  assert.equal(first.contact.id, id);
  assert.equal(first.contact.fields.core.firstname?.value, "Ada");
  assert.equal("all" in first.contact.fields, false);
  assert.match(first.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
  assert.equal(edited.contact.fields.core.city?.value, "London");
  assert.deepEqual(scored.points, { old_points: 0, new_points: 5 });
  assert.equal(scored.contact.points, 5);
  assert.equal(deleted.id, id);
  assert.equal(deleted.contact.id, null);
  const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]);
  assert.equal(new Set(ids).size, ids.length);
});

test("a webhook hears only of its triggers, only while it is published, and an anonymous contact is no news", async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const hook = await createHook(receiver.url, { triggers: [NAMES.new] });
  const silent = await createHook(receiver.url, { isPublished: false });

  await api("POST", "contacts/new", { city: "Rome" });
  const { id } = (await api("POST", "contacts/new", { firstname: "Known" })).body.contact;
  await api("PATCH", `contacts/${id}/edit`, { city: "Rome" });
  await receiver.waitFor(1);
  await finished(hook.id);
  await finished(silent.id);
  assert.deepEqual(
    receiver.requests.map((request) => opened(request)[1].contact.id),
    [id],
  );
});

test("a generated secret is shown and signs", async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.stop);
  const { secret } = await createHook(receiver.url, { secret: undefined });
  assert.match(String(secret), /^whsec_/);
  await api("POST", "contacts/new", { firstname: "Secret" });
  const [request] = await receiver.waitFor(1);
  assert.ok(request);
  opened(request, String(secret));
});

test("a refused delivery is repeated with the same id and the same bytes", async (t) => {
  const receiver = await startReceiver({
    respond: (_request, index) => ({ status: index === 0 ? 500 : 200 }),
  });
  t.after(receiver.stop);
  const hook = await createHook(receiver.url, { triggers: [NAMES.new] });
  await api("POST", "contacts/new", { firstname: "Again" });
  await receiver.waitFor(2);
  await finished(hook.id);
  const [first, second] = receiver.requests;
  assert.equal(receiver.requests.length, 2);
  assert.equal(first?.body, second?.body);
  assert.equal(first?.headers["webhook-id"], second?.headers["webhook-id"]);
});

test("a receiver that is gone (410) gets nothing more: the webhook is unpublished", async (t) => {
  const receiver = await startReceiver({ respond: () => ({ status: 410 }) });
  t.after(receiver.stop);
  const { id } = await createHook(receiver.url, { triggers: [NAMES.new] });
  await api("POST", "contacts/new", { firstname: "Gone" });
  await eventually(async () => {
    assert.equal((await api("GET", `hooks/${id}`)).body.hook.isPublished, false);
  });
});

test("private addresses are refused unless they are opened", async () => {
  for (const webhookUrl of [
    "http://10.0.0.1/",
    "http://169.254.169.254/latest",
    "http://[::1]/",
    "ftp://example.com",
  ]) {
    const answer = await api("POST", "hooks/new", { name: "Private", webhookUrl });
    assert.equal(answer.status, 400, `${webhookUrl}: ${answer.text}`);
    assert.ok(answer.body.errors[0]?.details?.webhookUrl);
  }
});

test("the triggers are listed with labels", async () => {
  const { body } = await api("GET", "hooks/triggers");
  assert.equal(body.triggers[NAMES.new]?.label, "New Contact Event");
  assert.equal(Object.keys(body.triggers).length, 14);
});
