import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { type Job, jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { domainEvent, type Outbox } from "@tidings/messaging/outbox";
import type { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { FormSubmittedSchema } from "@tidings/proto/tidings/content/v1/events";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { RpcClient } from "@tidings/rpc/client";
import type { Log } from "@tidings/runtime/log";
import { identifyVisitor } from "../visit/contact-command.ts";
import { ownDevices } from "../visit/identify.ts";
import { type Sighting, type Visitor, visitorEvents } from "../visit/visitors.ts";
import { type ActionOutcome, carryOutAction, OUTCOMES_TABLE } from "./carry-out-action.ts";
import { readForm } from "./read-form.ts";
import { resultsOf } from "./results-of.ts";

/** A submission that something follows from. */
export interface Following {
  submissionId: number;
  /** A UUID, by which all that follows takes effect once. */
  key: string;
  formId: number;
  /** Milliseconds since the epoch. */
  dateSubmitted: number;
  /** The contact that the visitor was so far; 0 where nobody knows. */
  contactId: number;
  /** The contact begins with this submission. */
  isNew: boolean;
  isKiosk: boolean;
  keepsKnownValues: boolean;
  /** The visitor has proven to be that contact. */
  isProven: boolean;
  /** An id for a contact that has to be made. */
  newContactId: number;
  values: Record<string, string>;
  companyValues: Record<string, string>;
  sighting: Sighting | undefined;
  /** The visitor's answer to the form's question for consent, and the page of the form. */
  consent?: { given: boolean; where: string } | undefined;
  /** The visitor agreed to be recognised before, by a page's script. */
  isAgreeing: boolean;
  ip: string;
}

/** The work that is left: first finding out whose submission it is, then one action after the other. */
interface Task extends Following {
  /** Known once the contact is. */
  identifiedAs?: number;
  isFound?: boolean;
  /** Actions that are done. */
  actionsDone?: number;
  outcome?: ActionOutcome;
}

const jobs = jobsOf("form_submission");
const AT_ONCE = 8;
const actor = serviceActor("Forms");

/** Plans what follows from a submission, in its transaction. */
export function planFollowing(transaction: Transaction, following: Following): void {
  jobs.add(transaction, [{ key: following.key, payload: { ...following } }]);
}

export interface FollowOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  contacts: RpcClient<typeof ContactCommandService>;
}

/**
 * Follows up submissions. While the contact service is away they wait; each step has a key or a transaction by which it takes effect
 * once, whatever is killed in between.
 */
export function followSubmissions(options: FollowOptions): JobOptions {
  const { database, log } = options;
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    prepare: (job) => prepare(options, job),
    work: (transaction, job) => work(options, transaction, job),
  };
}

async function prepare({ database, contacts }: FollowOptions, job: Job): Promise<Job> {
  const task = job.payload as unknown as Task;
  if (task.identifiedAs === undefined) return withTask(job, { ...task, ...(await identify(contacts, task)) });
  const form = await readForm(queryable(database, backgroundDeadline()), task.formId);
  const action = form?.actions[task.actionsDone ?? 0];
  if (!form || !action) return job;
  const { key, submissionId, identifiedAs: contactId } = task;
  return withTask(job, {
    ...task,
    outcome: await carryOutAction({ contacts, actor }, { form, action, key, submissionId, contactId }),
  });
}

function withTask(job: Job, task: Task): Job {
  return { ...job, payload: { ...task } };
}

/** The contact that the submission is of. Throws while that cannot be found out. */
async function identify(
  contacts: FollowOptions["contacts"],
  task: Task,
): Promise<Required<Pick<Task, "identifiedAs" | "isFound">>> {
  const { contactId, values, companyValues } = task;
  const hasValues = Object.keys(values).length + Object.keys(companyValues).length > 0;
  // Nothing was said of anybody: the visitor stays who they were.
  if (!hasValues && !task.isKiosk && !task.consent) return { identifiedAs: contactId, isFound: false };
  const value = {
    values: jsonBytes(values),
    companyValues: jsonBytes(companyValues),
    isKiosk: task.isKiosk,
    isNew: task.isNew,
    keepsKnownValues: task.keepsKnownValues,
    isProven: task.isProven,
    ip: task.isKiosk ? "" : task.ip,
    newContactId: task.newContactId,
    proof: "form",
    deviceId: task.sighting?.deviceId ?? "",
    ...(task.consent && { consent: { ...task.consent, by: "form" } }),
  };
  return identifyVisitor({ contacts, actor }, { key: `form:${task.key}:identify`, contactId, value });
}

