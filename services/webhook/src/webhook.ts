import { isAllowedAddress, literalAddress, type Range, receiverUrl } from "@tidings/outbound/address";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  type UpdateWebhookRequest,
  type Webhook,
  WebhookSchema,
  type WebhookService,
} from "@tidings/proto/tidings/webhook/v1/webhook";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import type { Violation } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import type { Database } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import {
  type BatchResult,
  type Repository,
  repository,
  type Saved,
  type Update,
} from "@tidings/store/repository";
import type { SearchCommand } from "@tidings/store/search";
import { sql } from "kysely";
import { readOwners } from "./owners.ts";
import { forgetWebhooks } from "./purge.ts";
import type { SecretBox } from "./secret-box.ts";
import { generateSecret, SIGNATURE_SCHEMES, type SignatureScheme } from "./sign.ts";
import { parseTrigger, prefixedTriggers } from "./triggers.ts";

/** What webhooks are checked and kept with. */
export interface WebhookRules {
  /** Private ranges that receivers may be in all the same. */
  allowed: Range[];
  box: SecretBox;
  /** The word before the dot in our own names of triggers. */
  triggerPrefix: string;
}

export interface WebhookOptions {
  webhooks: Repository<Webhook>;
  rules: WebhookRules;
  database: Database;
  log: Log;
}

const NAME_LENGTH_MAX = 191;
const DESCRIPTION_LENGTH_MAX = 65_535;
const SECRET_LENGTH_MIN = 8;
const SECRET_LENGTH_MAX = 255;
const TRIGGERS_MAX = 100;

/** Webhooks have no categories yet. */
const commands = new Map<string, SearchCommand>([
  ["is", ({ text }) => (text === "uncategorized" ? sql`true` : undefined)],
]);

/** Their secrets are sealed in here as they are in the database. */
export function webhookRepository(
  database: Database,
  outbox: Outbox,
  rules: WebhookRules,
): Repository<Webhook> {
  return repository<Webhook>(database, outbox, WebhookSchema, {
    table: "webhooks",
    events: "tidings.webhook.webhook",
    search: ["name"],
    commands,
    order: [{ column: "name", descending: false }],
    prepare: (draft, { before, call }) => prepareWebhook(draft, { before, call, rules }),
  });
}

/** The RPCs of webhooks: the standard methods, and the secret only for who may change the webhook. */
export function webhookHandlers({
  webhooks,
  rules,
  database,
  log,
}: WebhookOptions): Handlers<typeof WebhookService> {
  /** Their deliveries go in the background: without the webhook they are not sent any more. */
  const forget = (ids: number[]) =>
    void forgetWebhooks(database, ids).catch((error) =>
      log.warn({ err: error, webhooks: ids }, "deliveries of deleted webhooks could not be removed"),
    );
  /** With the secret in clear for who may change it, and with the reason why nothing is delivered, if there is one. */
  const shown = async (items: Webhook[], call: Call): Promise<Webhook[]> => {
    const owners = await readOwners(
      database,
      items.map(({ id }) => id),
      call.deadlineMs,
    );
    return items.map((item) => {
      const problem = owners.get(item.id)?.problem;
      const secret = mayEdit(item, call) && item.secret ? rules.box.open(item.secret) : "";
      return { ...item, secret, ...(problem && { problem }) };
    });
  };
  const shownOne = async (item: Webhook, call: Call): Promise<Webhook> => {
    const [webhook] = await shown([item], call);
    return webhook ?? item;
  };
  const savedOf = async ({ item, created }: Saved<Webhook>, call: Call) => ({
    webhook: await shownOne(item, call),
    created,
  });
  const batchOf = async ({ items, statuses }: BatchResult<Webhook>, call: Call) => ({
    webhooks: await shown(items, call),
    statuses,
  });
  return {
    getWebhook: async ({ id }, call) => shownOne(await webhooks.get(id, call), call),
    listWebhooks: async ({ query }, call) => {
      const { items, totalSize, ids } = await webhooks.list(query, call);
      return { webhooks: await shown(items, call), totalSize, ids };
    },
    createWebhook: async ({ webhook }, call) => savedOf(await webhooks.create(webhook, call), call),
    updateWebhook: async (request, call) => savedOf(await webhooks.update(updateOf(request), call), call),
    deleteWebhook: async ({ id }, call) => {
      const item = await webhooks.delete(id, call);
      forget([id]);
      return shownOne(item, call);
    },
    batchCreateWebhooks: async ({ requests }, call) => {
      const wanted = requests.map(({ webhook }) => webhook);
      return batchOf(await webhooks.batchCreate(wanted, call), call);
    },
    batchUpdateWebhooks: async ({ requests }, call) =>
      batchOf(await webhooks.batchUpdate(requests.map(updateOf), call), call),
    batchDeleteWebhooks: async ({ ids }, call) => {
      const result = await webhooks.batchDelete(ids, call);
      forget(ids.filter((_, index) => !result.statuses[index]?.error));
      return batchOf(result, call);
    },
    listTriggers: () => ({ triggers: prefixedTriggers(rules.triggerPrefix) }),
  };
}

