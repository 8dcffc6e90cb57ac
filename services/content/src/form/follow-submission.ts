import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { type Job, jobsOf } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import { isLastAttempt, type JobOptions } from "@tidings/jobs/run-jobs";
import type { DomainEvent, Outbox } from "@tidings/messaging/outbox";
import type { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { RpcClient } from "@tidings/rpc/client";
import type { Log } from "@tidings/runtime/log";
import { type ChosenNotice, chooseNotices } from "../notice/choose-notices.ts";
import type { UnsentOptions } from "../send/render-unsent.ts";
import { type CommandContact, contactCommander, identifyVisitor } from "../visit/contact-command.ts";
import { ownDevices } from "../visit/identify.ts";
import { visitorEvents } from "../visit/visitor-events.ts";
import { isProvenBefore, withholdProofs } from "../visit/withheld-proofs.ts";
import { type ActionOutcome, failedOutcome, recordOutcome } from "./action-outcome.ts";
import { withoutBrowser } from "./came-by.ts";
import { carryOutAction, NOTICES, SEND_EMAIL } from "./carry-out-action.ts";
import { emailContact } from "./email-contact.ts";
import { formSubmitted, submittedRow } from "./form-submitted.ts";
import { noticesOfAction } from "./notices-of-action.ts";
import { readForm } from "./read-form.ts";
import { planRepost, REPOST, repostProgress } from "./repost.ts";
import { resultsOf } from "./results-of.ts";
import { type Following, searchOf, type Task } from "./submission-task.ts";

const jobs = jobsOf("form_submission");
/** So many send their commands together. */
const AT_ONCE = 32;
const actor = serviceActor("Forms");

/** Plans what follows from a submission, in its transaction. */
export function planFollowing(transaction: Transaction, following: Following): void {
  const { key, contactId, sighting } = following;
  if (sighting) withholdProofs(transaction, [{ key: searchOf(following), contactId }]);
  jobs.add(transaction, [{ key, payload: { ...following } }]);
}

export interface FollowOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  contacts: RpcClient<typeof ContactCommandService>;
  /** Where visitors find public files. */
  publicUrl: string;
  rendering: UnsentOptions;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once mails were chosen. */
  wake(): void;
}

/**
 * Follows up submissions. While the contact service is away they wait; each step has a key or a transaction by which it takes effect
 * once, whatever is killed in between.
 */
export function followSubmissions(options: FollowOptions): JobOptions {
  const { database, log, contacts } = options;
  const command = contactCommander({ contacts, actor });
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    prepare: (job) => prepare(options, command, job),
    work: (transaction, job) => work(options, transaction, job),
  };
}

async function prepare(options: FollowOptions, command: CommandContact, job: Job): Promise<Job> {
  const { database, log } = options;
  const task = job.payload as unknown as Task;
  if (task.identifiedAs === undefined) {
    const isProven = task.isProven && !(await isDoubted(database, task));
    return withTask(job, { ...task, ...(await identify(command, { ...task, isProven })) });
  }
  const form = await readForm(queryable(database, backgroundDeadline()), task.formId);
  const action = form?.actions[task.actionsDone ?? 0];
  if (!form || !action || action.type === REPOST) return job;
  const { key, identifiedAs: contactId } = task;
  const isByCampaign = (task.cameBy ?? task.sighting?.utm) !== undefined;
  const carryOut = async () => {
    const { hasTransport } = options;
    const acting = { form, action, key, contactId, isByCampaign };
    const outcome = await carryOutAction({ command, hasTransport }, acting);
    const isNotice = outcome.state === "done" && NOTICES.has(action.type);
    if (outcome.state === "done" && action.type === SEND_EMAIL)
      return { outcome, locale: await localeOf(options, contactId) };
    return { outcome, ...(isNotice && { notices: await noticesOf(options, task, { form, action }) }) };
  };
  const carriedOut = await carryOut().catch((error) => {
    if (!isLastAttempt(job, error)) throw error;
    // The submission goes on: its other actions and its event do not wait for somebody to look at this one.
    log.error({ err: error, submission: key, action: action.id }, "an action of a form was given up");
    return { outcome: failedOutcome(action, error) };
  });
  return withTask(job, { ...task, ...carriedOut });
}

