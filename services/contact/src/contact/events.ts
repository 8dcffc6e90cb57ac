import { create, toBinary } from "@bufbuild/protobuf";
import {
  ContactChannelChangedSchema,
  ContactCompanyChangedSchema,
  ContactCreatedSchema,
  ContactDeletedSchema,
  ContactPointsChangedSchema,
  ContactUpdatedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { type DomainEvent, domainEvent } from "@tidings/store/outbox";
import type { FieldSet } from "../field/catalogue.ts";
import { changedNames, snapshotOf } from "../record/change.ts";
import type { RowChange } from "../record/save.ts";
import { statusOf } from "./do-not-contact.ts";
import { type ContactRow, companiesOf, contactTable, doNotContactOf } from "./row.ts";

const SUBJECT = "tidings.contact.contact";

export const CONTACT_UPDATED = `${SUBJECT}.updated`;
export const CONTACT_COMPANY_CHANGED = `${SUBJECT}.company_changed`;

/**
 * What one statement tells of all contacts that changed with a company: without a snapshot, since nobody has read them.
 * Who has a company is no stranger.
 */
export function mirroredPayload(changed: string[]): Buffer {
  return Buffer.from(
    toBinary(ContactUpdatedSchema, create(ContactUpdatedSchema, { identified: true, changed })),
  );
}

/** The same for the company that is gone. */
export function unlinkedPayload(companyId: number): Buffer {
  const change = create(ContactCompanyChangedSchema, { companyId, added: false });
  return Buffer.from(toBinary(ContactCompanyChangedSchema, change));
}

/** What a saved contact tells the others: created or updated, and the changes that have listeners of their own. */
export function contactEvents(change: RowChange, set: FieldSet): DomainEvent[] {
  const { before, row } = change;
  const aggregate = aggregateOf(row);
  const snapshot = snapshotOf(row);
  const identified = row.date_identified !== null;
  const details = [
    ...pointsEvents(change, snapshot),
    ...channelEvents(change, snapshot),
    ...companyEvents(change, snapshot),
  ];
  if (!before) {
    const created = domainEvent(`${SUBJECT}.created`, aggregate, ContactCreatedSchema, {
      snapshot,
      identified,
    });
    return [created, ...details];
  }
  const updated = domainEvent(CONTACT_UPDATED, aggregate, ContactUpdatedSchema, {
    snapshot,
    identified,
    newlyIdentified: identified && before.date_identified === null,
    changed: [...changedNames(contactTable, { before, row }, set), ...changedSets(before, row)],
  });
  return [...details, updated];
}

/** The sets that are tables of their own are told like columns. */
function changedSets(before: ContactRow, row: ContactRow): string[] {
  return ["companies", "utm_tags"].filter((name) => (before[name] ?? null) !== (row[name] ?? null));
}

function pointsEvents({ before, row }: RowChange, snapshot: Uint8Array): DomainEvent[] {
  if (!before || before.points === row.points) return [];
  const points = { oldPoints: Number(before.points), newPoints: Number(row.points) };
  return [
    domainEvent(`${SUBJECT}.points_changed`, aggregateOf(row), ContactPointsChangedSchema, {
      snapshot,
      ...points,
    }),
  ];
}

function channelEvents({ before, row }: RowChange, snapshot: Uint8Array): DomainEvent[] {
  if ((before?.do_not_contact ?? "{}") === row.do_not_contact) return [];
  const old = before ? doNotContactOf(before) : {};
  const current = doNotContactOf(row);
  return [...new Set([...Object.keys(old), ...Object.keys(current)])].flatMap((channel) => {
    const [oldStatus, newStatus] = [statusOf(old[channel]), statusOf(current[channel])];
    if (oldStatus === newStatus) return [];
    const message = { snapshot, channel, oldStatus, newStatus };
    return [
      domainEvent(`${SUBJECT}.channel_changed`, aggregateOf(row), ContactChannelChangedSchema, message),
    ];
  });
}

function companyEvents({ before, row }: RowChange, snapshot: Uint8Array): DomainEvent[] {
  if ((before?.companies ?? null) === (row.companies ?? null)) return [];
  const old = before ? companiesOf(before) : [];
  const current = companiesOf(row);
  const without = (links: { id: number }[], others: { id: number }[]) =>
    links.filter(({ id }) => !others.some((other) => other.id === id));
  const event = (companyId: number, added: boolean) =>
    domainEvent(CONTACT_COMPANY_CHANGED, aggregateOf(row), ContactCompanyChangedSchema, {
      snapshot,
      companyId,
      added,
    });
  return [
    ...without(old, current).map(({ id }) => event(id, false)),
    ...without(current, old).map(({ id }) => event(id, true)),
  ];
}

export function contactDeleted(row: ContactRow): DomainEvent {
  const { id, version } = aggregateOf(row);
  // What is gone has no id any more; the event itself still says whose it is.
  const snapshot = snapshotOf({ ...row, id: null });
  return domainEvent(`${SUBJECT}.deleted`, { id, version: version + 1 }, ContactDeletedSchema, { snapshot });
}

function aggregateOf(row: ContactRow): { id: number; version: number } {
  return { id: Number(row.id), version: Number(row.version) };
}