function updateOf({ id, webhook, updateMask, allowMissing }: UpdateWebhookRequest): Update<Webhook> {
  return { id, message: webhook, updateMask, allowMissing };
}

function mayEdit({ createdBy }: Webhook, call: Call): boolean {
  const reach = call.reach(Verb.EDIT);
  return reach === "all" || (reach === "own" && createdBy === call.actor.id);
}

interface Preparation {
  before: Webhook | undefined;
  call: Call;
  rules: WebhookRules;
}

/** Completes a webhook in place and answers what is wrong with it. What stays as it was is not judged again. */
function prepareWebhook(draft: Webhook, { before, call, rules }: Preparation): Violation[] {
  draft.triggers = [...new Set(draft.triggers)];
  if (draft.eventsOrderbyDir === "") delete draft.eventsOrderbyDir;
  if (!before && call.actor.clientId !== undefined) draft.ownerClientId = call.actor.clientId;
  draft.signatureScheme ||= schemeOf(draft.triggers, rules.triggerPrefix);
  const violations: Violation[] = [];
  const check = (isGood: boolean, field: string, message: string) => {
    if (!isGood) violations.push({ field, message });
  };
  draft.name = draft.name.trim();
  check(draft.name !== "", "name", "A name is required.");
  check(draft.name.length <= NAME_LENGTH_MAX, "name", tooLong(NAME_LENGTH_MAX));
  check(!/\p{Cc}/u.test(draft.name), "name", "A name is one line.");
  check(
    (draft.description ?? "").length <= DESCRIPTION_LENGTH_MAX,
    "description",
    tooLong(DESCRIPTION_LENGTH_MAX),
  );
  check(isDirection(draft.eventsOrderbyDir), "eventsOrderbyDir", "Must be ASC or DESC.");
  check(isScheme(draft.signatureScheme), "signatureScheme", `Must be ${SIGNATURE_SCHEMES.join(" or ")}.`);
  if (draft.webhookUrl !== before?.webhookUrl)
    violations.push(...checkReceiver(draft.webhookUrl, rules.allowed));
  if (draft.triggers.some((trigger) => !before?.triggers.includes(trigger)))
    violations.push(...checkTriggers(draft.triggers, rules.triggerPrefix));
  if (violations.length > 0) return violations;
  return sealSecret(draft, before, rules.box);
}

/** Webhooks with names of another product's triggers are signed as that product does. */
function schemeOf(triggers: string[], ownPrefix: string): SignatureScheme {
  const isForeign = triggers.some((trigger) => parseTrigger(trigger)?.prefix !== ownPrefix);
  return isForeign ? "body" : "standard";
}

/** Names are resolved when they are sent to; an address that stands in the URL is judged at once. */
function checkReceiver(text: string, allowed: Range[]): Violation[] {
  const url = receiverUrl(text);
  if (!url) return [{ field: "webhookUrl", message: "A valid URL is required." }];
  const literal = literalAddress(url.hostname);
  if (literal === undefined || isAllowedAddress(literal, allowed)) return [];
  const message =
    "A valid URL is required: this address is not public. OUTBOUND_ALLOW_CIDRS lets deliveries go to it.";
  return [{ field: "webhookUrl", message }];
}

function checkTriggers(triggers: string[], ownPrefix: string): Violation[] {
  if (triggers.length > TRIGGERS_MAX)
    return [{ field: "triggers", message: `A webhook may have ${TRIGGERS_MAX} triggers.` }];
  const unknown = triggers.find((trigger) => !parseTrigger(trigger));
  if (unknown === undefined) return [];
  const known = prefixedTriggers(ownPrefix).map(({ name }) => name);
  return [
    {
      field: "triggers",
      message: `"${unknown.slice(0, 100)}" is not a trigger. Known are ${known.join(", ")}.`,
    },
  ];
}

/** A secret that is sent is sealed, one that is not stays as it was, and a webhook that never had one gets one. */
function sealSecret(draft: Webhook, before: Webhook | undefined, box: SecretBox): Violation[] {
  if (before && (draft.secret === "" || draft.secret === before.secret)) {
    draft.secret = before.secret;
    return [];
  }
  const secret = draft.secret || generateSecret(draft.signatureScheme as SignatureScheme);
  if (secret.length < SECRET_LENGTH_MIN || secret.length > SECRET_LENGTH_MAX)
    return [
      { field: "secret", message: `A secret has ${SECRET_LENGTH_MIN} to ${SECRET_LENGTH_MAX} characters.` },
    ];
  // The same secret again is no change.
  draft.secret = before && box.open(before.secret) === secret ? before.secret : box.seal(secret);
  return [];
}

function tooLong(lengthMax: number): string {
  return `This value is too long. It should have ${lengthMax} characters or less.`;
}

function isDirection(direction: string | undefined): boolean {
  return direction === undefined || direction === "ASC" || direction === "DESC";
}

function isScheme(scheme: string | undefined): boolean {
  return SIGNATURE_SCHEMES.some((known) => known === scheme);
}
