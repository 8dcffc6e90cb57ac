import { createHash } from "node:crypto";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { contactsByFate } from "@tidings/projection/contact-fates";
import { keepTotal, type Total } from "@tidings/resource/totals";
import type { ContactIds } from "../visit/contact-ids.ts";
import { seemingContact } from "../visit/promised-visitors.ts";
import type { ShownVisitor, Sighting } from "../visit/sighting.ts";
import type { Said } from "./submission-task.ts";
import type { Submitted } from "./submitted.ts";

/** Spam of each form is counted apart. */
export const SPAM_TOTAL: Total = { table: "form_spam", by: "form_id" };

/**
 * SQL of a migration: submissions that are suspected to be a machine's. They stand apart, so that nothing which reads submissions has to leave
 * them out. `sender` has the values and the browser that a release needs.
 */
export const SPAM_TABLES = [
  `create table form_spam (
    id integer primary key, key uuid not null, form_id integer not null, ip text not null, tracking_id text,
    date_submitted timestamptz not null, referer text, page_id integer, results jsonb not null, reason text not null,
    sender jsonb not null)`,
  "create index form_spam_of_form on form_spam (form_id, date_submitted nulls first, id)",
  "create index form_spam_age on form_spam (date_submitted)",
  ...keepTotal(SPAM_TOTAL),
];

/**
 * SQL of a migration: spam goes with the person. `contact_id` is the contact that the browser was then, or was to become; `address_digests` are those
 * of the addresses that were typed.
 */
export const SPAM_OF_CONTACTS = [
  "alter table form_spam add column contact_id integer, add column address_digests text[] not null default '{}'",
  `update form_spam s set contact_id = d.contact_id from visitor_devices d where d.id = s.tracking_id`,
  `update form_spam set address_digests = array[encode(sha256(convert_to(lower(sender #>> '{values,email}'), 'UTF8')), 'hex')]
   where sender #>> '{values,email}' <> ''`,
  "create index form_spam_of_contact on form_spam (contact_id) where contact_id is not null",
  "create index form_spam_addresses on form_spam using gin (address_digests)",
];

/** By which an address is found again: nothing that is planned says it. */
export function addressDigest(address: string): string {
  return createHash("sha256").update(address.trim().toLowerCase()).digest("hex");
}

function addressDigests({ results, contact }: Submitted): string[] {
  const typed = [...results].flatMap(([{ type }, text]) => (type === "email" ? text.split(", ") : []));
  const addresses = [...typed, contact.get("email") ?? ""].filter((text) => text !== "");
  return [...new Set(addresses.map(addressDigest))];
}

/** The columns that a submission has, be it good or spam, without the contact. */
export interface StoredSubmission {
  id: number;
  key: string;
  formId: number;
  ip: string;
  trackingId: string | null;
  dateSubmitted: string;
  referer: string | null;
  pageId: number | null;
  /** JSON. */
  results: string;
}

/** The sender of spam, as a release needs it: what was said of the contact, and the browser. */
export interface SpamSender extends Said {
  sighting: Sighting | undefined;
}

const insertStatement = prepared(
  "form_spam_insert",
  `insert into form_spam
     (id, key, form_id, ip, tracking_id, date_submitted, referer, page_id, results, reason, sender, address_digests, contact_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, (
     select case when d.id is null then x.id else coalesce(f.merged_into_id, d.contact_id) end
     from (select $13::integer as id) x left join visitor_devices d on d.id = $5 and x.id is not null
       left join contact_fates f on f.contact_id = d.contact_id
     where f.contact_id is null or f.merged_into_id is not null))`,
);

/** Keeps a submission as spam. Answers whom its sender would be shown to be: they are not to see a difference. */
export async function keepSpam(
  transaction: Transaction,
  ids: ContactIds,
  {
    stored,
    reason,
    sender,
    submitted,
    isTracked,
  }: {
    stored: StoredSubmission;
    reason: string;
    sender: SpamSender;
    submitted: Submitted;
    isTracked: boolean;
  },
): Promise<ShownVisitor | undefined> {
  const { id, key, formId, ip, trackingId, dateSubmitted, referer, pageId, results } = stored;
  const columns = [id, key, formId, ip, trackingId, dateSubmitted, referer, pageId, results];
  const device = isTracked ? sender.sighting?.deviceId : undefined;
  const shownContactId = device === undefined ? null : await seemingContact(transaction, ids, device);
  // A contact that goes takes this with it.
  contactsByFate.hold(transaction, []);
  const own = [...columns, reason, JSON.stringify(sender), addressDigests(submitted), shownContactId];
  transaction.execute(insertStatement, own);
  return shownContactId === null ? undefined : { shownContactId };
}

const takeStatement = prepared(
  "form_spam_take",
  `delete from form_spam where id = $1 and form_id = $2
   returning key, ip, tracking_id, date_submitted, referer, page_id, results, sender`,
);

/** Takes a submission out of the spam: one of those who try at once gets it, undefined for others. */
export async function takeSpam(
  transaction: Transaction,
  { id, formId }: { id: number; formId: number },
): Promise<{ stored: StoredSubmission; sender: SpamSender } | undefined> {
  const [row] = await transaction.query(takeStatement, [id, formId]);
  if (!row) return undefined;
  const stored = {
    ...{ id, formId, key: row.key ?? "", ip: row.ip ?? "" },
    trackingId: row.tracking_id ?? null,
    dateSubmitted: row.date_submitted ?? "",
    referer: row.referer ?? null,
    pageId: row.page_id ? Number(row.page_id) : null,
    results: row.results ?? "{}",
  };
  return { stored, sender: JSON.parse(row.sender ?? "{}") as SpamSender };
}
