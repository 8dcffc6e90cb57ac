import { fromBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { type Database, prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { type Job, jobsOf, type NewJob } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Projection } from "@tidings/projection/projection";
import { DELETED, MERGED, survivorIn } from "@tidings/projection/survivor";
import { ContactDeletedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import type { Changed } from "@tidings/resource/repository-options";
import type { Log } from "@tidings/runtime/log";
import { addressDigest } from "./spam.ts";
import { forgetFiles } from "./submission-files.ts";

/** Submissions that a step looks at: its locks are held for milliseconds. */
const SLICE = 5_000;
const DAY_SECONDS = 86_400;

/** Upkeep of submissions when a form or contact of theirs changes, in the order of the events. */
const upkeepJobs = jobsOf("form_submission_upkeep", { isOrdered: true, shown: { subject: FormSchema } });
/** The one of the migration, which is never done. */
const AHEAD = "ahead";
const GROUPS = { forms: 1, contacts: 2 };

interface Task extends Record<string, unknown> {
  /** A form that is gone. */
  formId?: number;
  /** A contact that is gone. */
  contactId?: number;
  /** Submissions that are done. */
  submissions?: number;
  /** The contact that has its submissions from now on, if there is one. */
  heirId?: number | undefined;
  /** The digest of its address: what was sent with it goes, too. */
  addressDigest?: string | undefined;
}

/** Plans that the submissions of deleted forms go, in the transaction in which these go. */
export function forgetForms(transaction: Transaction, changes: Changed<Form>[]): void {
  const gone = changes.flatMap(({ before, after }) => (before && !after ? [before] : []));
  upkeepJobs.add(
    transaction,
    gone.map(({ id: formId, name, createdBy: ownerId }) => ({
      key: `form ${formId}`,
      group: GROUPS.forms,
      payload: { formId },
      subject: { id: formId, name, ownerId },
    })),
  );
}

/** Most contacts have sent nothing, and are to get nothing either. */
const submittersStatement = prepared(
  "form_submissions_submitters",
  `select c.id from unnest($1::integer[], $2::text[]) as c (id, address_digest)
   where exists (select from form_submissions s where s.contact_id = c.id)
     or exists (select from form_spam s where s.contact_id = c.id)
     or exists (select from form_spam s where s.address_digests @> array[c.address_digest])
     or exists (select from jobs j where j.kind = 'form_submission_upkeep' and j.payload ->> 'heirId' = c.id::text)`,
);

/** Submissions of a contact that was merged into another are that one's, those of a deleted one go. */
export const contactsOfSubmissions: Projection = {
  owner: "contact",
  subjects: [DELETED, MERGED],
  async keep(transaction, events) {
    const heirs = heirsOf(events);
    const digests = digestsOf(events);
    const ids = [...heirs.keys()];
    const addresses = ids.map((id) => digests.get(id) ?? null);
    const rows = await transaction.query(submittersStatement, [ids, addresses]);
    const jobs = rows.map(({ id }): NewJob => {
      const contactId = Number(id);
      const heirId = heirs.get(contactId);
      return {
        // The deletion that follows a merge does not undo it.
        key: `${heirId === undefined ? "deleted" : "merged"} ${contactId}`,
        group: GROUPS.contacts,
        payload: { contactId, heirId, addressDigest: digests.get(contactId) },
      };
    });
    upkeepJobs.add(transaction, jobs);
    return events.map(({ aggregateId }) => aggregateId);
  },
};

/** The contact that the submissions of each contact belong to after these events, in any order of their jobs; undefined for none. */
function heirsOf(events: Event[]): Map<number, number | undefined> {
  const heirs = new Map<number, number | undefined>();
  for (const event of events) {
    const { aggregateId } = event;
    const heir = survivorIn(event);
    // An event from before deletions named the survivor.
    if (heir === undefined && heirs.has(aggregateId)) continue;
    for (const [other, known] of heirs) if (known === aggregateId) heirs.set(other, heir);
    heirs.set(aggregateId, heir);
  }
  return heirs;
}

/** Digests of the addresses of deleted contacts. */
function digestsOf(events: Event[]): Map<number, string> {
  const deleted = events.filter(({ subject }) => subject === DELETED);
  const addresses = deleted.map(({ aggregateId, payload }) => {
    return [aggregateId, fromBinary(ContactDeletedSchema, payload).snapshot?.email ?? ""] as const;
  });
  return new Map(
    addresses.flatMap(([id, address]) => (address === "" ? [] : [[id, addressDigest(address)] as const])),
  );
}

/** Keeps submissions in order: those of what is gone, and their keys. */
export function submissionUpkeep(database: Database, log: Log, spamDays: number): JobOptions {
  return {
    database,
    log,
    jobs: upkeepJobs,
    work: (transaction, job) =>
      job.key === AHEAD ? forgetOld(transaction, spamDays) : step(transaction, job),
  };
}

const formSlice = {
  end: endOfSlice("form_submissions_form_slice", "form_id"),
  work: sliced("form_submissions_forget", "delete from form_submissions", "form_id"),
};
const contactSlice = {
  end: endOfSlice("form_submissions_contact_slice", "contact_id"),
  work: sliced("form_submissions_erase", "delete from form_submissions", "contact_id"),
};
const moveStatement = sliced(
  "form_submissions_move",
  "update form_submissions set contact_id = (select $5::integer)",
  "contact_id",
);

const spamOfFormStatement = prepared(
  "form_spam_forget",
  `delete from form_spam where id in (select id from form_spam where form_id = $1 limit ${SLICE}) returning id`,
);

const spamOfContactStatement = prepared(
  "form_spam_erase",
  `delete from form_spam where id in (
     (select id from form_spam where contact_id = $1 limit ${SLICE})
     union (select id from form_spam where address_digests @> array[$2::text] limit ${SLICE})) returning id`,
);
const moveSpamStatement = prepared(
  "form_spam_move",
  `update form_spam set contact_id = $2
   where id in (select id from form_spam where contact_id = $1 limit ${SLICE}) returning id`,
);

/** Spam of a form or contact that is gone: a slice of it is deleted, or moved to the heir. */
function takeSpamOf(
  { query }: Transaction,
  { formId, contactId, heirId, addressDigest }: Task,
): Promise<Row[]> {
  if (formId !== undefined) return query(spamOfFormStatement, [formId]);
  return heirId === undefined
    ? query(spamOfContactStatement, [contactId, addressDigest ?? null])
    : query(moveSpamStatement, [contactId, heirId]);
}

async function step(transaction: Transaction, { payload }: Job): Promise<Outcome> {
  const { formId, contactId, heirId } = payload as Task;
  const [slice, id] = formId === undefined ? [contactSlice, contactId] : [formSlice, formId];
  const [end] = await transaction.query(slice.end, [id]);
  const values = [id, end?.form_id ?? null, end?.date_submitted ?? null, end?.id ?? null];
  const changed =
    heirId === undefined
      ? await transaction.query(slice.work, values)
      : await transaction.query(moveStatement, [...values, heirId]);
  const spam = await takeSpamOf(transaction, payload as Task);
  // Files move with a merge; with a form or a contact that is deleted they go.
  if (heirId === undefined) await forgetFiles(transaction, idsOf([...changed, ...spam]));
  const submissions = Number((payload as Task).submissions ?? 0) + changed.length;
  const progress = { done: submissions, result: { submissions } };
  return end || spam.length >= SLICE
    ? { state: "again", payload: { ...payload, submissions }, progress }
    : { state: "done", progress };
}

/** The last of the next slice; none when it is not full. In the order of the index, in which those before are gone. */
function endOfSlice(name: string, column: string): Statement {
  return prepared(
    name,
    `select form_id, date_submitted, id from form_submissions where ${column} = $1
     order by form_id, date_submitted nulls first, id limit 1 offset ${SLICE - 1}`,
  );
}

function sliced(name: string, change: string, column: string): Statement {
  return prepared(
    name,
    `${change} where ${column} = $1
       and ($2::integer is null or (form_id, date_submitted, id) <= ($2::integer, $3::timestamptz, $4::integer))
     returning id`,
  );
}

function idsOf(rows: Row[]): number[] {
  return rows.map(({ id }) => Number(id));
}

/** Rows that are there only to recognise what is sent again, by table: each a slice, the oldest first. */
const OLD = [
  oldRows("form_submission_keys", "key", "date_added", "interval '7 days'"),
  oldRows("form_submission_prints", "print", "date_added", "interval '1 hour'"),
  oldRows("promised_visitors", "device_id", "date_added", "interval '365 days'"),
];
const oldSpamStatement = oldRows("form_spam", "id", "date_submitted", "make_interval(days => $1)");

function oldRows(table: string, key: string, time: string, age: string): Statement {
  return prepared(
    `${table}_purge`,
    `delete from ${table} where ${key} in (
       select ${key} from ${table} where ${time} < now() - ${age} order by ${time} limit ${SLICE})
     returning ${key}`,
  );
}

/** Forgets spam, and what is known only to recognise what is sent again. */
async function forgetOld(transaction: Transaction, spamDays: number): Promise<Outcome> {
  const spam = await transaction.query(oldSpamStatement, [spamDays]);
  await forgetFiles(transaction, idsOf(spam));
  let isMore = spam.length === SLICE;
  for (const statement of OLD) isMore = (await transaction.query(statement)).length === SLICE || isMore;
  return { state: "again", payload: {}, delaySeconds: isMore ? 0 : DAY_SECONDS };
}
