import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { type Job, jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { OutboundError } from "@tidings/outbound/guard";
import type { Outbound } from "@tidings/outbound/outbound";
import type { Form, FormAction } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { serviceActor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import type { Log } from "@tidings/runtime/log";
import { textOf } from "@tidings/runtime/plain-text";
import type { SecretBox } from "@tidings/secrets/secret-box";
import { type ChosenNotice, chooseNotices } from "../notice/choose-notices.ts";
import { type ActionOutcome, recordOutcome } from "./action-outcome.ts";
import { failureNotice } from "./failure-notice.ts";
import { readForm } from "./read-form.ts";
import { type ReadAnswer, readRepostAnswer } from "./repost-answer.ts";
import { repostRequest } from "./repost-request.ts";
import { resultsOf } from "./results-of.ts";
import { forgetFiles } from "./submission-files.ts";
import type { Submitters } from "./submitter.ts";

export const REPOST = "form.repost";
/** Another form gets so long to answer. */
export const REPOST_MS = 15_000;

/** A submission that is posted to another form. */
export interface Repost {
  submissionId: number;
  /** Milliseconds since the epoch. */
  dateSubmitted: number;
  /** The key of the submission. */
  key: string;
  formId: number;
  /** 0 where nobody knows. */
  contactId: number;
  actionId: number;
}

/** Its effect cannot be repeated: a job is started once, and is `unknown` when its process dies meanwhile. */
const jobs = jobsOf("form_repost");
const AT_ONCE = 16;
const AT_ONCE_OF_FORM = 8;
const actor = serviceActor("Forms");

/** SQL: the job `j` that posts the submission with key `$1` as its form's action `a` says. */
export const REPOST_JOB = "j.kind = 'form_repost' and j.key = $1::uuid || ':' || a.id";

export function planRepost(transaction: Transaction, repost: Repost): void {
  const { key, actionId, formId } = repost;
  jobs.add(transaction, [{ key: `${key.toLowerCase()}:${actionId}`, group: formId, payload: { ...repost } }]);
}

export interface RepostOptions {
  database: Database;
  log: Log;
  outbound: Outbound;
  submitters: Submitters;
  /** Opens the headers with which forms prove themselves. */
  box: SecretBox;
  /** The word in the names of what goes beside the values: `svc`. */
  prefix: string;
}

type Done = Repost & { outcome: ActionOutcome; isTakenBack: boolean; notice?: ChosenNotice | undefined };

/** Posts submissions to other forms, each at most once (ADR 66). A refusal takes the submission back. */
export function reposting(options: RepostOptions): JobOptions {
  const { database, log } = options;
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    atOnceOfGroup: AT_ONCE_OF_FORM,
    async effect(job) {
      return { ...job, payload: { ...job.payload, ...(await post(options, repostOf(job))) } };
    },
    async work(transaction, job) {
      const { outcome, isTakenBack, notice, ...repost } = job.payload as unknown as Done;
      if (isTakenBack) await takeBack(transaction, repost);
      recordOutcome(transaction, repost, outcome);
      if (notice) chooseNotices(transaction, [notice], database.now());
      return { state: "done" };
    },
  };
}

function repostOf({ payload }: Job): Repost {
  return payload as unknown as Repost;
}

const submissionStatement = prepared(
  "form_repost_submission",
  "select results, referer from form_submissions where id = $1 and date_submitted = $2::timestamptz",
);

/** Throws while the contact service is away: then nothing was posted. */
async function post(
  { database, outbound, submitters, box, prefix }: RepostOptions,
  { submissionId, dateSubmitted, key, formId, contactId, actionId }: Repost,
): Promise<Pick<Done, "outcome" | "isTakenBack" | "notice">> {
  const deadlineMs = backgroundDeadline();
  const queries = queryable(database, deadlineMs);
  const form = await readForm(queries, formId);
  const action = form?.actions.find(({ id }) => id === actionId);
  const at = new Date(dateSubmitted).toISOString();
  const [row] = await queries.query(submissionStatement, [submissionId, at]);
  const outcome = { actionId, type: REPOST };
  if (!form || !action || !row) return { outcome: { ...outcome, state: "ignored" }, isTakenBack: false };
  const call: Call = { actor, deadlineMs, requestId: "", reach: () => "all" };
  const contact = contactId ? await submitters.valuesOf(contactId, call) : {};
  const header = box.open(textOf(propertiesOf(action).authorization_header) ?? "");
  const results = resultsOf(row, form);
  const request = repostRequest({
    form,
    action,
    results,
    contact,
    referer: row.referer ?? "",
    prefix,
    header,
  });
  const { isRefusal, answer, failure } = await send(outbound, request, { form, action });
  if (isRefusal) return { outcome: { ...outcome, state: "refused", answer }, isTakenBack: true };
  const state = failure === undefined ? "done" : "refused";
  return {
    outcome: { ...outcome, state, reason: failure, answer },
    isTakenBack: false,
    notice:
      failure === undefined ? undefined : failureNotice({ form, action, key, contactId, results, failure }),
  };
}

async function send(
  outbound: Outbound,
  request: Parameters<Outbound["send"]>[0],
  { form, action }: { form: Form; action: FormAction },
): Promise<ReadAnswer> {
  try {
    return readRepostAnswer(await outbound.send(request), form, action);
  } catch (error) {
    // Whether an unanswered request took effect is not known: it is not sent again.
    if (error instanceof OutboundError)
      return { isRefusal: false, failure: `The other form did not answer: ${error.code}.` };
    throw error;
  }
}

const takeBackStatement = prepared(
  "form_repost_take_back",
  "delete from form_submissions where id = $1 and date_submitted = $2::timestamptz",
);

async function takeBack(transaction: Transaction, { submissionId, dateSubmitted }: Repost): Promise<void> {
  await forgetFiles(transaction, [submissionId]);
  transaction.execute(takeBackStatement, [submissionId, new Date(dateSubmitted).toISOString()]);
}

const progressStatement = prepared(
  "form_repost_progress",
  `select o.state, o.answer is not null as is_answered, j.state as job
   from (select $2::integer as id) a
   left join form_action_outcomes o on o.submission_key = $1::uuid and o.action_id = a.id
   left join jobs j on ${REPOST_JOB}`,
);

/** `new`: nobody planned it. `taken back`: nothing follows any more. `lost`: nobody will do it, and whether it took effect is not known. */
export type RepostProgress = "new" | "pending" | "over" | "taken back" | "lost";

export async function repostProgress(
  { query }: Transaction,
  { key, actionId }: Pick<Repost, "key" | "actionId">,
): Promise<RepostProgress> {
  const [row] = await query(progressStatement, [key, actionId]);
  if (row?.state === "refused" && row.is_answered === "t") return "taken back";
  if (row?.state) return "over";
  if (row?.job === "unknown" || row?.job === "set_aside") return "lost";
  return row?.job ? "pending" : "new";
}