/** Is something else that the visitor said still to be followed, or has that found somebody? Then what they overwrite may be another person's. */
async function isDoubted(database: Database, task: Task): Promise<boolean> {
  const { keepsKnownValues, sighting } = task;
  if (!keepsKnownValues || !sighting) return false;
  return !(await isProvenBefore(database, { key: searchOf(task), deviceId: sighting.deviceId }));
}

const LOCALE = "preferred_locale";

async function localeOf({ rendering: { contacts } }: FollowOptions, contactId = 0): Promise<string> {
  return (await contacts.fieldsOf(contactId, [LOCALE])).get(LOCALE) ?? "";
}

async function noticesOf(
  options: FollowOptions,
  task: Task,
  { form, action }: { form: Form; action: FormAction },
): Promise<ChosenNotice[]> {
  const deadlineMs = backgroundDeadline();
  const row = await submittedRow(queryable(options.database, deadlineMs), task);
  const { key, identifiedAs: contactId = 0 } = task;
  return noticesOfAction(options, {
    ...{ form, action, key, contactId, deadlineMs },
    results: resultsOf(row ?? {}, form),
  });
}

function withTask(job: Job, task: Task): Job {
  return { ...job, payload: { ...task } };
}

/** The contact that the submission is of. Throws while that cannot be found out. */
async function identify(
  command: CommandContact,
  task: Task,
): Promise<Required<Pick<Task, "identifiedAs" | "isFound" | "isApart">>> {
  const { contactId, key } = task;
  const value = identificationOf(task);
  // The visitor stays who they were.
  if (!value) return { identifiedAs: contactId, isFound: false, isApart: false };
  return identifyVisitor(command, { key: `form:${key}:identify`, contactId, value });
}

/** The identification that a submission asks for; undefined where it says nothing of a contact. */
export function identificationOf({
  values,
  companyValues,
  isKiosk,
  isNew,
  keepsKnownValues,
  isProven,
  ip,
  newContactId,
  sighting,
  consent,
}: Omit<Following, "submissionId" | "key" | "formId" | "dateSubmitted" | "isAgreeing">) {
  const hasValues = Object.keys(values).length + Object.keys(companyValues).length > 0;
  if (!hasValues && !isKiosk && !consent) return undefined;
  return {
    ...{ values: jsonBytes(values), companyValues: jsonBytes(companyValues), newContactId },
    ...{ isKiosk, isNew, keepsKnownValues, isProven, ip: isKiosk ? "" : ip },
    ...{ proof: "form", deviceId: sighting?.deviceId ?? "" },
    ...(consent && { consent: { ...consent, by: "form" } }),
  };
}

async function work(options: FollowOptions, transaction: Transaction, { payload }: Job): Promise<Outcome> {
  const task = payload as unknown as Task;
  // One trip to the database.
  const [form, row, seen] = await Promise.all([
    readForm(transaction, task.formId),
    submittedRow(transaction, task),
    task.actionsDone === undefined ? giveToContact(transaction, task) : [],
  ]);
  const action = form?.actions[task.actionsDone ?? -1];
  if (action?.type === REPOST) {
    const waiting = await followRepost(transaction, task, action.id);
    if (waiting) return waiting;
  }
  const { outcome, notices = [], looks: _looks, locale = "", ...rest } = task;
  const { key, formId, identifiedAs: contactId = 0 } = task;
  const isEmail = form && action?.type === SEND_EMAIL && outcome?.state === "done";
  const refused = isEmail
    ? await sendEmail(options, transaction, task, { form, row, action, locale })
    : undefined;
  if (outcome) recordOutcome(transaction, { key, formId, contactId }, { ...outcome, ...refused });
  if (notices.length > 0) chooseNotices(transaction, notices, options.database.now());
  if (notices.length > 0) transaction.afterCommit(options.wake);
  const actionsDone = task.actionsDone === undefined ? 0 : task.actionsDone + 1;
  const isOver = !form || actionsDone >= form.actions.length;
  // Its receivers see what the actions did (engines.md 8.4), and no repost can take it back any more.
  const submitted =
    form && row && isOver ? [await formSubmitted(options, transaction, task, { form, row })] : [];
  options.outbox.append(transaction, [...seen, ...submitted]);
  return isOver ? { state: "done" } : { state: "again", payload: { ...rest, actionsDone } };
}

