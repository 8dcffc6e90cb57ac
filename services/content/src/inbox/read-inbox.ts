import type { Database } from "@tidings/database/database";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { InboxAway, type InboxMail, type Mailbox, openMailbox } from "@tidings/mail/imap-mailbox";
import type { Inbox } from "@tidings/mail/inbox-url";
import type { Outbox } from "@tidings/messaging/outbox";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import type { ReturnAddresses } from "../send/return-addresses.ts";
import { type MailKind, type ReadMail, readInboxMail, type SetAsideReason } from "./inbox-feedback.ts";
import { beginCountingInbox, noteLook, noteMail, noteSetAside } from "./inbox-metrics.ts";
import { recordMails } from "./record-mails.ts";

export interface InboxOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  inbox: Inbox;
  addresses: ReturnAddresses;
}

/** Mails that are recorded together. */
const BATCH = 50;
/** The parts of a report stand before the mail that it returns. */
const MAIL_BYTES_MAX = 256 * 1_024;
/** One look takes so long at most, since a process that stops waits for it. */
const LOOK_MAX_MS = 4_000;
const REST_SECONDS = 30;
const jobs = jobsOf("inbox");
/** People that read the inbox have nothing to do with them. */
const OF_MACHINES = new Set<MailKind>(["report", "unsubscribe", "automatic", "unsigned"]);

/**
 * Reads the inbox every 30 seconds, in one process at a time: whoever has the lease of the job. A mail is marked as handled after it was recorded; one
 * that is read again changes nothing.
 */
export function inboxJobs(options: InboxOptions): JobOptions {
  const { database, log } = options;
  beginCountingInbox();
  return {
    database,
    log,
    jobs,
    async prepare(job) {
      return { ...job, payload: { isMore: await look(options) } };
    },
    work: async (_, { payload }) => ({
      ...{ state: "again", payload: {} },
      delaySeconds: payload.isMore === true ? 0 : REST_SECONDS,
    }),
    // Mails wait in the inbox: nothing is lost by another look.
    onFailure: async () => ({ state: "failed", delaySeconds: REST_SECONDS }),
  };
}

/** Says whether mails are left. An inbox that is away is looked into again later. */
async function look(options: InboxOptions): Promise<boolean> {
  const endAt = performance.now() + LOOK_MAX_MS;
  let mailbox: Mailbox | undefined;
  try {
    mailbox = await openMailbox(options.inbox, { bytesMax: MAIL_BYTES_MAX });
    let count = BATCH;
    while (count === BATCH && performance.now() < endAt) count = await readBatch(options, mailbox);
    noteLook("read");
    return count === BATCH;
  } catch (error) {
    if (!(error instanceof InboxAway)) throw error;
    noteLook(error.reason);
    options.log.warn({ reason: error.reason }, "the inbox cannot be read, trying again");
    return false;
  } finally {
    await mailbox?.close();
  }
}

interface Handled {
  mail: InboxMail;
  read: ReadMail | SetAsideReason;
}

async function readBatch(options: InboxOptions, mailbox: Mailbox): Promise<number> {
  const { addresses, database, log } = options;
  const mails = await mailbox.next(BATCH);
  const handled: Handled[] = [];
  for (const mail of mails)
    handled.push({ mail, read: await readInboxMail(mail, { addresses, now: database.now() }) });
  const { answered, failed } = await recordEach(options, handled);
  const marks = handled.map(({ mail: { uid }, read }) => {
    const kind = typeof read === "string" || failed.has(uid) ? undefined : kindOf(read, answered);
    return { uid, kind, reason: typeof read === "string" ? read : ("failed" as const) };
  });
  await mailbox.mark(
    marks.map(({ uid, kind }) => ({
      ...{ uid, isFlagged: kind === undefined },
      isSeen: kind !== undefined && OF_MACHINES.has(kind),
    })),
  );
  for (const { kind, reason } of marks) {
    if (kind) noteMail(kind);
    else noteSetAside(reason);
  }
  const setAside = marks.filter(({ kind }) => kind === undefined);
  if (setAside.length > 0)
    log.warn(
      { mails: setAside.map(({ uid, reason }) => ({ uid, reason })) },
      "mails of the inbox are flagged",
    );
  return mails.length;
}

function kindOf({ kind, answer }: ReadMail, answered: ReadonlySet<string>): MailKind {
  return answer && answered.has(answer.hash) ? "reply" : kind;
}

interface Recorded {
  answered: ReadonlySet<string>;
  /** Numbers of the mails that could not be recorded. */
  failed: ReadonlySet<number>;
}

/** All at once; where that fails, each by itself, so that one mail holds up no other. */
async function recordEach({ database, outbox, log }: InboxOptions, handled: Handled[]): Promise<Recorded> {
  const read = handled.flatMap(({ mail, read }) =>
    typeof read === "string" ? [] : [{ uid: mail.uid, read }],
  );
  try {
    const mails = read.map((one) => one.read);
    return { answered: await recordMails(database, outbox, mails), failed: new Set() };
  } catch (error) {
    if (isOutage(error)) throw error;
    log.warn({ err: error, mails: read.length }, "mails of the inbox are recorded one by one");
  }
  const answered = new Set<string>();
  const failed = new Set<number>();
  for (const { uid, read: mail } of read)
    try {
      for (const hash of await recordMails(database, outbox, [mail])) answered.add(hash);
    } catch (error) {
      if (isOutage(error)) throw error;
      log.error({ err: error, uid }, "a mail of the inbox cannot be recorded");
      failed.add(uid);
    }
  return { answered, failed };
}
