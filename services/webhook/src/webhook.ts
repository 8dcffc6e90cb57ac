import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Condition, ListQuery } from "@tidings/proto/tidings/type/v1/list";
import {
  type UpdateWebhookRequest,
  type Webhook,
  WebhookSchema,
  type WebhookService,
} from "@tidings/proto/tidings/webhook/v1/webhook";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, type Violation } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import type { Database } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { type BatchResult, type Repository, repository, type Update } from "@tidings/store/repository";
import { isAllowedAddress, literalAddress, type Range, receiverUrl } from "./address.ts";
import { forgetWebhooks } from "./purge.ts";
import { generateSecret } from "./sign.ts";
import { prefixedTriggers } from "./triggers.ts";

export interface WebhookOptions {
  webhooks: Repository<Webhook>;
  triggerPrefix: string;
  database: Database;
  log: Log;
}

const SECRET_LENGTH_MAX = 255;

export function webhookRepository(database: Database, outbox: Outbox, allowed: Range[]): Repository<Webhook> {
  return repository<Webhook>(database, outbox, WebhookSchema, {
    table: "webhooks",
    events: "tidings.webhook.webhook",
    search: ["name"],
    order: [{ column: "name", descending: false }],
    prepare: (draft, { before }) => prepareWebhook(draft, before, allowed),
  });
}

/** The RPCs of webhooks: the standard methods, and the secret only for who may change the webhook. */
export function webhookHandlers(options: WebhookOptions): Handlers<typeof WebhookService> {
  const { webhooks, database, log } = options;
  /** Their deliveries go in the background: without the webhook they are not sent any more. */
  const forget = (ids: number[]) =>
    void forgetWebhooks(database, ids).catch((error) =>
      log.warn({ err: error, webhooks: ids }, "deliveries of deleted webhooks could not be removed"),
    );
  return {
    getWebhook: async ({ id }, call) => shown(await webhooks.get(id, call), call),
    listWebhooks: async ({ query }, call) => {
      if (query && asksForSecret(query)) throw badRequest('Unknown column "secret".');
      const { items, totalSize, ids } = await webhooks.list(query, call);
      return { webhooks: items.map((item) => shown(item, call)), totalSize, ids };
    },
    createWebhook: async ({ webhook }, call) => {
      const { item, created } = await webhooks.create(webhook, call);
      return { webhook: shown(item, call), created };
    },
    updateWebhook: async (request, call) => {
      const { item, created } = await webhooks.update(updateOf(request), call);
      return { webhook: shown(item, call), created };
    },
    deleteWebhook: async ({ id }, call) => {
      const item = await webhooks.delete(id, call);
      forget([id]);
      return shown(item, call);
    },
    batchCreateWebhooks: async ({ requests }, call) =>
      batchOf(
        await webhooks.batchCreate(
          requests.map(({ webhook }) => webhook),
          call,
        ),
        call,
      ),
    batchUpdateWebhooks: async ({ requests }, call) =>
      batchOf(await webhooks.batchUpdate(requests.map(updateOf), call), call),
    batchDeleteWebhooks: async ({ ids }, call) => {
      const result = await webhooks.batchDelete(ids, call);
      forget(ids.filter((_, index) => !result.statuses[index]?.error));
      return batchOf(result, call);
    },
    listTriggers: () => ({ triggers: prefixedTriggers(options.triggerPrefix) }),
  };
}

function updateOf({ id, webhook, updateMask, allowMissing }: UpdateWebhookRequest): Update<Webhook> {
  return { id, message: webhook, updateMask, allowMissing };
}

function batchOf({ items, statuses }: BatchResult<Webhook>, call: Call) {
  return { webhooks: items.map((item) => shown(item, call)), statuses };
}

function shown(webhook: Webhook, call: Call): Webhook {
  const reach = call.reach(Verb.EDIT);
  const mayEdit = reach === "all" || (reach === "own" && webhook.createdBy === call.actor.id);
  return mayEdit ? webhook : { ...webhook, secret: "" };
}

/** Who could compare or order by the secret could guess it, letter by letter. */
function asksForSecret({ order, where }: ListQuery): boolean {
  const isSecret = ({ column, conditions }: Condition): boolean =>
    column === "secret" || conditions.some(isSecret);
  return where.some(isSecret) || order.some(({ column }) => column === "secret");
}

function prepareWebhook(draft: Webhook, before: Webhook | undefined, allowed: Range[]): Violation[] {
  draft.triggers = [...new Set(draft.triggers)];
  draft.secret ||= before?.secret || generateSecret();
  if (draft.eventsOrderbyDir === "") delete draft.eventsOrderbyDir;
  const violations: Violation[] = [];
  const check = (isGood: boolean, field: string, message: string) => {
    if (!isGood) violations.push({ field, message });
  };
  check(draft.name.trim() !== "", "name", "A name is required.");
  check(isReceiver(draft.webhookUrl, allowed), "webhookUrl", "A valid URL is required.");
  check(draft.secret.length <= SECRET_LENGTH_MAX, "secret", `At most ${SECRET_LENGTH_MAX} characters.`);
  check(isDirection(draft.eventsOrderbyDir), "eventsOrderbyDir", "Must be ASC or DESC.");
  return violations;
}

/** Names are resolved when they are sent to; an address that stands in the URL is judged at once. */
function isReceiver(text: string, allowed: Range[]): boolean {
  const url = receiverUrl(text);
  if (!url) return false;
  const literal = literalAddress(url.hostname);
  return literal === undefined || isAllowedAddress(literal, allowed);
}

function isDirection(direction: string | undefined): boolean {
  return direction === undefined || direction === "ASC" || direction === "DESC";
}
