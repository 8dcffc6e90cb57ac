import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { keepTaken } from "../callback/event-keys.ts";
import type { Refusal } from "../send/refusals.ts";
import { e164 } from "../text/phone-number.ts";
import { SMS_FACTS } from "../text/sms-facts.ts";
import { newFactId } from "../visit/hit.ts";
import { consentWordOf } from "./consent-word.ts";
import { consentOf, followConsents, withoutBounced } from "./number-consents.ts";
import type { Recording } from "./record-reports.ts";
import { REPLY_COLUMNS, replyEvents } from "./reply-facts.ts";
import type { TextReply } from "./text-event.ts";

/** A reply with the key by which it is taken once. */
interface Keyed extends TextReply {
  key: string;
}

const TEXT_LENGTH_MAX = 10_000;
/** The latest messages to a number whose contacts are looked at; the contact service knows the others. */
const OF_A_NUMBER_MAX = 1_000;

const latestStatement = prepared(
  "text_sends_latest_to",
  `select a.address, s.hash, s.sms_id, s.contact_id from unnest($1::text[]) as a (address)
   cross join lateral (select hash, sms_id, contact_id from text_sends s
     where s.address = a.address and s.state in ('sent', 'unknown') order by s.id desc limit 1) s`,
);
const contactsStatement = prepared(
  "text_sends_contacts_of",
  `select distinct a.address, s.contact_id from unnest($1::text[]) as a (address)
   cross join lateral (select contact_id from text_sends s where s.address = a.address order by s.id desc limit ${OF_A_NUMBER_MAX}) s`,
);
const insertStatement = prepared(
  "text_replies_insert",
  `insert into text_replies (hash, key, contact_id, sms_id, send_hash, address, content, date_replied)
   select r.hash, r.key, r.contact_id, r.sms_id, r.send_hash, r.address, r.content, to_timestamp(r.at / 1000)
   from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::integer[], $5::uuid[], $6::text[], $7::text[], $8::float8[])
     as r (hash, key, contact_id, sms_id, send_hash, address, content, at)
   on conflict (key) do nothing returning ${REPLY_COLUMNS}`,
);

/**
 * Takes messages to us, in the order of their times. One belongs to the latest text message that went to its number. A word of consent is obeyed with this
 * transaction for the contacts that had a message at the number, and for all others with the number as soon as the contact service names them.
 */
export async function recordReplies(
  { transaction, outbox }: Recording,
  received: Keyed[],
  country: string,
): Promise<{ kinds: "reply"[]; refusals: Refusal[] }> {
  if (received.length === 0) return { kinds: [], refusals: [] };
  const replies = received.map((reply) => ({
    ...reply,
    address: e164(reply.address, country) ?? reply.address,
    asked: reply.asked ?? consentWordOf(reply.text),
  }));
  const addresses = [...new Set(replies.map(({ address }) => address))];
  const rows = await transaction.query(latestStatement, [addresses]);
  const latest = new Map(rows.map((row) => [row.address ?? "", row]));
  const taken = replies.filter(({ address, asked }) => latest.has(address) || asked);
  const kept = await keepReplies(transaction, taken, latest);
  const smses = await SMS_FACTS.itemsOf(
    transaction,
    kept.map(({ sms_id }) => Number(sms_id)),
  );
  outbox.append(transaction, replyEvents(kept, smses));
  // A provider may sign no time: a word of consent that somebody recorded takes effect once, whenever it comes again.
  keepTaken(
    transaction,
    taken.flatMap(({ asked, key }) => (asked ? [key] : [])),
  );
  return { kinds: taken.map(({ kind }) => kind), refusals: await refusalsOf(transaction, taken, latest) };
}

function keepReplies(
  transaction: Transaction,
  replies: Keyed[],
  latest: ReadonlyMap<string, Row>,
): Promise<Row[]> {
  const answers = replies.flatMap((reply) => {
    const send = latest.get(reply.address);
    return send ? [{ ...reply, send }] : [];
  });
  if (answers.length === 0) return Promise.resolve([]);
  return transaction.query(insertStatement, [
    answers.map(({ at }) => newFactId(at).id),
    answers.map(({ key }) => key),
    answers.map(({ send }) => send.contact_id),
    answers.map(({ send }) => send.sms_id),
    answers.map(({ send }) => send.hash),
    answers.map(({ address }) => address),
    answers.map(({ text }) => text.slice(0, TEXT_LENGTH_MAX).toWellFormed().replaceAll("\0", "")),
    answers.map(({ at }) => at),
  ]);
}

async function refusalsOf(
  transaction: Transaction,
  replies: Keyed[],
  latest: ReadonlyMap<string, Row>,
): Promise<Refusal[]> {
  const asking = replies.flatMap(({ asked, address, at }) => (asked ? [{ asked, address, at }] : []));
  if (asking.length === 0) return [];
  const rows = await transaction.query(contactsStatement, [asking.map(({ address }) => address)]);
  const byAddress = Map.groupBy(rows, ({ address }) => address);
  const known = new Map(
    [...byAddress].map(([address, found]) => [address, found.map(({ contact_id }) => Number(contact_id))]),
  );
  const consents = asking.map(({ asked, address, at }) => {
    const smsId = latest.get(address)?.sms_id;
    const channelId = smsId ? Number(smsId) : undefined;
    return { asked, number: address, channelId, at, known: known.get(address) ?? [] };
  });
  followConsents(transaction, consents);
  const refusals = consents.flatMap((consent) =>
    consent.known.map((contactId) => consentOf(consent, contactId)),
  );
  return withoutBounced(transaction, refusals);
}
