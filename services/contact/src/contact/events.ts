import {
  ContactCreatedSchema,
  ContactDeletedSchema,
  ContactPointsChangedSchema,
  ContactUpdatedSchema,
} from "@tidings/proto/tidings/contact/v1/events";
import { type DomainEvent, domainEvent } from "@tidings/store/outbox";
import { changedColumns } from "./apply.ts";
import type { ContactWriter } from "./contact-json.ts";
import type { ContactRow } from "./row.ts";

const SUBJECT = "tidings.contact.contact";
const STAMPS = ["version", "date_modified", "modified_by", "modified_by_user"];

/** What a saved contact tells the other services: created, or updated and, if so, its change of points. */
export function contactEvents(
  { writer }: { writer: ContactWriter },
  { before, row }: { before: ContactRow | undefined; row: ContactRow },
): DomainEvent[] {
  const aggregate = aggregateOf(row);
  const snapshot = writer.snapshot(row);
  const identified = row.date_identified !== null;
  if (!before) {
    return [domainEvent(`${SUBJECT}.created`, aggregate, ContactCreatedSchema, { snapshot, identified })];
  }
  const changed = changedColumns(before, row).filter((name) => !STAMPS.includes(name));
  const newlyIdentified = identified && before.date_identified === null;
  const updated = domainEvent(`${SUBJECT}.updated`, aggregate, ContactUpdatedSchema, {
    snapshot,
    identified,
    newlyIdentified,
    changed,
  });
  if (before.points === row.points) return [updated];
  const points = { oldPoints: Number(before.points), newPoints: Number(row.points) };
  const moved = domainEvent(`${SUBJECT}.points_changed`, aggregate, ContactPointsChangedSchema, {
    snapshot,
    ...points,
  });
  return [moved, updated];
}

export function contactDeleted({ writer }: { writer: ContactWriter }, row: ContactRow): DomainEvent {
  const { id, version } = aggregateOf(row);
  // What is gone has no id any more; the event itself still says whose it is.
  const snapshot = writer.snapshot({ ...row, id: null });
  return domainEvent(`${SUBJECT}.deleted`, { id, version: version + 1 }, ContactDeletedSchema, { snapshot });
}

function aggregateOf(row: ContactRow): { id: number; version: number } {
  return { id: Number(row.id), version: Number(row.version) };
}
