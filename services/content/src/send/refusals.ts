import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { holdFates, idsByFate } from "@tidings/projection/contact-fates";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { jsonBytes } from "@tidings/resource/json-member";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { contactCommander } from "../visit/contact-command.ts";
import { addressHash } from "./refused-addresses.ts";

/** Why a contact is not written to on a channel, as the API numbers it; 0 takes the refusal back. */
export const RefusalReason = { NONE: 0, UNSUBSCRIBED: 1, BOUNCED: 2 } as const;

/** A contact said no on a channel, or takes it back. */
export interface Refusal {
  contactId: number;
  channel: "email" | "sms";
  reason: (typeof RefusalReason)[keyof typeof RefusalReason];
  /** The message that it came from, where that is known. */
  channelId: number | undefined;
  comments: string;
  /** Takes back only what the contact said itself. */
  isOwnOnly?: boolean;
}

interface Task extends Refusal {
  /** When the contact said so, in milliseconds since 1970. */
  at: number;
  isPassedOn?: boolean;
}

/** SQL: did the contact of this column say no here to emails? */
export function refusesEmails(contactId: string): string {
  return refusesChannel(contactId, "email");
}

/** SQL: did the contact of this column say no here on a channel? So it did where one said no that was merged with it. */
export function refusesChannel(contactId: string, channel: string): string {
  return `exists (select from send_refusals r where r.contact_id in ${idsByFate(contactId)} and r.channel = '${channel}')`;
}

/** SQL: rows of refusals that jobs of a kind have not passed on yet. */
export function unheard(kind: string): string {
  return `jobs where kind = '${kind}' and payload -> 'isPassedOn' is null order by key`;
}

const addressIn = (table: string, channel: string) =>
  `(select s.address from ${table} s where k.channel = '${channel}' and s.contact_id = k.contact_id and s.address is not null order by s.id desc limit 1)`;
/** A no is also one of the address that the contact got its latest message at: of other contacts that have it. */
const keepStatement = prepared(
  "send_refusals_keep",
  `with kept as (
     insert into send_refusals (contact_id, channel, reason)
     select * from unnest($1::integer[], $2::text[], $3::smallint[]) as r (contact_id, channel, reason) order by contact_id, channel
     on conflict (contact_id, channel) do update set reason = excluded.reason
       where excluded.reason <> ${RefusalReason.BOUNCED} or send_refusals.reason = excluded.reason
     returning contact_id, channel, reason
   ), addressed as (
     insert into refused_addresses (channel, address_hash, contact_id, reason)
     select k.channel, ${addressHash("a.address")}, k.contact_id, k.reason from kept k
     cross join lateral (${addressIn("sends", "email")} union all ${addressIn("text_sends", "sms")}) as a (address)
     order by 1, 2, 3
     on conflict (channel, address_hash, contact_id) do update set reason = excluded.reason)
   select contact_id, channel from kept`,
);
const dropStatement = prepared(
  "send_refusals_drop",
  `with sought as (
     select i.id, d.channel from unnest($1::integer[], $2::text[]) as d (contact_id, channel) cross join lateral ${idsByFate("d.contact_id")} as i (id)
   ), dropped as (
     delete from send_refusals r using sought d where r.contact_id = d.id and r.channel = d.channel)
   delete from refused_addresses r using sought d where r.contact_id = d.id and r.channel = d.channel`,
);
const jobs = jobsOf("send_refusal");
/** SQL: rows that are words of contacts which were not passed on yet, also those that were given up. */
export const REFUSALS_UNHEARD = unheard(jobs.kind);
/** A refusal of the same contact, as it is now, stays while it has a job of its own. */
const IS_OVER = `r.contact_id in ${idsByFate("$1::integer")} and r.channel = $2
  and not exists (select from jobs j where j.kind = '${jobs.kind}' and j.key = r.channel || ':' || r.contact_id and j.key <> $3)`;
