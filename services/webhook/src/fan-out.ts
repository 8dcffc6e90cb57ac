import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import { recordEvents } from "@tidings/store/inbox";
import { bodyOf, type Rendered } from "./body.ts";
import { type Occurrence, occurrencesOf, type Source } from "./occurrence.ts";
import { prefixed } from "./triggers.ts";

export interface FanOutOptions {
  database: Database;
  /** The JSON of contacts and of companies, in the order of their sources. */
  renderContacts: Render;
  renderCompanies: Render;
  triggerPrefix: string;
  /** Seconds before the first attempt. */
  firstDelaySeconds: number;
  /** Called when there are new deliveries. */
  onDeliveries(): void;
}

export type Render = (sources: Source[]) => Promise<Uint8Array[]>;

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
   select target.webhook_id, told.id, told.body, told.traceparent, now() + $9::float8 * interval '1 second'
   from unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[]) with ordinality
     as told(event_id, id, body, traceparent, position)
   join fresh on fresh.event_id = told.event_id
   join unnest($7::integer[], $8::uuid[]) as target(webhook_id, id) on target.id = told.id
   order by told.position
   on conflict do nothing`,
);

/** Turns a batch of events into deliveries for the webhooks that name their triggers. */
export function createFanOut(options: FanOutOptions): (events: Event[]) => Promise<void> {
  const { database, triggerPrefix } = options;
  return async (events) => {
    const subscribers = await readSubscribers(database);
    const notifications = events
      .flatMap(occurrencesOf)
      .map((occurrence): Notification => {
        const trigger = prefixed(triggerPrefix, occurrence.trigger);
        return { ...occurrence, webhookIds: subscribers.get(trigger) ?? [] };
      })
      .filter(({ webhookIds }) => webhookIds.length > 0);
    const rendered = await render(notifications, options);
    const bodies = notifications.map((notification, index) =>
      bodyOf(prefixed(triggerPrefix, notification.trigger), notification, rendered[index] ?? {}),
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

async function render(notifications: Notification[], options: FanOutOptions): Promise<Rendered[]> {
  const [contacts, companies] = await Promise.all([
    renderEach(
      notifications.map(({ contact }) => contact),
      options.renderContacts,
    ),
    renderEach(
      notifications.map(({ company }) => company),
      options.renderCompanies,
    ),
  ]);
  return notifications.map((_notification, index) => ({
    contact: contacts[index],
    company: companies[index],
  }));
}

/** All that are there at once; the others stay undefined. */
async function renderEach(
  sources: (Source | undefined)[],
  renderAll: Render,
): Promise<(string | undefined)[]> {
  const wanted = sources.filter((source) => source !== undefined);
  const texts = wanted.length > 0 ? (await renderAll(wanted)).values() : [].values();
  return sources.map((source) => {
    const text = source && texts.next().value;
    return text && Buffer.from(text).toString();
  });
}

async function insert(
  database: Database,
  events: Event[],
  notifications: Notification[],
  bodies: string[],
  firstDelaySeconds: number,
): Promise<void> {
  const targets = notifications.flatMap(({ id, webhookIds }) =>
    webhookIds.map((webhookId) => ({ webhookId, id })),
  );
  const values = [
    CONSUMER,
    events.map(({ id }) => id),
    notifications.map(({ event }) => event.id),
    notifications.map(({ id }) => id),
    bodies,
    notifications.map(({ event }) => event.traceparent ?? null),
    targets.map(({ webhookId }) => webhookId),
    targets.map(({ id }) => id),
    firstDelaySeconds,
  ];
  // A transaction, because that is what is repeated after a deadlock.
  await database.transaction(backgroundDeadline(), (transaction) =>
    transaction.query(insertDeliveries, values),
  );
}
