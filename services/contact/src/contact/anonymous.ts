import { backgroundDeadline, joined, prepared } from "@tidings/database/database";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import { removeContacts } from "./remove.ts";
import type { ContactContext } from "./save.ts";

const jobs = jobsOf("anonymous_contacts");
const actor = serviceActor("Anonymous contacts");

/** Contacts that began with a visit, and of whom no name, company or address is known. */
const IS_ANONYMOUS = "date_identified is null and created_by_user is null";
/** Contacts that a step looks at. Its transaction is short, and their events are one pack. */
const SLICE = 500;
/** Between steps, so that deletions leave the database to others: 1.8 million contacts are looked at in an hour. */
const PAUSE_SECONDS = 1;
const DAY_SECONDS = 86_400;
const DAY_MS = DAY_SECONDS * 1_000;

/** SQL of a migration: the order in which they are looked at, and the job. */
export const ANONYMOUS_CONTACTS = [
  `create index contacts_anonymous on contacts (id) where ${IS_ANONYMOUS}`,
  "insert into jobs (kind, key) values ('anonymous_contacts', 'all')",
];

/** Contacts that another transaction edits at this moment are left for the next pass. */
const sliceStatement = prepared(
  "contacts_anonymous_inactive",
  `with slice as materialized (select id from contacts where ${IS_ANONYMOUS} and id > $1 order by id limit ${SLICE}),
   inactive as materialized (
     select c.id from slice join contacts c on c.id = slice.id
     where c.date_identified is null and coalesce(c.last_active, c.date_added) < $2::timestamptz and c.modified_by is null
       and not exists (select from contact_identifiers i where i.contact_id = c.id)
     order by c.id for update of c skip locked)
   select (select count(*) from slice) as count, (select max(id) from slice) as last,
     coalesce((select json_agg(id) from inactive), '[]') as ids`,
);

/**
 * Deletes contacts who were on the web once, never said who they are, and were inactive for `days`; 0 deletes none. A contact with an identifier, and
 * one that somebody edited by hand, stays. A pass over all of them begins each day.
 */
export function anonymousContacts(
  context: ContactContext & { log: Log },
  { days }: { days: number },
): JobOptions {
  const { database, log } = context;
  return {
    database,
    log,
    jobs,
    async work(transaction, { payload }) {
      if (days === 0) return { state: "again", payload: {}, delaySeconds: DAY_SECONDS };
      const { after = 0 } = payload as { after?: number };
      const before = new Date(Date.now() - days * DAY_MS).toISOString();
      const [slice] = await transaction.query(sliceStatement, [after, before]);
      const ids = JSON.parse(slice?.ids ?? "[]") as number[];
      const within = { ...context, database: joined(database, transaction) };
      const call = { actor, deadlineMs: backgroundDeadline(), requestId: "", reach: () => "all" as const };
      if (ids.length > 0) await removeContacts(within, ids, call);
      return Number(slice?.count) < SLICE
        ? { state: "again", payload: {}, delaySeconds: DAY_SECONDS }
        : { state: "again", payload: { after: Number(slice?.last) }, delaySeconds: PAUSE_SECONDS };
    },
  };
}
