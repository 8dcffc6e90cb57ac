import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Occurrence } from "./occurrence.ts";
import { OWNER_COLUMNS, type Owner, ownerOf } from "./owners.ts";
import { parseTrigger, type TriggerName } from "./triggers.ts";

/** A webhook that subscribes to a trigger, under its own name for it. */
export interface Subscriber {
  webhookId: number;
  prefix: string;
  /** It receives events from this time on: milliseconds since the epoch. */
  sinceMs: number;
  owner: Owner;
  /** It fails, or is deferred already. */
  mayBeDeferred: boolean;
}

const selectPublished = prepared(
  "subscribers_published",
  `select w.id, w.triggers, w.triggers_since, extract(epoch from w.date_added) * 1000 as made_at, ${OWNER_COLUMNS},
     exists (select from failing_webhooks f where f.webhook_id = w.id)
       or exists (select from deferred_webhooks d where d.webhook_id = w.id) as may_be_deferred
   from webhooks w join webhook_owners o on o.webhook_id = w.id
   where w.is_published`,
);
/** Triggers to the published webhooks that name them, under any prefix. */
export async function readSubscribers(database: Database): Promise<Map<TriggerName, Subscriber[]>> {
  const rows = await database.query(selectPublished, [], backgroundDeadline());
  const subscribers = new Map<TriggerName, Subscriber[]>();
  for (const row of rows) {
    const owner = ownerOf(row);
    if (owner.reach === "none" && !owner.isToCome) continue;
    for (const [name, { prefix, sinceMs }] of triggersOf(row)) {
      const known = subscribers.get(name) ?? [];
      subscribers.set(name, known);
      known.push({
        webhookId: Number(row.id),
        prefix,
        sinceMs,
        owner,
        mayBeDeferred: row.may_be_deferred === "t",
      });
    }
  }
  return subscribers;
}

/** Each trigger once, by the name it has first. */
function triggersOf({
  triggers,
  triggers_since: since,
  made_at,
}: Row): Map<TriggerName, { prefix: string; sinceMs: number }> {
  const times = new Map<string, string>(Object.entries(JSON.parse(since ?? "{}")));
  const named = (JSON.parse(triggers ?? "[]") as string[]).flatMap((text) => {
    const trigger = parseTrigger(text);
    const time = times.get(text);
    return trigger ? [{ ...trigger, sinceMs: time ? Date.parse(time) : Number(made_at) }] : [];
  });
  return new Map(named.toReversed().map(({ name, ...asked }) => [name, asked]));
}

/**
 * The webhooks that asked for the trigger before it happened. A bus that lost its store is given old events again, and a webhook
 * made since then receives none of them. Both times are the database's.
 */
export function subscribersOf(
  { trigger, event }: Occurrence,
  subscribers: ReadonlyMap<TriggerName, Subscriber[]>,
): Subscriber[] {
  const happenedAt = Date.parse(event.time);
  return (subscribers.get(trigger) ?? []).filter(({ sinceMs }) => sinceMs <= happenedAt);
}
