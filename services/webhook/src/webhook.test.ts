import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  BatchCreateWebhooksRequestSchema,
  ListWebhooksRequestSchema,
  type Webhook,
  WebhookSchema,
} from "@tidings/proto/tidings/webhook/v1/webhook";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { columnsOf } from "@tidings/store/columns";
import { eventually } from "@tidings/testkit/eventually";
import { openScene } from "./testing/scene.ts";
import { webhookHandlers } from "./webhook.ts";

let scene: Awaited<ReturnType<typeof openScene>>;
let handlers: ReturnType<typeof webhookHandlers>;

before(async () => {
  scene = await openScene();
  const { webhooks, database } = scene;
  const log = createLog("test", "silent");
  handlers = webhookHandlers({ webhooks, database, triggerPrefix: "svc", log });
});

after(() => scene[Symbol.asyncDispose]());

test("a new webhook is published and gets a secret", async () => {
  const webhook = await save({
    name: "CRM",
    webhookUrl: "https://example.com/in",
    triggers: ["svc.a", "svc.b", "svc.a"],
  });
  assert.ok(webhook.id > 0);
  assert.equal(webhook.isPublished, true);
  assert.match(webhook.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(webhook.triggers, ["svc.a", "svc.b"]);
  assert.equal(webhook.eventsOrderbyDir, undefined);
});

test("a secret that is given is kept, also when the webhook is replaced without one", async () => {
  const { id, secret } = await save({ name: "CRM", webhookUrl: "https://example.com/", secret: "sesame" });
  assert.equal(secret, "sesame");
  const replaced = await update(id, { name: "Other", webhookUrl: "https://example.com/" }, ["*"]);
  assert.equal(replaced.secret, "sesame");
  assert.equal(replaced.isPublished, false);
});

test("a change keeps what is not in its mask", async () => {
  const { id, secret } = await save({ name: "CRM", webhookUrl: "https://example.com/", triggers: ["svc.a"] });
  const changed = await update(id, { name: "Renamed" }, ["name"]);
  assert.deepEqual(
    [changed.name, changed.webhookUrl, changed.triggers],
    ["Renamed", "https://example.com/", ["svc.a"]],
  );
  assert.equal(changed.secret, secret);
});

test("each bad field is named", async () => {
  const bad = { name: " ", webhookUrl: "ftp://example.com", eventsOrderbyDir: "UP", secret: "x".repeat(256) };
  await assert.rejects(save(bad), (fault) => {
    assert.ok(fault instanceof Fault);
    assert.equal(fault.code, Code.INVALID_ARGUMENT);
    assert.deepEqual(
      fault.violations.map(({ field }) => field),
      ["name", "webhookUrl", "secret", "eventsOrderbyDir"],
    );
    return true;
  });
});

test("a URL that holds a private address is refused, unless the operator allows the address", async () => {
  for (const host of ["10.0.0.1", "[::1]", "169.254.169.254", "0x0a000001", "127.0.0.2", "[fd00:ec2::254]"]) {
    await assert.rejects(save({ name: "CRM", webhookUrl: `http://${host}/` }), /webhookUrl/, host);
  }
  await save({ name: "CRM", webhookUrl: "http://127.0.0.1:9/" });
  await save({ name: "CRM", webhookUrl: "http://localhost:9/" });
});

test("the secret is shown to those who may edit the webhook and to nobody else", async () => {
  const { id, secret } = await save({ name: "CRM", webhookUrl: "https://example.com/" });
  const get = async (call: Call) =>
    (await handlers.getWebhook({ $typeName: "tidings.webhook.v1.GetWebhookRequest", id }, call)).secret;
  assert.equal(await get(callOf(1, "all")), secret);
  assert.equal(await get(callOf(1, "own")), secret);
  assert.equal(await get(callOf(2, "own")), "");
  assert.equal(await get(callOf(1, "none")), "");
});

test("nobody finds webhooks by their secret", async () => {
  const leaf = { column: "secret", expr: "like", values: ["whsec_a%"] };
  for (const query of [
    { where: [leaf] },
    { where: [{ expr: "orX", conditions: [leaf] }] },
    { order: [{ column: "secret" }] },
  ]) {
    const request = create(ListWebhooksRequestSchema, { query });
    await assert.rejects(async () => handlers.listWebhooks(request, callOf(1, "none")), /Unknown column/);
  }
});

test("items of a batch succeed and fail alone", async () => {
  const items = [{ name: "One", webhookUrl: "https://example.com/" }, { name: "Two" }];
  const requests = items.map((item) => ({ webhook: create(WebhookSchema, item) }));
  const { webhooks, statuses } = await handlers.batchCreateWebhooks(
    create(BatchCreateWebhooksRequestSchema, { requests }),
    callOf(1, "all"),
  );
  assert.equal(webhooks?.[0]?.name, "One");
  assert.deepEqual(
    statuses?.map(({ created, error }) => [created, error?.code]),
    [
      [true, undefined],
      [false, Code.INVALID_ARGUMENT],
    ],
  );
});

test("what belongs to a deleted webhook goes with it", async () => {
  const { id } = await save({ name: "CRM", webhookUrl: "https://example.com/" });
  await scene.deliveries(id, Array(2_500).fill("{}"));
  await handlers.deleteWebhook(
    { $typeName: "tidings.webhook.v1.DeleteWebhookRequest", id },
    callOf(1, "all"),
  );
  await eventually(async () => {
    assert.deepEqual(await scene.query("select 1 from deliveries where webhook_id = $1", [id]), []);
  });
});

test("the triggers are listed with the configured prefix", async () => {
  const { triggers } = await handlers.listTriggers(
    { $typeName: "tidings.webhook.v1.ListTriggersRequest" },
    callOf(1, "none"),
  );
  assert.equal(triggers?.length, 12);
  assert.deepEqual(
    triggers?.find(({ name }) => name === "svc.lead_post_save_new"),
    {
      name: "svc.lead_post_save_new",
      label: "New Contact Event",
      description: "Triggered when a contact is identified.",
    },
  );
});

test("the table has a column for each stored field", async () => {
  const rows = await scene.query(
    "select column_name from information_schema.columns where table_name = 'webhooks' and table_schema = 'webhook'",
  );
  const expected = [...columnsOf(WebhookSchema).map(({ name }) => name), "version"];
  assert.deepEqual(rows.map((row) => row.column_name).toSorted(), expected.toSorted());
});

async function save(fields: Partial<Omit<Webhook, "$typeName" | "$unknown">>): Promise<Webhook> {
  return (await scene.webhooks.create(create(WebhookSchema, fields), callOf(1, "all"))).item;
}

async function update(
  id: number,
  fields: Partial<Omit<Webhook, "$typeName" | "$unknown">>,
  paths: string[],
): Promise<Webhook> {
  const message = create(WebhookSchema, fields);
  const updateMask = create(FieldMaskSchema, { paths });
  return (await scene.webhooks.update({ id, message, updateMask, allowMissing: false }, callOf(1, "all")))
    .item;
}

/** A call by a user who may see everything, and edit as far as `edit` says. */
function callOf(id: number, edit: "all" | "own" | "none"): Call {
  return {
    actor: { kind: "user", id, name: "Ada", admin: false, permissions: {} },
    deadlineMs: Date.now() + 10_000,
    requestId: "test",
    reach: (verb) => (verb === Verb.EDIT ? edit : "all"),
  };
}
