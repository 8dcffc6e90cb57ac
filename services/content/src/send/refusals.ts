import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { contactCommander } from "../visit/contact-command.ts";

/** Why a contact is not written to on a channel, as the API numbers it; 0 takes the refusal back. */
export const RefusalReason = { NONE: 0, UNSUBSCRIBED: 1, BOUNCED: 2 } as const;

/** A contact said no on a channel, or takes it back. */
export interface Refusal {
  contactId: number;
  channel: "email";
  reason: (typeof RefusalReason)[keyof typeof RefusalReason];
  /** The message that it came from. */
  channelId: number;
  comments: string;
}

interface Task extends Refusal {
  /** When the contact said so, in milliseconds since 1970. */
  at: number;
  isPassedOn?: boolean;
}

/** SQL: did the contact of this column say no here to emails? */
export function refusesEmails(contactId: string): string {
  return `exists (select from send_refusals r where r.contact_id = ${contactId} and r.channel = 'email')`;
}

const keepStatement = prepared(
  "send_refusals_keep",
  "insert into send_refusals (contact_id, channel, reason) values ($1, $2, $3) on conflict (contact_id, channel) do update set reason = excluded.reason",
);
const dropStatement = prepared(
  "send_refusals_drop",
  "delete from send_refusals where contact_id = $1 and channel = $2",
);
const jobs = jobsOf("send_refusal");
/** SQL: rows that are words of contacts which were not passed on yet, also those that were given up. */
export const REFUSALS_UNHEARD = `jobs where kind = '${jobs.kind}' and payload -> 'isPassedOn' is null order by key`;
const KEPT_SECONDS = 10;
/** So many share a call of the contact service. */
const AT_ONCE = 32;

/** Keeps a refusal, or takes it back. Sends obey it with this transaction; a job passes it on to the contact service. */
export function keepRefusal(transaction: Transaction, refusal: Refusal): void {
  const { contactId, channel, reason } = refusal;
  if (reason === RefusalReason.NONE) transaction.execute(dropStatement, [contactId, channel]);
  else transaction.execute(keepStatement, [contactId, channel, reason]);
  // The latest word of a contact replaces one that is not passed on yet.
  jobs.add(transaction, [
    { key: `${channel}:${contactId}`, payload: { ...refusal, at: Date.now() } satisfies Task },
  ]);
}

/** Passes refusals on to the contact service. While it is away they wait. */
export function refusalJobs(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  const command = contactCommander({ contacts, actor: serviceActor("Unsubscribes") });
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    async prepare(job) {
      const task = job.payload as unknown as Task;
      if (task.isPassedOn) return job;
      const { contactId, channel, reason, channelId, comments, at } = task;
      const doNotContact = [{ channel, reason, channelId, comments }];
      await command({
        key: `refusal:${channel}:${contactId}:${at}`,
        contactId,
        effect: { case: "edit", value: { body: jsonBytes({ doNotContact }) } },
      });
      return job;
    },
    async work(transaction, { payload }) {
      const task = payload as unknown as Task;
      // Sends whose answer is of before may be on their way: the refusal is kept here until they are over.
      if (!task.isPassedOn)
        return { state: "again", payload: { ...payload, isPassedOn: true }, delaySeconds: KEPT_SECONDS };
      transaction.execute(dropStatement, [task.contactId, task.channel]);
      return { state: "done" };
    },
  };
}
