import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { type MembershipChange, membershipEvents } from "./events.ts";

/** Upsert: re-adds manually removed members, keeps present ones, skips deleted contacts. Contacts are held first, in order, as a merge holds them. */
const addStatement = prepared(
  "segment_contacts_add",
  `insert into segment_contacts (segment_id, contact_id, date_added, manually_added)
   select $1, c.id, now(), true from contacts c where c.id = any(array(select unnest($2::integer[])))
   order by c.id for key share of c
   on conflict (segment_id, contact_id) do update set manually_added = true, manually_removed = false
   where segment_contacts.manually_removed
   returning contact_id`,
);

/** Keeps a row for a contact that the filters found, so that they do not find it again; deletes the row of one that was added by hand. */
const removeStatement = prepared(
  "segment_contacts_remove",
  `with held as materialized (
     select c.id from contacts c where c.id = any(array(select unnest($2::integer[]))) order by c.id for key share of c),
   deleted as (
     delete from segment_contacts where segment_id = $1 and contact_id = any(array(select id from held)) and manually_added
     returning contact_id),
   marked as (
     update segment_contacts set manually_removed = true
     where segment_id = $1 and contact_id = any(array(select id from held)) and not manually_added and not manually_removed
     returning contact_id)
   select contact_id from deleted union all select contact_id from marked`,
);

/** Puts contacts into a segment by hand, or takes them out; answers those for whom that makes a difference. */
export async function changeByHand(
  transaction: Transaction,
  segmentId: number,
  contactIds: number[],
  isAdded: boolean,
): Promise<MembershipChange[]> {
  const rows = await transaction.query(isAdded ? addStatement : removeStatement, [segmentId, contactIds]);
  return rows.map(({ contact_id }) => ({ segmentId, contactId: Number(contact_id), isAdded }));
}

/** Changes by hand move to the survivor of a merge; the filters find their members again by themselves. */
const moveStatement = prepared(
  "segment_contacts_inherit",
  `with inherited as (
     insert into segment_contacts (segment_id, contact_id, date_added, manually_added, manually_removed)
     select segment_id, $1, date_added, manually_added, manually_removed from segment_contacts
     where contact_id = $2 and (manually_added or manually_removed) order by segment_id
     on conflict do nothing returning segment_id, manually_removed)
   select s.id, s.version, s.name, s.alias, s.is_global, s.created_by from inherited i join segments s on s.id = i.segment_id
   where not i.manually_removed`,
);

/** Lets a contact inherit the memberships of another one; returns the events. */
export async function inheritMemberships(
  transaction: Transaction,
  id: number,
  mergedId: number,
): Promise<DomainEvent[]> {
  const rows = await transaction.query(moveStatement, [id, mergedId]);
  const segments = new Map(
    rows.map((row) => [
      Number(row.id),
      {
        id: Number(row.id),
        version: Number(row.version),
        name: row.name ?? "",
        alias: row.alias ?? "",
        isGlobal: row.is_global === "t",
        createdBy: row.created_by ? Number(row.created_by) : undefined,
      },
    ]),
  );
  const changes = [...segments.keys()].map((segmentId) => ({ segmentId, contactId: id, isAdded: true }));
  return membershipEvents(changes, (segmentId) => segments.get(segmentId));
}
