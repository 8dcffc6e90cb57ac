import { type Database, prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { ContactsNow } from "./facts.ts";
import type { Projection } from "./projection.ts";
import { DELETED, MERGED, survivorIn } from "./survivor.ts";

/** SQL of a migration, in a schema that keeps rows of contacts of the contact service: contacts that were merged or erased. */
export const CONTACT_FATES = [
  `create table contact_fates (
    contact_id integer primary key,
    -- The contact that it is part of now; null when it was erased.
    merged_into_id integer
  )`,
  "create index contact_fates_merged_into_id on contact_fates (merged_into_id) where merged_into_id is not null",
];

/** SQL: the ids of the contact of a column, as a list: its own, that of the contact that it is part of now, and those of all that became a part of that one. */
export function idsByFate(contactId: string): string {
  return `(select unnest(array[now_id] || array(select m.contact_id from contact_fates m where m.merged_into_id = now_id))
    from (select coalesce((select f.merged_into_id from contact_fates f where f.contact_id = ${contactId}), ${contactId}) as now_id) as present)`;
}

/** Held by who writes facts of contacts, and alone by who learns fates. */
export const fatesLock = advisoryLock("contact_fates");

/** Facts of a merged contact belong to the survivor, facts of an erased one to nobody. */
export const contactsByFate: ContactsNow = {
  hold: (transaction) => fatesLock.shared(transaction),
  join: `left join contact_fates f on f.contact_id = s.contact_id
    where f.contact_id is null or f.merged_into_id is not null`,
  contactId: "coalesce(f.merged_into_id, s.contact_id)",
};

/** `$1` and `$2`: merged contacts and the contacts that they became a part of, which may have been merged or erased before. */
const mergedStatement = prepared(
  "contact_fates_merged",
  `with fate as (
     select distinct on (x.id) x.id, case when f.contact_id is null then x.survivor_id else f.merged_into_id end as survivor_id
     from unnest($1::integer[], $2::integer[]) as x (id, survivor_id) left join contact_fates f on f.contact_id = x.survivor_id
     order by x.id),
   followed as (
     update contact_fates f set merged_into_id = fate.survivor_id from fate where f.merged_into_id = fate.id)
   insert into contact_fates (contact_id, merged_into_id) select id, survivor_id from fate
   on conflict (contact_id) do update set merged_into_id = excluded.merged_into_id`,
);
/** A merged contact is deleted, too: its fate stays. */
const erasedStatement = prepared(
  "contact_fates_erased",
  `with followed as (
     update contact_fates set merged_into_id = null
     where merged_into_id = any($1::integer[])
       and not exists (select from contact_fates f where f.contact_id = contact_fates.merged_into_id))
   insert into contact_fates (contact_id) select distinct unnest($1::integer[]) on conflict do nothing`,
);

/** Follows merges and deletions of contacts in a service that has no rows of contacts: the fate of a contact is all that it keeps. */
export const fatesAlone: Projection = {
  owner: "contact",
  subjects: [MERGED, DELETED],
  async keep(transaction, events) {
    // Transactions that write facts have ended, or see these fates: the job misses no row.
    fatesLock.exclusive(transaction);
    // Merges one after the other: a survivor may be merged in the same batch.
    for (const event of events) {
      const survivorId = survivorIn(event);
      if (survivorId === undefined) transaction.execute(erasedStatement, [[event.aggregateId]]);
      else transaction.execute(mergedStatement, [[event.aggregateId], [survivorId]]);
    }
    return events.map(({ aggregateId }) => aggregateId);
  },
};

const fatesStatement = prepared(
  "contact_fates_read",
  "select contact_id, merged_into_id from contact_fates where contact_id = any($1::integer[])",
);

/** Holds the fates of contacts until a transaction ends, and reads them as `readFates` does. */
export async function holdFates(
  transaction: Transaction,
  ids: number[],
): Promise<Map<number, number | null>> {
  fatesLock.shared(transaction);
  return fatesIn(await transaction.query(fatesStatement, [ids]));
}

/** Contacts among these that are gone, each with the contact that it is part of now; null when it was erased. */
export async function readFates(
  database: Database,
  ids: number[],
  deadlineMs: number,
): Promise<Map<number, number | null>> {
  return fatesIn(await database.query(fatesStatement, [ids], deadlineMs));
}

function fatesIn(rows: Row[]): Map<number, number | null> {
  return new Map(
    rows.map(({ contact_id, merged_into_id: survivor }) => [
      Number(contact_id),
      survivor ? Number(survivor) : null,
    ]),
  );
}