const endStatement = prepared(
  "send_refusals_end",
  `with ended as (delete from send_refusals r where ${IS_OVER}) delete from refused_addresses r where ${IS_OVER}`,
);
export const KEPT_SECONDS = 10;
/** So many share a call of the contact service. */
const AT_ONCE = 32;

/**
 * Keeps refusals, or takes them back. Sends obey them with this transaction; jobs pass them on to the contact service. Of several by one
 * contact the last holds, but a bounce takes no place of an unsubscribe. A no of a contact that was merged is that of the survivor; that of an erased one
 * is nobody's.
 */
export async function keepRefusals(transaction: Transaction, refusals: Refusal[]): Promise<void> {
  if (refusals.length === 0) return;
  const last = new Map<string, Refusal>();
  for (const refusal of await ofPresentContacts(transaction, refusals)) {
    const key = `${refusal.channel}:${refusal.contactId}`;
    const isWeaker =
      refusal.reason === RefusalReason.BOUNCED && last.get(key)?.reason === RefusalReason.UNSUBSCRIBED;
    if (!isWeaker) last.set(key, refusal);
  }
  const kept = [...last.values()].filter(({ reason }) => reason !== RefusalReason.NONE);
  const dropped = [...last.values()].filter(({ reason }) => reason === RefusalReason.NONE);
  if (dropped.length > 0) transaction.execute(dropStatement, columns(dropped));
  const reasons = kept.map(({ reason }) => reason);
  const rows = kept.length > 0 ? await transaction.query(keepStatement, [...columns(kept), reasons]) : [];
  const heard = new Set(rows.map(({ contact_id, channel }) => `${channel}:${contact_id}`));
  const passedOn = [...last].filter(([key, { reason }]) => heard.has(key) || reason === RefusalReason.NONE);
  const at = Date.now();
  // The latest word of a contact replaces one that is not passed on yet.
  if (passedOn.length > 0)
    jobs.add(
      transaction,
      passedOn.map(([key, refusal]) => ({ key, payload: { ...refusal, at } satisfies Task })),
    );
}

async function ofPresentContacts(transaction: Transaction, refusals: Refusal[]): Promise<Refusal[]> {
  const fates = await holdFates(
    transaction,
    refusals.map(({ contactId }) => contactId),
  );
  return refusals.flatMap((refusal) => {
    const fate = fates.get(refusal.contactId);
    return fate === null ? [] : [{ ...refusal, contactId: fate ?? refusal.contactId }];
  });
}

function columns(refusals: Pick<Refusal, "contactId" | "channel">[]): unknown[][] {
  return [refusals.map(({ contactId }) => contactId), refusals.map(({ channel }) => channel)];
}

/** Passes refusals on to the contact service. While it is away they wait. */
export function refusalJobs(database: Database, log: Log, upstreams: Upstreams): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  const actor = serviceActor("Unsubscribes");
  const command = contactCommander({ contacts, actor });
  const saidNoItself = async ({ channel, contactId }: Task) => {
    const outgoing = { actor, deadlineMs: backgroundDeadline(), requestId: "" };
    const asked = await contacts.checkContactable({ channel, ids: [contactId] }, outgoing);
    return asked.contacts[0]?.refusal === "unsubscribed";
  };
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    async prepare(job) {
      const task = job.payload as unknown as Task;
      if (task.isPassedOn || (task.isOwnOnly && !(await saidNoItself(task)))) return job;
      const { contactId, channel, reason, channelId, comments, at } = task;
      const doNotContact = [{ channel, reason, channelId, comments }];
      await command({
        key: `refusal:${channel}:${contactId}:${at}`,
        contactId,
        effect: { case: "edit", value: { body: jsonBytes({ doNotContact }) } },
      });
      return job;
    },
    async work(transaction, { key, payload }) {
      const task = payload as unknown as Task;
      // Sends whose answer is of before may be on their way: the refusal is kept here until they are over.
      if (!task.isPassedOn)
        return { state: "again", payload: { ...payload, isPassedOn: true }, delaySeconds: KEPT_SECONDS };
      transaction.execute(endStatement, [task.contactId, task.channel, key]);
      return { state: "done" };
    },
  };
}
