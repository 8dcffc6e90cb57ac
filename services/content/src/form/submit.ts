import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { domainEvent } from "@tidings/messaging/outbox";
import { FormSubmittedSchema } from "@tidings/proto/tidings/content/v1/events";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import type {
  SubmitFormRequest,
  SubmitFormResponseSchema,
} from "@tidings/proto/tidings/content/v1/submission";
import { columnsOf, fillFromRow } from "@tidings/resource/columns";
import { isObject, type JsonObject, jsonBytes, jsonOf } from "@tidings/resource/json-member";
import type { ResourceContext } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { badRequest, Code, Fault, invalid } from "@tidings/rpc/fault";
import { hiddenFields, SUBMISSIONS_SEEN_MAX, usesProfiling } from "./profiling.ts";
import { companiesIn, type Known, readSubmitted, type Submitted } from "./submitted.ts";
import type { Submitters } from "./submitter.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TEXT_LENGTH_MAX = 2_048;
const GONE = "This form is no longer available.";

const columns = columnsOf(FormSchema);
const FORM = `select ${columns.map(({ name }) => `"${name}"`).join(", ")} from forms where id = $1`;
const readStatement = prepared("form_submitted_form_read", FORM);
/** A form that is being filled in is not deleted meanwhile; nobody else is kept from it. */
const lockStatement = prepared("form_submitted_form", `${FORM} for key share`);
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

/** The context of a submission besides the request. */
export interface Submitting extends Pick<Known, "blockedEmails"> {
  submitters: Submitters;
}

/**
 * Takes a submission: the row and its event are stored, both or neither. The same key again answers what became of the
 * first. Throws INVALID_ARGUMENT with what is wrong, by the aliases of the fields, and FAILED_PRECONDITION when the form takes
 * nothing.
 */
export async function submitForm(
  { database, outbox }: ResourceContext,
  { submitters, blockedEmails }: Submitting,
  { request, call }: { request: SubmitFormRequest; call: Call },
): Promise<MessageInitShape<typeof SubmitFormResponseSchema>> {
  if (!UUID.test(request.key)) throw badRequest("key must be a UUID.");
  const values = valuesIn(request);
  // Other services are asked before any row is locked.
  const known = await knownBefore(database, submitters, { request, values, call });
  return database.transaction(call.deadlineMs, async (transaction) => {
    const now = Date.now();
    const form = await lockForm(transaction, request.formId);
    const submitted = readSubmitted(form, values, { ...known, blockedEmails });
    const [taken] = await transaction.query(knownStatement, [request.key]);
    // A kept submission is answered as kept, even when its form is gone.
    if (taken) return answerOf(Number(taken.submission_id), submitted);
    checkOpen(form, now);
    if (submitted.errors.length > 0) throw invalid(submitted.errors);
    const [claimed] = await transaction.query(keyStatement, [request.key]);
    if (!claimed) {
      const [winner] = await transaction.query(knownStatement, [request.key]);
      return answerOf(Number(winner?.submission_id), submitted);
    }
    const id = Number(claimed.submission_id);
    store(transaction, id, { request, submitted, now });
    const dateSubmitted = timestampFromMs(now);
    const { key: submissionId, formId, contactId = 0 } = request;
    outbox.append(transaction, [
      domainEvent("tidings.content.form.submitted", { id, version: 1 }, FormSubmittedSchema, {
        submissionId,
        contactId,
        formId,
        dateSubmitted,
      }),
    ]);
    return answerOf(id, submitted);
  });
}

function valuesIn({ values, ip, trackingId = "", referer = "" }: SubmitFormRequest): JsonObject {
  if ([ip, trackingId, referer].some((text) => text.length > TEXT_LENGTH_MAX))
    throw badRequest(`A text about a submission may have ${TEXT_LENGTH_MAX} characters.`);
  const sent = jsonOf(values);
  if (Array.isArray(sent) && sent.length === 0) return {};
  if (!isObject(sent)) throw badRequest("values must be an object.");
  return sent;
}

async function lockForm(transaction: Transaction, id: number): Promise<Form> {
  const form = formIn(await transaction.query(lockStatement, [id]));
  if (!form) throw closed(GONE);
  return form;
}

function formIn([row]: Row[]): Form | undefined {
  return row && fillFromRow(create(FormSchema), columns, row);
}

/** The known values that a form uses: the meant companies, and the fields that this contact was not asked for. */
async function knownBefore(
  database: Database,
  submitters: Submitters,
  { request, values, call }: { request: SubmitFormRequest; values: JsonObject; call: Call },
): Promise<Omit<Known, "blockedEmails">> {
  const { formId, contactId } = request;
  const form = formIn(await database.query(readStatement, [formId], call.deadlineMs));
  if (!form) throw closed(GONE);
  const companies = await submitters.companyNames(companiesIn(form, values), call);
  if (!usesProfiling(form)) return { companies, hidden: new Set() };
  const isKnown = contactId !== undefined;
  const contact = isKnown ? await submitters.valuesOf(contactId, call) : {};
  const rows = isKnown ? await database.query(earlierStatement, [formId, contactId], call.deadlineMs) : [];
  const submissions = rows.map(({ results }) => JSON.parse(results ?? "{}") as JsonObject);
  return { companies, hidden: hiddenFields(form, { contact, submissions }) };
}

/** Does the form take submissions now? */
function checkOpen({ isPublished, publishUp, publishDown }: Form, now: number): void {
  if (!isPublished) throw closed(GONE);
  if (publishUp && millisecondsOf(publishUp) > now)
    throw closed(`This form is available from ${timeText(publishUp)} on.`);
  if (publishDown && millisecondsOf(publishDown) < now)
    throw closed(`This form was available until ${timeText(publishDown)}.`);
}

function closed(message: string): Fault {
  return new Fault({ code: Code.FAILED_PRECONDITION, reason: "FORM_CLOSED", message });
}

function millisecondsOf(time: Timestamp): number {
  return timestampDate(time).getTime();
}

/** `2024-05-01 10:00 UTC` */
function timeText(time: Timestamp): string {
  return `${timestampDate(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function store(
  transaction: Transaction,
  id: number,
  { request, submitted, now }: { request: SubmitFormRequest; submitted: Submitted; now: number },
): void {
  const results = Object.fromEntries([...submitted.results].map(([field, value]) => [field.id, value]));
  const { key, formId, contactId, ip, trackingId, referer, pageId } = request;
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

function answerOf(submissionId: number, { results, contact, company }: Submitted) {
  const byAlias = [...results].map(([{ alias }, value]) => [alias, value] as const);
  return {
    submissionId,
    results: jsonBytes(Object.fromEntries(byAlias)),
    contactValues: jsonBytes(Object.fromEntries(contact)),
    companyValues: jsonBytes(Object.fromEntries(company)),
  };
}
