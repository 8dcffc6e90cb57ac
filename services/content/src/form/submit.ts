import { type Database, prepared, queryable } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import type { JsonObject } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { badRequest, invalid } from "@tidings/rpc/fault";
import type { ContactIds } from "../visit/contact-ids.ts";
import { type Sighting, seeVisitors, type Visitor } from "../visit/visitors.ts";
import { type Following, planFollowing } from "./follow-submission.ts";
import { hiddenFields, SUBMISSIONS_SEEN_MAX, usesProfiling } from "./profiling.ts";
import { checkOpen, closed, lockForm, readForm } from "./read-form.ts";
import { companiesIn, type Known, readSubmitted, type Submitted } from "./submitted.ts";
import type { Submitters } from "./submitter.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TEXT_LENGTH_MAX = 2_048;

const earlierStatement = prepared(
  "form_submissions_earlier",
  `select results from form_submissions where form_id = $1 and contact_id = $2
   order by date_submitted desc limit ${SUBMISSIONS_SEEN_MAX}`,
);
const keyStatement = prepared(
  "form_submission_keys_insert",
  `insert into form_submission_keys (key, submission_id) values ($1, nextval('form_submissions_ids'))
   on conflict do nothing returning submission_id`,
);
const knownStatement = prepared(
  "form_submission_keys_known",
  "select submission_id from form_submission_keys where key = $1",
);
const insertStatement = prepared(
  "form_submissions_insert",
  `insert into form_submissions
     (id, key, form_id, contact_id, ip, tracking_id, date_submitted, referer, page_id, results)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

/** The context of a submission besides what was sent. */
export interface Submitting extends Pick<Known, "blockedEmails"> {
  database: Database;
  submitters: Submitters;
  ids: ContactIds;
  /** Only a proven contact's known values are overwritten. */
  keepsKnownValues: boolean;
}

/** A submission as it was sent, and who may have sent it. */
export interface Sent {
  formId: number;
  /** A UUID: the same one again is answered as the first. */
  key: string;
  /** The contact, as far as the caller knows it. */
  contactId?: number | undefined;
  /** The browser that it came from, where that may be known. */
  sighting?: Sighting | undefined;
  ip: string;
  trackingId?: string | undefined;
  referer?: string | undefined;
  pageId?: number | undefined;
  values: JsonObject;
}

/** The outcome of a submission. */
export interface SubmissionAnswer {
  submissionId: number;
  form: Form;
  /** The kept values, by the aliases of the fields. */
  results: Map<string, string>;
  /** Values for the contact and its company, by the names of their fields. */
  contact: Map<string, string>;
  company: Map<string, string>;
  /** The visitor, where the browser may be known. */
  visitor: Visitor | undefined;
}

/**
 * Takes a submission: the row and the job that follows it up are stored, both or neither. The same key again answers what became of the
 * first. Throws INVALID_ARGUMENT with what is wrong, by the aliases of the fields, and FAILED_PRECONDITION when the form takes
 * nothing.
 */
export async function submitForm(submitting: Submitting, sent: Sent, call: Call): Promise<SubmissionAnswer> {
  if (!UUID.test(sent.key)) throw badRequest("key must be a UUID.");
  if ([sent.ip, sent.trackingId, sent.referer].some((text = "") => text.length > TEXT_LENGTH_MAX))
    throw badRequest(`A text about a submission may have ${TEXT_LENGTH_MAX} characters.`);
  const { database, blockedEmails } = submitting;
  // Other services are asked before any row is locked.
  const known = await knownBefore(submitting, sent, call);
  return database.transaction(call.deadlineMs, async (transaction) => {
    const now = Date.now();
    const form = await lockForm(transaction, sent.formId);
    const submitted = readSubmitted(form, sent.values, { ...known, blockedEmails });
    const [taken] = await transaction.query(knownStatement, [sent.key]);
    // A kept submission is answered as kept, even when its form is gone.
    if (taken) return answerOf(Number(taken.submission_id), form, submitted);
    checkOpen(form, now);
    if (submitted.errors.length > 0) throw invalid(submitted.errors);
    const [claimed] = await transaction.query(keyStatement, [sent.key]);
    if (!claimed) {
      const [winner] = await transaction.query(knownStatement, [sent.key]);
      return answerOf(Number(winner?.submission_id), form, submitted);
    }
    const id = Number(claimed.submission_id);
    store(transaction, id, { sent, submitted, now });
    const visitor = await follow(transaction, submitting, { id, form, sent, submitted, now });
    return { ...answerOf(id, form, submitted), visitor };
  });
}

interface Taken {
  id: number;
  form: Form;
  sent: Sent;
  submitted: Submitted;
  now: number;
}

/** Plans what follows from a submission: finding out whose it is, telling of it, and the actions of the form. */
async function follow(
  transaction: Transaction,
  { ids, keepsKnownValues }: Submitting,
  { id, form, sent, submitted, now }: Taken,
): Promise<Visitor | undefined> {
  const { sighting, contactId } = sent;
  const isTracked = sighting !== undefined && !form.inKioskMode;
  const { visitors } = await seeVisitors(transaction, ids, isTracked ? [sighting] : []);
  const visitor = sighting && visitors.get(sighting.deviceId);
  const [newContactId = 0] = await ids.take(1);
  planFollowing(transaction, {
    submissionId: id,
    key: sent.key,
    formId: form.id,
    dateSubmitted: now,
    contactId: visitor?.contactId ?? contactId ?? 0,
    isNew: visitor?.isNew ?? false,
    isKiosk: form.inKioskMode === true,
    keepsKnownValues,
    // A caller who names the contact has the right to edit it.
    isProven: visitor?.isProven ?? true,
    newContactId,
    values: Object.fromEntries(submitted.contact),
    companyValues: Object.fromEntries(submitted.company),
    sighting: isTracked ? sighting : undefined,
    consent: consentIn(submitted, sent),
    isAgreeing: visitor?.isAgreeing ?? false,
    ip: sent.ip,
  });
  return visitor;
}

/** The alias of a form's field that asks for consent, and the values by which it is refused. */
const CONSENT_ALIAS = "consent";
const REFUSALS = new Set(["0", "no", "false"]);

/** The visitor's answer to the form's question for consent; a field that is left blank answers nothing. */
function consentIn({ results }: Submitted, { referer = "" }: Sent): Following["consent"] {
  const text = [...results].find(([{ alias }]) => alias === CONSENT_ALIAS)?.[1];
  return text ? { given: !REFUSALS.has(text.toLowerCase()), where: referer } : undefined;
}

/** The known values that a form uses: the meant companies, and the fields that this contact was not asked for. */
async function knownBefore(
  { database, submitters }: Submitting,
  { formId, contactId, values }: Sent,
  call: Call,
): Promise<Omit<Known, "blockedEmails">> {
  const form = await readForm(queryable(database, call.deadlineMs), formId);
  if (!form) throw closed();
  const companies = await submitters.companyNames(companiesIn(form, values), call);
  if (!usesProfiling(form)) return { companies, hidden: new Set() };
  return { companies, hidden: await hiddenFrom(form, { database, submitters }, contactId, call) };
}

/** Ids of fields that this contact is not asked for any more; of an unknown one for which it is too early. */
export async function hiddenFrom(
  form: Form,
  { database, submitters }: Pick<Submitting, "database" | "submitters">,
  contactId: number | undefined,
  call: Call,
): Promise<Set<number>> {
  const isKnown = contactId !== undefined;
  const contact = isKnown ? await submitters.valuesOf(contactId, call) : {};
  const rows = isKnown ? await database.query(earlierStatement, [form.id, contactId], call.deadlineMs) : [];
  const submissions = rows.map(({ results }) => JSON.parse(results ?? "{}") as JsonObject);
  return hiddenFields(form, { contact, submissions });
}

function store(
  transaction: Transaction,
  id: number,
  { sent, submitted, now }: Omit<Taken, "id" | "form">,
): void {
  const results = Object.fromEntries([...submitted.results].map(([field, value]) => [field.id, value]));
  const { key, formId, contactId, ip, trackingId, referer, pageId } = sent;
  transaction.execute(insertStatement, [
    id,
    key,
    formId,
    contactId ?? null,
    ip,
    trackingId ?? null,
    new Date(now).toISOString(),
    referer ?? null,
    pageId ?? null,
    JSON.stringify(results),
  ]);
}

function answerOf(submissionId: number, form: Form, submitted: Submitted): SubmissionAnswer {
  const results = new Map([...submitted.results].map(([{ alias }, value]) => [alias, value] as const));
  return {
    submissionId,
    form,
    results,
    contact: submitted.contact,
    company: submitted.company,
    visitor: undefined,
  };
}
