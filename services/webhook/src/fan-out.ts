import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import { recordEvents } from "@tidings/store/inbox";
import { bodyOf } from "./body.ts";
import { type Occurrence, occurrenceOf } from "./occurrence.ts";
import { prefixed } from "./triggers.ts";

export interface FanOutOptions {
  database: Database;
  /** The JSON of contacts, in the order of their snapshots. */
  renderContacts(snapshots: Uint8Array[]): Promise<Uint8Array[]>;
  triggerPrefix: string;
  /** Seconds before the first attempt. */
  firstDelaySeconds: number;
  /** Called when there are new deliveries. */
  onDeliveries(): void;
}

/** Something that happened, with the webhooks that want to be told. */
interface Notification extends Occurrence {
  webhookIds: number[];
}

const CONSUMER = "webhook";

const selectPublished = prepared("fan_out_webhooks", "select id, triggers from webhooks where is_published");

/** The events are recorded as consumed, and their deliveries made, by one statement: both or neither, and once. */
const insertDeliveries = prepared(
  "fan_out_insert",
  `with fresh as (${recordEvents})
   insert into deliveries (webhook_id, event_id, body, traceparent, next_at)
   select target.webhook_id, event.id, event.body, event.traceparent, now() + $8::float8 * interval '1 second'
   from unnest($3::uuid[], $4::text[], $5::text[]) with ordinality as event(id, body, traceparent, position)
   join fresh on fresh.event_id = event.id
   join unnest($6::integer[], $7::uuid[]) as target(webhook_id, event_id) on target.event_id = event.id
   order by event.position
   on conflict do nothing`,
);

/** Turns a batch of contact events into deliveries for the webhooks that name their triggers. */
export function createFanOut(options: FanOutOptions): (events: Event[]) => Promise<void> {
  const { database, triggerPrefix } = options;
  return async (events) => {
    const subscribers = await readSubscribers(database);
    const notifications = events
      .map(occurrenceOf)
      .filter((occurrence) => occurrence !== undefined)
      .map((occurrence): Notification => {
        const trigger = prefixed(triggerPrefix, occurrence.trigger);
        return { ...occurrence, webhookIds: subscribers.get(trigger) ?? [] };
      })
      .filter(({ webhookIds }) => webhookIds.length > 0);
    const contacts = await render(notifications, options);
    const bodies = notifications.map((notification, index) =>
      bodyOf(prefixed(triggerPrefix, notification.trigger), notification, contacts[index] ?? ""),
    );
    await insert(database, events, notifications, bodies, options.firstDelaySeconds);
    if (notifications.length > 0) options.onDeliveries();
  };
}

/** Trigger names to the published webhooks that name them. */
async function readSubscribers(database: Database): Promise<Map<string, number[]>> {
  const rows = await database.query(selectPublished, [], backgroundDeadline());
  const pairs = rows.flatMap(({ id, triggers }) =>
    (JSON.parse(triggers ?? "[]") as string[]).map((trigger) => ({ trigger, id: Number(id) })),
  );
  const groups = Map.groupBy(pairs, ({ trigger }) => trigger);
  return new Map([...groups].map(([trigger, members]) => [trigger, members.map(({ id }) => id)]));
}

async function render(notifications: Notification[], { renderContacts }: FanOutOptions): Promise<string[]> {
  if (notifications.length === 0) return [];
  const contacts = await renderContacts(notifications.map(({ snapshot }) => snapshot));
  return contacts.map((contact) => Buffer.from(contact).toString());
}

async function insert(
  database: Database,
  events: Event[],
  notifications: Notification[],
  bodies: string[],
  firstDelaySeconds: number,
): Promise<void> {
  const targets = notifications.flatMap(({ event, webhookIds }) =>
    webhookIds.map((webhookId) => ({ webhookId, eventId: event.id })),
  );
  const values = [
    CONSUMER,
    events.map(({ id }) => id),
    notifications.map(({ event }) => event.id),
    bodies,
    notifications.map(({ event }) => event.traceparent ?? null),
    targets.map(({ webhookId }) => webhookId),
    targets.map(({ eventId }) => eventId),
    firstDelaySeconds,
  ];
  // A transaction, because that is what is repeated after a deadlock.
  await database.transaction(backgroundDeadline(), (transaction) =>
    transaction.query(insertDeliveries, values),
  );
}
