import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ReferenceSchema } from "@tidings/proto/tidings/type/v1/reference";
import { type Webhook, WebhookSchema } from "@tidings/proto/tidings/webhook/v1/webhook";
import {
  BatchCreateWebhooksRequestSchema,
  CreateWebhookRequestSchema,
  ListWebhooksRequestSchema,
  UpdateWebhookRequestSchema,
  WebhookService,
} from "@tidings/proto/tidings/webhook/v1/webhook_service";
import { standardHandlers } from "@tidings/resource/standard-handlers";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { Code, Fault } from "@tidings/rpc/fault";
import { sealSecrets } from "@tidings/secrets/sealing";
import { eventually } from "@tidings/testkit/eventually";
import { webhookSecrets } from "./secrets.ts";
import { openScene, rules } from "./testing/scene.ts";
import { prefixedTriggers } from "./triggers.ts";

let scene: Awaited<ReturnType<typeof openScene>>;
let handlers: Handlers<typeof WebhookService>;

before(async () => {
  scene = await openScene();
  handlers = standardHandlers(WebhookService, scene.webhooks);
});

after(() => scene[Symbol.asyncDispose]());

test("a new webhook is published and gets a secret", async () => {
  const webhook = await save({
    name: "CRM",
    webhookUrl: "https://example.com/in",
    triggers: ["svc.page_on_hit", "svc.lead_post_delete", "svc.page_on_hit"],
  });
  assert.ok(webhook.id > 0);
  assert.equal(webhook.isPublished, true);
  assert.match(webhook.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(webhook.triggers, ["svc.page_on_hit", "svc.lead_post_delete"]);
  assert.equal(webhook.signatureScheme, "standard");
  assert.equal(webhook.eventsOrderbyDir, undefined);
});

test("a secret that is given is kept, also when the webhook is replaced without one", async () => {
  const { id, secret } = await save({
    name: "CRM",
    webhookUrl: "https://example.com/",
    secret: "open sesame",
  });
  assert.equal(secret, "open sesame");
  const replaced = await update(id, { name: "Other", webhookUrl: "https://example.com/" }, ["*"]);
  assert.equal(replaced.secret, "open sesame");
  assert.equal(replaced.isPublished, false);
});

test("a webhook asks for each trigger since it named it, and for all anew since it was published again", async () => {
  const since = async (id: number) => {
    const [row] = await scene.query("select triggers_since from webhooks where id = $1", [id]);
    return JSON.parse(row?.triggers_since ?? "null");
  };
  const triggers = ["svc.lead_post_delete"];
  const { id } = await save({ name: "CRM", webhookUrl: "https://example.com/", triggers });
  const first = await since(id);
  assert.deepEqual(Object.keys(first), triggers);
  await update(id, { triggers: [...triggers, "svc.lead_points_change"] }, ["triggers"]);
  const second = await since(id);
  assert.equal(second["svc.lead_post_delete"], first["svc.lead_post_delete"]);
  assert.ok(second["svc.lead_points_change"] > first["svc.lead_post_delete"]);
  await update(id, { isPublished: false }, ["is_published"]);
  assert.equal(await since(id), null);
  await update(id, { isPublished: true }, ["is_published"]);
  assert.ok((await since(id))["svc.lead_post_delete"] > second["svc.lead_points_change"]);
});

test("a secret has any length from one character on, as its receiver has it", async () => {
  assert.equal((await save({ name: "CRM", webhookUrl: "https://example.com/", secret: "x" })).secret, "x");
});

test("a change keeps what is not in its mask", async () => {
  const { id, secret } = await save({
    name: "CRM",
    webhookUrl: "https://example.com/",
    triggers: ["svc.page_on_hit"],
  });
  const changed = await update(id, { name: "Renamed" }, ["name"]);
  assert.deepEqual(
    [changed.name, changed.webhookUrl, changed.triggers],
    ["Renamed", "https://example.com/", ["svc.page_on_hit"]],
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
      ["name", "eventsOrderbyDir", "webhookUrl"],
    );
    return true;
  });
});

const webhookUrl = "https://example.com/";
for (const [what, fields, field] of [
  ["a name of two lines", { name: "a\nb" }, "name"],
  ["a name as long as a book", { name: "x".repeat(9_000) }, "name"],
  ["a secret as long as a book", { secret: "x".repeat(256) }, "secret"],
  ["an unknown trigger", { triggers: ["svc.lead_post_dream"] }, "triggers"],
  ["a trigger without a prefix", { triggers: ["lead_post_save_new"] }, "triggers"],
  [
    "1,900 triggers",
    { triggers: Array.from({ length: 1_900 }, (_, index) => `p${index}.page_on_hit`) },
    "triggers",
  ],
  ["an unknown way to sign", { signatureScheme: "rot13" }, "signatureScheme"],
] satisfies [string, Partial<Webhook>, string][])
  test(`${what} is refused`, async () => {
    const bad = { name: "CRM", webhookUrl, ...fields };
    await assert.rejects(save(bad), (fault) => {
      assert.ok(fault instanceof Fault && fault.code === Code.INVALID_ARGUMENT);
      assert.deepEqual(
        fault.violations.map((violation) => violation.field),
        [field],
      );
      return true;
    });
  });

test("an unknown trigger is answered with those there are", async () => {
  await assert.rejects(save({ name: "CRM", webhookUrl, triggers: ["svc.dream"] }), /svc\.lead_post_save_new/);
});

