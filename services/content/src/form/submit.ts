import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import type { JsonObject } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { badRequest, invalid } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { Counter } from "prom-client";
import type { ContactIds } from "../visit/contact-ids.ts";
import { withHeldProof } from "../visit/held-visits.ts";
import { provenContactOf } from "../visit/proven-contact.ts";
import type { ShownVisitor, Sighting } from "../visit/sighting.ts";
import { seeVisitors } from "../visit/visitors.ts";
import { planFollowing } from "./follow-submission.ts";
import { hiddenFields, SUBMISSIONS_SEEN_MAX, usesProfiling } from "./profiling.ts";
import { checkOpen, lockForm } from "./read-form.ts";
import { saidIn } from "./said.ts";
import { claimPrint } from "./same-twice.ts";
import { keepSpam, type StoredSubmission } from "./spam.ts";
import { keepFiles, type StoredFile } from "./submission-files.ts";
import type { Said } from "./submission-task.ts";
import { companiesIn, type Known, readSubmitted, type Submitted } from "./submitted.ts";
import type { Submitters } from "./submitter.ts";

const submissions = new Counter({
  name: "tidings_submissions_total",
  help: "Submissions of forms that were kept, by outcome: good or spam",
  labelNames: ["outcome"],
});

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
  /** Bytes that the files of all forms may have. */
  filesBytesMax: number;
}

/** A submission as it was sent, and who may have sent it. */
export interface Sent extends Pick<Said, "cameBy"> {
  /** The form as it was when the submission arrived. It is read again, and judges the submission, when that is kept. */
  form: Form;
  /** A UUID: the same one again is answered as the first. */
  key: string;
  /** A digest, where the sender gave no key: the same one within seconds is answered as the first. */
  print?: string | undefined;
  /** Signs that it is a machine's: it is kept as spam. */
  suspicion?: string | undefined;
  /** The contact, as far as the caller knows it. */
  contactId?: number | undefined;
  /** The browser that it came from, where that may be known. */
  sighting?: Sighting | undefined;
  /** Ids of fields that its form was shown without, as the form itself says, signed. */
  hidden?: ReadonlySet<number> | undefined;
  ip: string;
  trackingId?: string | undefined;
  referer?: string | undefined;
  pageId?: number | undefined;
  values: JsonObject;
  /** Stored files of these values. */
  files?: StoredFile[];
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
  visitor: ShownVisitor | undefined;
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
    const now = database.now();
    // One trip to the database. A submission that is refused takes its claim back.
    const [form, { submissionId: id, isNew }, sighting] = await Promise.all([
      lockForm(transaction, sent.form.id),
      claim(transaction, sent),
      // No scanner of mails sends a form: this reader does not wait for the verdict on the click.
      sent.sighting && withHeldProof(transaction, sent.sighting),
    ]);
    const submitted = readSubmitted(form, sent.values, { ...known, blockedEmails });
    // A kept submission is answered as kept, even when its form is closed.
    if (!isNew) return answerOf(id, form, submitted);
    checkOpen(form, now);
    if (submitted.errors.length > 0) throw invalid(submitted.errors);
    const { files = [] } = sent;
    await keepFiles(transaction, { id, form, submitted }, { files, bytesMax: submitting.filesBytesMax });
    const visitor = await keep(transaction, submitting, { id, form, sent, sighting, submitted, now });
    return { ...answerOf(id, form, submitted), visitor };
  });
}

/** A new id for a submission, or that of the same one before. */
async function claim(
  transaction: Transaction,
  { key, print }: Sent,
): Promise<{ submissionId: number; isNew: boolean }> {
  if (print !== undefined) return claimPrint(transaction, print);
  const [claimed] = await transaction.query(keyStatement, [key]);
  const row = claimed ?? (await transaction.query(knownStatement, [key]))[0];
  return { submissionId: Number(row?.submission_id), isNew: claimed !== undefined };
}

