import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { textArray } from "@tidings/database/wire/binary-array";
import { recordEvents } from "@tidings/messaging/inbox";
import { Code, Fault } from "@tidings/rpc/fault";
import { slices } from "@tidings/runtime/slices";
import { bodyOf, nameOfCompany } from "./body.ts";
import { defer, readDeferred } from "./deferral.ts";
import type { Occurrence } from "./occurrence.ts";
import { mayNotify, occurrencesOf } from "./occurrences-of.ts";
import type { Owner } from "./owners.ts";
import type { Records, Rendered } from "./records.ts";
import type { ReadMails } from "./sent-mails.ts";
import { readSubscribers, type Subscriber, subscribersOf } from "./subscribers.ts";
import { prefixed } from "./triggers.ts";

export interface FanOutOptions {
  database: Database;
  records: Records;
  mails: ReadMails;
  /** Seconds before the first attempt. */
  firstDelaySeconds: number;
  /** Called when there are new deliveries. */
  onDeliveries(): void;
}

/** An occurrence with its subscribers whose owners may view records of the kind at all. */
interface Notification extends Occurrence {
  subscribers: Subscriber[];
}

/** One text for the webhooks that get the same. */
interface Delivery {
  occurrence: Occurrence;
  body: string;
  webhookIds: number[];
  /** The webhooks among them that fail or are deferred. */
  doubtfulIds: Set<number>;
}

const CONSUMER = "webhook";
/** Occurrences that are rendered at once, fewer where mails are among them, and rows that one statement makes. */
const RENDERED_MAX = 500;
const MAILS_MAX = 50;
const ROWS_MAX = 5_000;
/** Webhooks that an error names. */
const NAMED_MAX = 10;

const selectKnown = prepared(
  "fan_out_known",
  "select event_id from inbox where consumer = $1 and event_id = any($2::uuid[])",
);
const insertDeliveries = prepared(
  "fan_out_insert",
  `insert into deliveries (webhook_id, event_id, body, traceparent, next_at)
   select target.webhook_id, told.id, told.body, told.traceparent, now() + $6::float8 * interval '1 second'
   from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as told(id, body, traceparent, position)
   join unnest($4::integer[], $5::integer[]) as target(webhook_id, position) on target.position = told.position
   order by told.position
   on conflict do nothing`,
);
const recordStatement = prepared("fan_out_record", recordEvents);

/**
 * Turns a batch of events into deliveries for the webhooks that name their triggers and whose owners may view their
 * contact or company. Large batches are done in slices: a delivery that is there is not made again, and the events count as
 * consumed with the last slice.
 */
export function createFanOut(options: FanOutOptions): (events: Event[]) => Promise<void> {
  const { database, firstDelaySeconds } = options;
  return async (events) => {
    const ids = events.map(({ id }) => id);
    const [subscribers, known] = await Promise.all([
      readSubscribers(database),
      database.query(selectKnown, [CONSUMER, ids], backgroundDeadline()),
    ]);
    if (subscribers.size === 0) return;
    const had = new Set(known.map(({ event_id }) => event_id));
    const notifications = events
      .filter((event) => !had.has(event.id) && mayNotify(event, subscribers))
      .flatMap(occurrencesOf)
      .map(
        (occurrence): Notification => ({
          ...occurrence,
          subscribers: subscribersOf(occurrence, subscribers),
        }),
      )
      .filter((notification) => notification.subscribers.length > 0);
    refuseUnknown(notifications);
    const hasMails = notifications.some(({ mail }) => mail);
    for (const slice of slices(notifications, hasMails ? MAILS_MAX : RENDERED_MAX)) {
      const deliveries = await render(slice, options);
      for (const rows of inStatements(deliveries)) await insert(database, rows, firstDelaySeconds);
    }
    // Events without a subscriber have no effect, so the inbox need not have them.
    if (notifications.length === 0) return;
    await database.query(recordStatement, [CONSUMER, ids], backgroundDeadline());
    options.onDeliveries();
  };
}

/** The webhook's owner has not been replicated yet, so its rights are unknown: the events are retried later. */
function refuseUnknown(notifications: Notification[]): void {
  const subscribers = notifications.flatMap((notification) => notification.subscribers);
  const unknown = new Set(
    subscribers.filter(({ owner }) => owner.isToCome).map(({ webhookId }) => webhookId),
  );
  if (unknown.size === 0) return;
  const some = [...unknown].slice(0, NAMED_MAX).join(", ");
  const message = `${unknown.size} webhooks have owners that are not known yet: ${some}`;
  throw new Fault({ code: Code.UNAVAILABLE, reason: "OWNER_UNKNOWN", message });
}

async function render(notifications: Notification[], options: FanOutOptions): Promise<Delivery[]> {
  const { records, mails } = options;
  const [contacts, companies, leads, sent] = await Promise.all([
    renderEach(notifications, ({ contact }) => contact, records.contacts),
    renderEach(notifications, ({ company }) => company, records.companies),
    renderEach(notifications, ({ lead }) => lead, records.leads),
    renderEach(
      notifications,
      ({ mail }) => mail,
      (sends) => mails(sends.map(({ hash }) => hash)),
    ),
  ]);
  return notifications.flatMap((notification, index) =>
    deliveriesOf(
      { ...notification, members: { ...notification.members, ...sent[index] } },
      { contact: contacts[index], company: companies[index], lead: leads[index] },
    ),
  );
}