test("a webhook keeps the prefix it was made with, and with another than ours signs as that product does", async () => {
  const triggers = ["other.lead_post_save_new"];
  const webhook = await save({ name: "CRM", webhookUrl, triggers });
  assert.deepEqual([webhook.triggers, webhook.signatureScheme], [triggers, "body"]);
  assert.match(webhook.secret, /^[0-9a-f]{64}$/);
  const overridden = await save({ name: "CRM", webhookUrl, triggers, signatureScheme: "standard" });
  assert.equal(overridden.signatureScheme, "standard");
});

test("secrets do not lie in the database in clear, and those that an older version left there are sealed", async () => {
  const { id, secret } = await save({ name: "CRM", webhookUrl });
  const stored = async () =>
    (await scene.query("select secret from webhooks where id = $1", [id]))[0]?.secret ?? "";
  assert.match(await stored(), /^sealed:/);
  assert.ok(!(await stored()).includes(secret.slice(6, 20)));
  await scene.query("update webhooks set secret = 'left in clear' where id = $1", [id]);
  await sealSecrets(scene.database, webhookSecrets, rules.box);
  assert.match(await stored(), /^sealed:/);
  const request = { $typeName: "tidings.webhook.v1.GetWebhookRequest" as const, id };
  assert.equal((await handlers.getWebhook(request, callOf(1, "all"))).secret, "left in clear");
});

test("an unchanged member is not judged again: a webhook whose address is no longer allowed can be switched off", async () => {
  const { id } = await save({ name: "CRM", webhookUrl: "http://127.0.0.1:9/" });
  await scene.query(
    "update webhooks set webhook_url = 'http://10.0.0.1/', triggers = '[\"gone\"]' where id = $1",
    [id],
  );
  assert.equal((await update(id, { isPublished: false }, ["is_published"])).isPublished, false);
  assert.equal((await update(id, { name: "Renamed" }, ["name"])).name, "Renamed");
});

test("a webhook says why nothing is delivered", async () => {
  const { id } = await save({ name: "CRM", webhookUrl });
  const request = { $typeName: "tidings.webhook.v1.GetWebhookRequest" as const, id };
  assert.equal((await handlers.getWebhook(request, callOf(1, "all"))).problem, undefined);
  await scene.query("update users set is_published = false");
  const { problem } = await handlers.getWebhook(request, callOf(1, "all"));
  await scene.query("update users set is_published = true");
  assert.equal(problem, "Its owner is gone or not published.");
});

test("a URL that holds a private address is refused, unless the operator allows the address", async () => {
  for (const host of [
    "10.0.0.1",
    "[::1]",
    "169.254.169.254",
    "0x0a000001",
    "127.0.0.2",
    "[fd00:ec2::254]",
    "[::169.254.169.254]",
    "[1000::1]",
    "[4000::1]",
  ]) {
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

test("webhooks cannot be found by their secret", async () => {
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

test("webhooks are found by their category, and by having none; another bundle's is refused", async () => {
  await scene.query(`insert into categories (id, version, title, alias, bundle)
    values (1, 1, 'CRM', 'crm', 'webhook'), (2, 1, 'Pages', 'pages', 'page')`);
  const { id } = await save({ name: "In", webhookUrl, category: create(ReferenceSchema, { id: 1 }) });
  const without = await save({ name: "Out", webhookUrl });
  const found = async (search: string) => {
    const request = create(ListWebhooksRequestSchema, { query: { search, pageSize: 500 } });
    const { webhooks = [] } = await handlers.listWebhooks(request, callOf(1, "all"));
    return webhooks.map((webhook) => webhook.id);
  };
  assert.deepEqual(await found("category:crm"), [id]);
  const uncategorized = await found("is:uncategorized");
  assert.deepEqual(
    [id, without.id].map((one) => uncategorized.includes(one)),
    [false, true],
  );
  const foreign = save({ name: "Foreign", webhookUrl, category: create(ReferenceSchema, { id: 2 }) });
  await assert.rejects(foreign, { code: Code.INVALID_ARGUMENT });
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

test("deliveries and attempts are deleted with their webhook", async () => {
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

test("the 14 triggers are listed with the configured prefix, in the order of their labels", () => {
  const triggers = prefixedTriggers("svc");
  const labels = triggers.map(({ label }) => label);
  assert.equal(triggers.length, 14);
  assert.deepEqual(labels, labels.toSorted());
  assert.deepEqual(
    triggers.find(({ name }) => name === "svc.lead_post_save_new"),
    {
      name: "svc.lead_post_save_new",
      label: "New Contact Event",
      description: "Triggered when a contact is identified.",
    },
  );
});

async function save(fields: Partial<Omit<Webhook, "$typeName" | "$unknown">>): Promise<Webhook> {
  const request = create(CreateWebhookRequestSchema, { webhook: create(WebhookSchema, fields) });
  return (await handlers.createWebhook(request, callOf(1, "all"))).webhook as Webhook;
}

async function update(
  id: number,
  fields: Partial<Omit<Webhook, "$typeName" | "$unknown">>,
  paths: string[],
): Promise<Webhook> {
  const webhook = create(WebhookSchema, fields);
  const request = create(UpdateWebhookRequestSchema, {
    id,
    webhook,
    updateMask: create(FieldMaskSchema, { paths }),
  });
  return (await handlers.updateWebhook(request, callOf(1, "all"))).webhook as Webhook;
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
