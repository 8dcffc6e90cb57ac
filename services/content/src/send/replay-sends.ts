import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import { subjectIn } from "@tidings/jobs/records";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import type { Log } from "@tidings/runtime/log";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents } from "./send-facts.ts";
import { OF_MESSAGES } from "./send-tables.ts";

const SLICE = 2_000;

/** Failed sends of an email that are to be tried again, by the email and the code of the mail server. */
const replayJobs = jobsOf("send_replay", { shown: { subject: EmailSchema, cancel: () => undefined } });

interface Replay extends Record<string, unknown> {
  emailId: number;
  /** The code with which they failed; any when null. */
  code: number | null;
  /** The last send that is done, and the last one that had failed at the start. */
  after: number;
  last: number;
  replayed: number;
}

const emailStatement = prepared(
  "sends_replay_email",
  `select e.id, e.name, e.created_by, coalesce((select max(id) from sends s where s.email_id = e.id and s.state = 'failed'), 0) as last
   from emails e where e.id = $1::integer and ($2::integer is null or e.created_by = $2::integer)`,
);
const recordStatement = prepared(
  "sends_replay_record",
  "select id from job_records where kind = 'send_replay' and key = $1 order by id desc limit 1",
);
/** A slice of those that had failed: one that fails once more meanwhile is behind it. A marketing message went on to its next channel: its mail stays failed. */
const replayStatement = prepared(
  "sends_replay",
  `with slice as (
     select id, code from sends where email_id = $1::integer and state = 'failed' and id > $2::bigint and id <= $3::bigint
     order by id limit ${SLICE} for update
   ), replayed as (
     update sends s set state = 'waiting', version = s.version + 1, lease_token = s.lease_token + 1, due_at = now(), attempts = 0,
       started_at = null, code = null, reason = null
     from slice where s.id = slice.id and s.occasion not like '${OF_MESSAGES}%' and ($4::smallint is null or slice.code = $4::smallint)
     returning s.*
   ), recounted as (
     update broadcasts b set counts = null where b.id in (select broadcast_id from replayed)
   )
   select (select max(id) from slice) as position, (select count(*) from slice) as size, ${FACT_COLUMNS}
   from (select 1) as always left join replayed on true`,
);

/** Plans that failed sends of an email are tried again, each under its key. Answers the id of the job; undefined for an unknown email, and for one of others. */
export async function planReplay(
  transaction: Transaction,
  { emailId, code, ownerId }: { emailId: number; code: number | null; ownerId: number | null },
): Promise<string | undefined> {
  const [email] = await transaction.query(emailStatement, [emailId, ownerId]);
  if (!email) return undefined;
  const key = `${emailId} ${code ?? "any"}`;
  const payload: Replay = { emailId, code, after: 0, last: Number(email.last), replayed: 0 };
  replayJobs.add(transaction, [{ key, payload, subject: subjectIn(email) }]);
  const [record] = await transaction.query(recordStatement, [key]);
  return record?.id ?? "";
}

export interface ReplayOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  /** Called once sends are due again. */
  wake(): void;
}

/** Lets failed sends be tried again, a slice in a transaction. */
export function sendReplays({ database, outbox, log, wake }: ReplayOptions): JobOptions {
  return {
    database,
    log,
    jobs: replayJobs,
    async work(transaction, job) {
      const payload = job.payload as Replay;
      const { emailId, code, after, last } = payload;
      const rows = await transaction.query(replayStatement, [emailId, after, last, code]);
      const replayed = rows.filter(({ hash }) => hash !== null);
      if (replayed.length > 0) {
        const emails = await emailsOfSends(transaction, idsOfEmails(replayed));
        outbox.append(transaction, sendEvents("queued", replayed, emails));
        transaction.afterCommit(wake);
      }
      const done = payload.replayed + replayed.length;
      const progress = { done, result: { sends: done } };
      return Number(rows[0]?.size) < SLICE
        ? { state: "done", progress }
        : {
            state: "again",
            payload: { ...payload, after: Number(rows[0]?.position), replayed: done },
            progress,
          };
    },
  };
}