/** Answers why the contact gets no email, where it gets none. */
async function sendEmail(
  { outbox, database, wake }: FollowOptions,
  transaction: Transaction,
  task: Task,
  {
    form,
    row = {},
    action,
    locale,
  }: { form: Form; row: Row | undefined; action: FormAction; locale: string },
): Promise<Pick<ActionOutcome, "state" | "reason"> | undefined> {
  const { key, identifiedAs: contactId = 0 } = task;
  const results = resultsOf(row, form);
  const choosing = { transaction, outbox, now: database.now() };
  const isSent = await emailContact(choosing, { form, action, key, contactId, results, locale });
  transaction.afterCommit(wake);
  return isSent ? undefined : { state: "refused", reason: "The email is not published." };
}

const LOOK_FIRST_SECONDS = 0.5;
const LOOK_MAX_SECONDS = 30;

/** Leaves a repost to its own job, and waits until that is over. Undefined when the next action may begin. */
async function followRepost(
  transaction: Transaction,
  { looks = 0, ...task }: Task,
  actionId: number,
): Promise<Outcome | undefined> {
  const { key, formId, submissionId, dateSubmitted, identifiedAs: contactId = 0 } = task;
  const progress = await repostProgress(transaction, { key, actionId });
  if (progress === "taken back") return { state: "done" };
  if (progress === "over") return undefined;
  if (progress === "lost") {
    const reason = "The process that posted it ended meanwhile.";
    const outcome: ActionOutcome = { actionId, type: REPOST, state: "unknown", reason };
    recordOutcome(transaction, { key, formId, contactId }, outcome);
    return undefined;
  }
  if (progress === "new")
    planRepost(transaction, { key, formId, submissionId, dateSubmitted, contactId, actionId });
  const delaySeconds = Math.min(LOOK_MAX_SECONDS, LOOK_FIRST_SECONDS * 2 ** looks);
  return { state: "again", payload: { ...task, looks: looks + 1 }, delaySeconds };
}

const ownStatement = prepared(
  "form_submissions_own",
  "update form_submissions set contact_id = $3 where id = $1 and date_submitted = $2::timestamptz",
);
/** Gives the submission and the device to their contact, and answers the events of the visit. */
async function giveToContact(transaction: Transaction, task: Task): Promise<DomainEvent[]> {
  const { submissionId, dateSubmitted, identifiedAs: contactId = 0, sighting, isNew } = task;
  const { isFound = false, isApart = false } = task;
  const at = new Date(dateSubmitted).toISOString();
  transaction.execute(ownStatement, [submissionId, at, contactId || null]);
  if (!contactId) return [];
  if (sighting) {
    await ownDevices(transaction, [
      { key: searchOf(task), deviceId: sighting.deviceId, contactId, isFound, isApart },
    ]);
    const isBeginning = isNew && contactId === task.contactId;
    const proof = isBeginning ? "device" : "";
    const visitor = { contactId, isNew: isBeginning, proof, isAgreeing: task.isAgreeing } as const;
    return visitorEvents([{ sighting, visitor }]);
  }
  if (!task.cameBy) return [];
  const visitor = { contactId, isNew: false, proof: "", isAgreeing: false } as const;
  return visitorEvents([{ sighting: withoutBrowser(task.cameBy, dateSubmitted), visitor }]);
}
