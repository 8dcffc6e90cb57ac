import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { contactSnapshot } from "@tidings/contacts/row-snapshot";
import { type DomainEvent, domainEvent, encodeEvent } from "@tidings/messaging/outbox";
import {
  type ChannelChangeSchema,
  type CompanyChangeSchema,
  ContactDeletedSchema,
  ContactSavedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import type { SnapshotSource } from "@tidings/resource/snapshots";
import type { FieldContext, FieldSet } from "../field/catalogue.ts";
import type { RowChange } from "../record/kind.ts";
import { recordSnapshots } from "../record/snapshots.ts";
import { changedNames } from "../record/write.ts";
import {
  type ContactRow,
  companiesOf,
  contactTable,
  doNotContactOf,
  WHOLE_CONTACT_SELECT,
} from "../rows/contact.ts";
import { statusOf } from "./do-not-contact.ts";

const SUBJECT = "tidings.contact.contact";

const CREATED = `${SUBJECT}.created`;
const UPDATED = `${SUBJECT}.updated`;
/** A save that gives a contact to another owner: other services replicate whose it is. */
const REASSIGNED = `${SUBJECT}.reassigned`;

/** The event of a contact that changed with a company of it. A contact with a company is identified. */
export function contactUpdated(
  row: ContactRow,
  changes: MessageInitShape<typeof ContactSavedSchema>,
): DomainEvent {
  const saved = { snapshot: contactSnapshot(row), identified: true, ...changes };
  return domainEvent(UPDATED, aggregateOf(row), ContactSavedSchema, saved);
}

/** All contacts as the event of their last save carried them, without what it changed. */
export function contactSnapshots(context: Pick<FieldContext, "database" | "catalogues">): SnapshotSource {
  return recordSnapshots(context, {
    type: ContactSavedSchema.typeName,
    table: "contacts",
    alias: "c",
    select: WHOLE_CONTACT_SELECT,
    fields: ({ contact }) => contact,
    saved: (row) =>
      encodeEvent(
        ContactSavedSchema,
        create(ContactSavedSchema, {
          snapshot: contactSnapshot(row),
          identified: row.date_identified !== null,
        }),
      ),
  });
}

/** The event of a saved contact, with all parts of the change. */
export function contactSaved({ before, row }: RowChange, set: FieldSet): DomainEvent {
  const identified = row.date_identified !== null;
  const changed = before
    ? [...changedNames(contactTable, { before, row }, set), ...changedSets(before, row)]
    : [];
  const points = pointsChange(before, row);
  return domainEvent(subjectOf(before, row), aggregateOf(row), ContactSavedSchema, {
    snapshot: contactSnapshot(row),
    identified,
    newlyIdentified: identified && before?.date_identified === null,
    changed,
    ...(points && { points }),
    channels: channelChanges(before, row),
    companies: companyChanges(before, row),
  });
}

function subjectOf(before: ContactRow | undefined, row: ContactRow): string {
  if (!before) return CREATED;
  return before.owner_id === row.owner_id ? UPDATED : REASSIGNED;
}

/** The sets that are tables of their own are named like columns. */
function changedSets(before: ContactRow, row: ContactRow): string[] {
  return ["companies", "utm_tags"].filter((name) => (before[name] ?? null) !== (row[name] ?? null));
}

function pointsChange(before: ContactRow | undefined, row: ContactRow) {
  if (!before || before.points === row.points) return undefined;
  return { oldPoints: Number(before.points), newPoints: Number(row.points) };
}

function channelChanges(
  before: ContactRow | undefined,
  row: ContactRow,
): MessageInitShape<typeof ChannelChangeSchema>[] {
  if ((before?.do_not_contact ?? "{}") === row.do_not_contact) return [];
  const old = before ? doNotContactOf(before) : {};
  const current = doNotContactOf(row);
  return [...new Set([...Object.keys(old), ...Object.keys(current)])].flatMap((channel) => {
    const [oldStatus, newStatus] = [statusOf(old[channel]), statusOf(current[channel])];
    return oldStatus === newStatus ? [] : [{ channel, oldStatus, newStatus }];
  });
}

function companyChanges(
  before: ContactRow | undefined,
  row: ContactRow,
): MessageInitShape<typeof CompanyChangeSchema>[] {
  if ((before?.companies ?? null) === (row.companies ?? null)) return [];
  const old = before ? companiesOf(before) : [];
  const current = companiesOf(row);
  const without = (links: { id: number }[], others: { id: number }[]) =>
    links.filter(({ id }) => !others.some((other) => other.id === id));
  return [
    ...without(old, current).map(({ id }) => ({ companyId: id, added: false })),
    ...without(current, old).map(({ id }) => ({ companyId: id, added: true })),
  ];
}

export function contactDeleted(row: ContactRow, mergedIntoId?: number): DomainEvent {
  const { id, version } = aggregateOf(row);
  return domainEvent(`${SUBJECT}.deleted`, { id, version: version + 1 }, ContactDeletedSchema, {
    snapshot: contactSnapshot(row),
    ...(mergedIntoId !== undefined && { mergedIntoId }),
  });
}

function aggregateOf(row: ContactRow): { id: number; version: number } {
  return { id: Number(row.id), version: Number(row.version) };
}
