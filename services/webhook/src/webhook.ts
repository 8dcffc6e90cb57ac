import { prepared } from "@tidings/database/database";
import { isAllowedUrl, type Range, receiverUrl } from "@tidings/outbound/address";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type Webhook, WebhookSchema } from "@tidings/proto/tidings/webhook/v1/webhook";
import { categoryReference } from "@tidings/resource/category-reference";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import type { Violation } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import type { SecretBox } from "@tidings/secrets/secret-box";
import { readOwners } from "./owners.ts";
import { forgetWebhooks } from "./purge.ts";
import { generateSecret, type SignatureScheme } from "./sign.ts";
import { OWN_PREFIX, parseTrigger, prefixedTriggers } from "./triggers.ts";

/** Settings that webhooks are validated and sealed with. */
export interface WebhookRules {
  /** Private ranges that receivers may be in all the same. */
  allowed: Range[];
  box: SecretBox;
  /** The word before the dot in our own names of triggers. */
  triggerPrefix: string;
}

const SECRET_LENGTH_MIN = 1;
const SECRET_LENGTH_MAX = 255;

/** A trigger that was there keeps its time. While a webhook is unpublished it asks for nothing. */
const sinceStatement = prepared(
  "webhooks_triggers_since",
  `update webhooks w set triggers_since = case when w.is_published then (
     select coalesce(jsonb_object_agg(t.name, coalesce(w.triggers_since -> t.name, to_jsonb(now()))), '{}')
     from jsonb_array_elements_text(w.triggers) as t (name)) end
   where w.id = any($1::integer[])`,
);

/** Their secrets are sealed in the database, and shown in clear to who may change the webhook. */
export function webhookRepository(
  context: ResourceContext & { log: Log },
  rules: WebhookRules,
): Repository<Webhook> {
  const { database, log } = context;
  /** Their deliveries go in the background: without the webhook they are not sent any more. */
  const forget = (ids: number[]) =>
    void forgetWebhooks(database, ids).catch((error) =>
      log.warn({ err: error, webhooks: ids }, "deliveries of deleted webhooks could not be removed"),
    );
  const references = { category: categoryReference(database) };
  return repository<Webhook>({ ...context, references }, WebhookSchema, {
    prepare: (draft, { before, call }) => prepareWebhook(draft, { before, call, rules }),
    changed(transaction, changes) {
      const ids = changes.flatMap(({ after }) => after?.id ?? []);
      transaction.execute(sinceStatement, [ids]);
      const gone = changes.flatMap(({ before, after }) => (before && !after ? [before.id] : []));
      if (gone.length > 0) transaction.afterCommit(() => forget(gone));
    },
    async show(items, call, database) {
      const ids = items.map(({ id }) => id);
      const owners = await readOwners(database, ids, call.deadlineMs);
      for (const item of items) {
        const problem = owners.get(item.id)?.problem;
        if (problem) item.problem = problem;
        item.secret = mayEdit(item, call) && item.secret ? rules.box.open(item.secret) : "";
      }
    },
  });
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
  if (!before && call.actor.clientId !== undefined) draft.ownerClientId = call.actor.clientId;
  draft.signatureScheme ||= schemeOf(draft.triggers);
  const violations: Violation[] = [];
  if (/\p{Cc}/u.test(draft.name)) violations.push({ field: "name", message: "A name is one line." });
  if (draft.webhookUrl !== before?.webhookUrl)
    violations.push(...checkReceiver(draft.webhookUrl, rules.allowed));
  if (draft.triggers.some((trigger) => !before?.triggers.includes(trigger)))
    violations.push(...checkTriggers(draft.triggers, rules.triggerPrefix));
  if (violations.length > 0) return violations;
  return sealSecret(draft, before, rules.box);
}

/** Webhooks with names of another product's triggers are signed as that product does, whatever names `hooks/triggers` shows. */
function schemeOf(triggers: string[]): SignatureScheme {
  const isForeign = triggers.some((trigger) => parseTrigger(trigger)?.prefix !== OWN_PREFIX);
  return isForeign ? "body" : "standard";
}

/** Names are resolved when they are sent to; an address that stands in the URL is judged at once. */
function checkReceiver(text: string, allowed: Range[]): Violation[] {
  const url = receiverUrl(text);
  if (!url) return [{ field: "webhookUrl", message: "A valid URL is required." }];
  if (isAllowedUrl(url, allowed)) return [];
  const message =
    "A valid URL is required: this address is not public. OUTBOUND_ALLOW_CIDRS lets deliveries go to it.";
  return [{ field: "webhookUrl", message }];
}

function checkTriggers(triggers: string[], ownPrefix: string): Violation[] {
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