/** A submission that is taken. */
export interface Taken {
  id: number;
  form: Form;
  sent: Pick<Sent, "key" | "sighting" | "contactId" | "ip">;
  said: Said;
  now: number;
}

/** Keeps a submission, with what follows from it, or as spam. */
async function keep(
  transaction: Transaction,
  submitting: Submitting,
  {
    sent,
    sighting,
    submitted,
    ...taken
  }: Omit<Taken, "said"> & { sent: Sent; submitted: Submitted } & Pick<Sent, "sighting">,
): Promise<ShownVisitor | undefined> {
  const stored = storedOf(taken.id, { sent, submitted, now: taken.now });
  const reason = sent.suspicion ?? (submitted.isTrapped ? "trap" : undefined);
  transaction.afterCommit(() => submissions.inc({ outcome: reason === undefined ? "good" : "spam" }));
  const said = saidIn(submitted, sent);
  if (reason === undefined) {
    store(transaction, stored, sent.contactId);
    return follow(transaction, submitting, { ...taken, sent: { ...sent, sighting }, said });
  }
  const sender = { ...said, sighting: sent.sighting };
  const isTracked = !taken.form.inKioskMode;
  return keepSpam(transaction, submitting.ids, { stored, reason, sender, submitted, isTracked });
}

/** Plans what follows from a submission: finding out whose it is, telling of it, and the actions of the form. */
export async function follow(
  transaction: Transaction,
  { ids, keepsKnownValues }: Submitting,
  { id, form, sent, said, now }: Taken,
): Promise<ShownVisitor | undefined> {
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
    ...said,
    sighting: isTracked ? sighting : undefined,
    isAgreeing: visitor?.isAgreeing ?? false,
    ip: sent.ip,
  });
  return visitor;
}

/**
 * The known values that a form uses: the meant companies, and the fields that its sender was not asked for. A form that does not say which these
 * were left out those of the contact that the browser has proven to be.
 */
export async function knownBefore(
  { database, submitters }: Submitting,
  {
    form,
    contactId,
    sighting,
    hidden,
    values,
  }: Pick<Sent, "form" | "contactId" | "sighting" | "hidden" | "values">,
  call: Call,
): Promise<Omit<Known, "blockedEmails">> {
  const companies = await submitters.companyNames(companiesIn(form, values), call);
  if (hidden) return { companies, hidden };
  if (!usesProfiling(form)) return { companies, hidden: new Set() };
  const hiddenOf = (id: number | undefined) => hiddenFrom(form, { database, submitters }, id, call);
  const isSeen = contactId === undefined && sighting && !sighting.isNewDevice;
  if (!isSeen) return { companies, hidden: await hiddenOf(contactId) };
  const proven = await provenContactOf(database, sighting.deviceId);
  // A submission is taken while the contact service is away.
  const orWithout = (error: unknown) => (isOutage(error) ? hiddenOf(undefined) : Promise.reject(error));
  return { companies, hidden: await hiddenOf(proven).catch(orWithout) };
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

function storedOf(
  id: number,
  { sent, submitted, now }: { sent: Sent; submitted: Submitted; now: number },
): StoredSubmission {
  const results = Object.fromEntries([...submitted.results].map(([field, value]) => [field.id, value]));
  const { key, form, ip, trackingId = null, referer = null, pageId = null } = sent;
  const dateSubmitted = new Date(now).toISOString();
  return {
    id,
    key,
    formId: form.id,
    ip,
    trackingId,
    dateSubmitted,
    referer,
    pageId,
    results: JSON.stringify(results),
  };
}

/** Stores a good submission. */
export function store(transaction: Transaction, stored: StoredSubmission, contactId?: number): void {
  const { id, key, formId, ip, trackingId, dateSubmitted, referer, pageId, results } = stored;
  const contact = contactId ?? null;
  transaction.execute(insertStatement, [
    ...[id, key, formId, contact, ip, trackingId, dateSubmitted, referer, pageId, results],
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
