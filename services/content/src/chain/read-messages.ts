import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { type Outcome, outcomeOfRow, sendOfOccasion } from "../send/outcomes.ts";
import type { TriedChannel } from "./next-channel.ts";

/**
 * SQL: marketing messages with what became of them: the outcome of the send that has it, or else its own. A send that is not in the ledger any more
 * says nothing.
 */
export const MESSAGE_OUTCOMES = `(
  select m.id, m.hash, m.message_id, m.contact_id, m.chosen_contact_id, m.occasion, m.channel, m.tried,
    coalesce(s.state, t.state, w.state, n.state, case m.state when 'in_channel' then 'unknown' else m.state end) as state,
    coalesce(s.reason, t.reason, w.reason, n.reason, m.reason) as reason, coalesce(s.code, t.code, w.code, n.code) as code,
    coalesce(s.due_at, t.due_at, w.due_at, n.due_at, m.due_at) as due_at
  from message_sends m left join sends s on m.channel = 'email' and s.hash = m.send_hash
    left join text_sends t on m.channel = 'sms' and t.hash = m.send_hash
    left join tweet_sends w on m.channel = 'tweet' and w.hash = m.send_hash
    left join notification_sends n on m.channel in ('notification', 'mobile_notification') and n.hash = m.send_hash) as message_sends`;

const byHashStatement = prepared(
  "message_sends_by_hash",
  `select contact_id, hash, state, reason, code, channel, tried from ${MESSAGE_OUTCOMES} where hash = $1::uuid`,
);
const ofOccasionStatement = prepared(
  "message_sends_of_occasion",
  sendOfOccasion(MESSAGE_OUTCOMES, "message_id", "channel, tried"),
);

/** The outcome of a message; undefined for an unknown one. */
export async function readMessage({ query }: Queryable, hash: string): Promise<Outcome | undefined> {
  const [row] = await query(byHashStatement, [hash]);
  return row && outcomeOfMessage(row);
}

/** The outcomes of messages of an occasion, for those of these contacts that have one. */
export async function messagesOfOccasion(
  { query }: Queryable,
  { itemId, occasion, contactIds }: { itemId: number; occasion: string; contactIds: number[] },
): Promise<Outcome[]> {
  return (await query(ofOccasionStatement, [itemId, occasion, contactIds])).map(outcomeOfMessage);
}

function outcomeOfMessage(row: Row): Outcome {
  const tried: TriedChannel[] = JSON.parse(row.tried ?? "[]");
  return { ...outcomeOfRow(row), channel: row.channel ?? "", tried };
}
