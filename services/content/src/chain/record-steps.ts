import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { leases } from "@tidings/jobs/queue";
import type { Result } from "@tidings/jobs/work";
import type { Outbox } from "@tidings/messaging/outbox";
import { type ChannelName, KIND_OF } from "../channels.ts";
import { assignEmails } from "../send/assign-emails.ts";
import { type ChosenContact, chooseContacts } from "../send/choose-contact.ts";
import { OF_MESSAGES } from "../send/send-tables.ts";
import type { ChosenText } from "../text/choose-text.ts";
import type { TextKind } from "../text/text-kind.ts";
import type { MessageSend } from "./message-queue.ts";
import { MessageState } from "./message-tables.ts";
import type { NextChannel, Step } from "./next-channel.ts";

export interface RecordStepsOptions {
  database: Database;
  outbox: Outbox;
  /** Called once sends are chosen. */
  wake(): void;
}

type Stepped = Result<MessageSend, Step>;

/** The occasion's send, or the address, was there already. */
const TAKEN = "already_sent";
const NO_CHANNEL = "no_channel";

const holdStatement = prepared(
  "message_sends_hold",
  `select m.id from message_sends m join unnest($1::bigint[], $2::integer[]) as held (id, lease_token)
     on m.id = held.id and m.lease_token = held.lease_token
   where lower(m.state) = 'waiting' order by m.id + 0 for update of m`,
);
const recordStatement = prepared(
  "message_sends_record",
  `update message_sends m set state = r.state, channels = r.channels, tried = m.tried || r.tried, channel = r.channel, send_hash = r.send_hash,
     reason = case r.state when 'failed' then coalesce((m.tried || r.tried) -> -1 ->> 'reason', '${NO_CHANNEL}') end, due_at = now() + r.delay_seconds * interval '1 second', attempts = m.attempts + 1
   from jsonb_to_recordset($1::jsonb) as r (id bigint, state text, channels jsonb, tried jsonb, channel text, send_hash uuid, delay_seconds float8)
   where m.id = r.id`,
);

/**
 * Gives messages to their next channels: the send of the channel and the message that waits for it are one transaction, so no two channels have a message.
 * Returns the messages that this process still held.
 */
export async function recordSteps(
  { database, outbox, wake }: RecordStepsOptions,
  results: Stepped[],
): Promise<Set<string>> {
  return database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      const held = await transaction.query(holdStatement, leases(results.map(({ job }) => job)));
      const ids = new Set(held.map(({ id }) => id ?? ""));
      const live = results.filter(({ job }) => ids.has(job.id));
      const hashes = new Map([
        ...(await chooseEmails(transaction, outbox, database.now(), live)),
        ...(await chooseTexts(transaction, database.now(), live)),
      ]);
      const rows = live.map(({ job, outcome }) => ({ id: job.id, ...rowOf(outcome, hashes.get(job.id)) }));
      transaction.execute(recordStatement, [JSON.stringify(rows)]);
      transaction.afterCommit(wake);
      return ids;
    },
    { byIndex: true },
  );
}

function rowOf({ tried, next, left, delaySeconds = 0 }: Step, sendHash: string | undefined) {
  const row = { channels: left, tried, delay_seconds: delaySeconds };
  if (next && sendHash)
    return { ...row, state: MessageState.IN_CHANNEL, channel: next.channel, send_hash: sendHash };
  if (next)
    return {
      ...row,
      state: MessageState.WAITING,
      tried: [...tried, { channel: next.channel, reason: TAKEN }],
    };
  if (left.length > 0) return { ...row, state: MessageState.WAITING };
  return { ...row, state: MessageState.FAILED };
}

/** Messages whose next channel is this one. */
function inChannel<C extends NextChannel["channel"]>(results: Stepped[], channel: C) {
  return results.flatMap(({ job, outcome: { next } }) =>
    next?.channel === channel ? [{ job, next: next as Extract<NextChannel, { channel: C }> }] : [],
  );
}

/** An email and its contacts, of whom each gets the variant and translation that is due to it. Returns sends by the ids of messages. */
async function chooseEmails(
  transaction: Transaction,
  outbox: Outbox,
  now: number,
  results: Stepped[],
): Promise<[string, string | undefined][]> {
  const byEmail = Map.groupBy(inChannel(results, "email"), ({ next }) => next.itemId);
  const chosen: ChosenContact[] = [];
  const messages: string[] = [];
  // In the order of the ids: two processes that count variants never wait for each other.
  for (const [emailId, some] of [...byEmail].toSorted(([one], [other]) => one - other)) {
    const emailIds = await assignEmails(
      transaction,
      { emailId, isDecided: false },
      some.map(({ next }) => next),
    );
    for (const [index, { job, next }] of some.entries()) {
      const { address } = next;
      messages.push(job.id);
      chosen.push({ ...asked(job, "email"), emailId: emailIds[index] ?? emailId, address, tokens: {} });
    }
  }
  const hashes = await chooseContacts({ transaction, outbox, now }, chosen);
  return messages.map((id, index) => [id, hashes[index]]);
}

/** One channel after the other: two processes never wait for each other. Returns sends by the ids of messages. */
async function chooseTexts(
  transaction: Transaction,
  now: number,
  results: Stepped[],
): Promise<[string, string | undefined][]> {
  const sends: [string, string | undefined][] = [];
  for (const [channel, kind] of Object.entries(KIND_OF) as [ChannelName, TextKind][]) {
    const texts = inChannel(results, channel);
    const chosen = texts.map(
      ({ job, next: { itemId, content } }): ChosenText => ({ ...asked(job, channel), itemId, content }),
    );
    const hashes = await kind.choose(transaction, chosen, now);
    sends.push(...texts.map(({ job }, index) => [job.id, hashes[index]] as [string, string | undefined]));
  }
  return sends;
}

function asked({ contactId, occasion, source, sourceId, isBulk }: MessageSend, channel: string) {
  return { contactId, source, sourceId, isBulk, occasion: `${OF_MESSAGES}${occasion}:${channel}` };
}