async function work({ outbox }: FollowOptions, transaction: Transaction, { payload }: Job) {
  const task = payload as unknown as Task;
  const form = await readForm(transaction, task.formId);
  if (task.actionsDone === undefined) {
    await publishSubmission(outbox, transaction, task, form);
    const isOver = !form || form.actions.length === 0;
    return isOver ? done() : again({ ...task, actionsDone: 0 });
  }
  if (task.outcome) transaction.execute(outcomeStatement, outcomeValues(task, task.outcome));
  const { outcome: _outcome, ...rest } = task;
  const next = { ...rest, actionsDone: task.actionsDone + 1 };
  return !form || next.actionsDone >= form.actions.length ? done() : again(next);
}

const done = () => ({ state: "done" as const });
const again = (task: Task) => ({ state: "again" as const, payload: { ...task } });

const outcomeStatement = prepared(
  "form_action_outcomes_add",
  `insert into ${OUTCOMES_TABLE} (submission_key, action_id, form_id, contact_id, type, state, reason)
   values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
);

function outcomeValues(
  { key, formId, identifiedAs }: Task,
  { actionId, type, state, reason }: ActionOutcome,
) {
  return [key, actionId, formId, identifiedAs || null, type, state, reason ?? null];
}

const ownStatement = prepared(
  "form_submissions_own",
  `update form_submissions set contact_id = $3 where id = $1 and date_submitted = $2::timestamptz
   returning id, ip, tracking_id, referer, page_id, results`,
);
const categoryStatement = prepared(
  "form_submitted_category",
  `select ${CATEGORY_JSON} as shown from categories where id = $1`,
);

/** Gives the submission to its contact and publishes its event, in one transaction. */
async function publishSubmission(
  outbox: Outbox,
  transaction: Transaction,
  task: Task,
  form: Form | undefined,
): Promise<void> {
  const { submissionId, dateSubmitted, identifiedAs: contactId = 0, isFound = false, sighting, isNew } = task;
  const at = new Date(dateSubmitted).toISOString();
  const [row] = await transaction.query(ownStatement, [submissionId, at, contactId || null]);
  if (sighting && contactId) ownDevices(transaction, [{ deviceId: sighting.deviceId, contactId, isFound }]);
  if (!row || !form) return;
  const isBeginning = isNew && contactId === task.contactId;
  const seen =
    sighting && contactId
      ? visitorEvents([
          { sighting, visitor: { contactId, isNew: isBeginning, ...seenBy(task, isBeginning) } },
        ])
      : [];
  const [category] = form.category ? await transaction.query(categoryStatement, [form.category.id]) : [];
  outbox.append(transaction, [
    ...seen,
    domainEvent(
      "tidings.content.form.submitted",
      { id: submissionId, version: 1 },
      FormSubmittedSchema,
      submittedOf(task, form, row, category?.shown ?? "null"),
    ),
  ]);
}

function seenBy({ isAgreeing }: Task, isBeginning: boolean): Pick<Visitor, "proof" | "isAgreeing"> {
  return { proof: isBeginning ? "device" : "", isAgreeing };
}

function submittedOf(
  { key, formId, dateSubmitted, identifiedAs: contactId = 0 }: Task,
  form: Form,
  row: Row,
  category: string,
): MessageInitShape<typeof FormSubmittedSchema> {
  return {
    submissionId: key,
    contactId,
    formId,
    dateSubmitted: timestampFromMs(dateSubmitted),
    ip: row.ip ?? "",
    trackingId: row.tracking_id ?? "",
    referer: row.referer ?? "",
    ...(row.page_id && { pageId: Number(row.page_id) }),
    results: jsonBytes(resultsOf(row, form)),
    formName: form.name,
    formAlias: form.alias,
    formCategory: Buffer.from(category),
    formType: form.formType ?? "",
    ...(form.createdBy !== undefined && { formCreatedBy: form.createdBy }),
  };
}