/** All sources that are there at once; the others stay undefined. */
async function renderEach<S extends object, R>(
  notifications: Notification[],
  sourceOf: (notification: Notification) => S | undefined,
  renderAll: (sources: (S & { time: string })[]) => Promise<(R | undefined)[]>,
): Promise<(R | undefined)[]> {
  const sources = notifications.map((notification) => {
    const source = sourceOf(notification);
    return source && { ...source, time: notification.event.time };
  });
  const wanted = sources.filter((source) => source !== undefined);
  const rendered = wanted.length > 0 ? (await renderAll(wanted)).values() : [].values();
  return sources.map((source) => source && rendered.next().value);
}

/** The records of an occurrence. Owners who may view the first one receive it. */
interface Subjects {
  contact: Rendered | undefined;
  company: Rendered | undefined;
  lead: Rendered | undefined;
}

/** One body for each variant: triggers have names of the webhook's choice, owners see more or less. */
function deliveriesOf(
  { subscribers, ...occurrence }: Notification,
  { contact, company, lead }: Subjects,
): Delivery[] {
  const subject = contact ?? company ?? lead;
  const deliveries = new Map<string, Delivery>();
  for (const { webhookId, prefix, owner, mayBeDeferred } of subscribers) {
    if (!subject || !sees(owner, subject) || !seesForm(owner, occurrence.form)) continue;
    const isCompanyHidden = company !== undefined && !sees(owner, company);
    const hidden = occurrence.segment && !seesSegment(owner, occurrence.segment) && occurrence.segment;
    const key = `${prefix} ${isCompanyHidden} ${hidden !== undefined}`;
    let delivery = deliveries.get(key);
    if (!delivery) {
      const shown = company && (isCompanyHidden ? nameOfCompany(company.json) : company.json);
      const parts = { contact: contact?.json, company: shown, lead: lead?.json };
      delivery = {
        occurrence,
        body: bodyOf(
          prefixed(prefix, occurrence.trigger),
          hidden ? withoutName(occurrence, hidden.id) : occurrence,
          parts,
        ),
        webhookIds: [],
        doubtfulIds: new Set(),
      };
      deliveries.set(key, delivery);
    }
    delivery.webhookIds.push(webhookId);
    if (mayBeDeferred) delivery.doubtfulIds.add(webhookId);
  }
  return [...deliveries.values()];
}

/** As in the list of segments: those of others only where they are for everybody. */
function seesSegment(
  { segments, userId }: Owner,
  { isGlobal, createdBy }: NonNullable<Occurrence["segment"]>,
): boolean {
  const isOwn = userId !== undefined && createdBy === userId;
  return segments === "all" || (segments === "own" && (isGlobal || isOwn));
}

/** As in the API, where submissions are shown with their form. */
function seesForm({ forms, userId }: Owner, form: Occurrence["form"]): boolean {
  const isOwn = userId !== undefined && form?.createdBy === userId;
  return form === undefined || forms === "all" || (forms === "own" && isOwn);
}

/** Leaves the id alone of a segment that the owner of the webhook may not see. */
function withoutName(occurrence: Occurrence, id: number): Occurrence {
  return { ...occurrence, members: { ...occurrence.members, segment: { id } } };
}

function sees({ reach, userId }: Owner, { ownerId }: Rendered): boolean {
  return reach === "all" || (reach === "own" && userId !== undefined && ownerId === userId);
}

/** Slices of at most so many rows; one event for very many webhooks is cut, too. */
function inStatements(deliveries: Delivery[]): Delivery[][] {
  const statements: Delivery[][] = [];
  let left = 0;
  for (const delivery of deliveries) {
    for (const webhookIds of slices(delivery.webhookIds, ROWS_MAX)) {
      const part = { ...delivery, webhookIds };
      if (part.webhookIds.length > left) {
        statements.push([]);
        left = ROWS_MAX;
      }
      statements.at(-1)?.push(part);
      left -= part.webhookIds.length;
    }
  }
  return statements;
}

async function insert(database: Database, deliveries: Delivery[], firstDelaySeconds: number): Promise<void> {
  const targets = deliveries.flatMap(({ webhookIds, doubtfulIds }, index) =>
    webhookIds.map((webhookId) => ({
      webhookId,
      position: index + 1,
      isDoubtful: doubtfulIds.has(webhookId),
    })),
  );
  const valuesFor = (chosen: typeof targets) => [
    deliveries.map(({ occurrence }) => occurrence.id),
    textArray(deliveries.map(({ body }) => body)),
    deliveries.map(({ occurrence }) => occurrence.event.traceparent ?? null),
    chosen.map(({ webhookId }) => webhookId),
    chosen.map(({ position }) => position),
  ];
  const work = async (transaction: Transaction) => {
    const doubtful = targets.filter(({ isDoubtful }) => isDoubtful).map(({ webhookId }) => webhookId);
    const deferred =
      doubtful.length > 0 ? await readDeferred(transaction, [...new Set(doubtful)]) : new Set<number>();
    const later = targets.filter(({ webhookId }) => deferred.has(webhookId));
    const now = targets.filter(({ webhookId }) => !deferred.has(webhookId));
    if (later.length > 0) defer(transaction, valuesFor(later));
    if (now.length > 0) transaction.execute(insertDeliveries, [...valuesFor(now), firstDelaySeconds]);
  };
  const byIndex = targets.some(({ isDoubtful }) => isDoubtful);
  await database.transaction(backgroundDeadline(), work, { byIndex });
}
