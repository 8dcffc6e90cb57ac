import { prepared, queryByIndex } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { v7 } from "uuid";
import { beginBroadcast, SMS_BROADCASTS } from "../send/broadcast-kind.ts";
import type { Recipient } from "../send/choose-recipients.ts";
import { chosenReader, isChosenAs } from "../send/chosen-behind.ts";
import { IS_CLOSED_SMS } from "../send/is-closed.ts";
import { notWritten } from "../send/not-written.ts";
import type { ContactRange } from "../send/read-segments.ts";
import { type BroadcastOptions, broadcastRunner, mostOf } from "../send/run-broadcasts.ts";
import { LIST } from "../send/send-tables.ts";
import { newFactId } from "../visit/hit.ts";
import { e164 } from "./phone-number.ts";
import { SMS_FACTS } from "./sms-facts.ts";
import type { TextSending } from "./text-sending.ts";

/** A text message that is sent to segments. */
export interface NewSmsBroadcast {
  smsId: number;
  segmentIds: number[];
  /** No more recipients than these; all when undefined. */
  recipientsMax: number | undefined;
  /** No more recipients are chosen at a time. */
  batch?: number | undefined;
  /** Only these contacts. */
  contacts?: ContactRange;
  createdBy: number | null;
}

/** A member with the message that it gets, or why it gets none. */
interface Written {
  contactId: number;
  segmentId: number;
  address: string | null;
  content: string;
  reason: string | null;
}

const SLICE = 500;
/** A contact, and a number, gets a text message once by sends to segments. */
const textedBehind = chosenReader("text_sends", "sms_id");
const MALFORMED = "The phone number is malformed.";

const addStatement = prepared(
  "broadcasts_add_sms",
  `insert into broadcasts (id, sms_id, list_ids, recipients_max, created_by, min_contact_id, max_contact_id, batch, position)
   select $1::uuid, s.id, $3::integer[], $4::integer, $5::integer, $6::integer, $7::integer, $8::integer, coalesce($6::integer, 1) - 1 from smses s where s.id = $2::integer`,
);
const readStatement = prepared(
  "broadcasts_read_sms",
  `select b.state, b.is_paused, b.position, b.max_contact_id, b.batch, b.sms_id, array_to_json(b.list_ids) as lists, s.message, s.language
   from broadcasts b left join smses s on s.id = b.sms_id where b.id = $1::uuid`,
);
const holdStatement = prepared(
  "broadcasts_hold_sms",
  `select b.*, ${IS_CLOSED_SMS} as is_closed, ${SMS_BROADCASTS.follows} as follows
   from broadcasts b where b.id = $1::uuid for update of b`,
);
/** Members that have the message: themselves, a contact that was merged into them, or their number. */
const hadStatement = prepared(
  "text_sends_had",
  `select r.contact_id from unnest($2::integer[], $3::text[]) as r (contact_id, address)
   where ${isChosenAs("text_sends", "s.sms_id + 0 = $1 and s.address = r.address")}
     or ${isChosenAs("text_sends", "s.contact_id = r.contact_id and s.sms_id + 0 = $1")}`,
);
const chooseStatement = prepared(
  "text_sends_choose_members",
  `insert into text_sends (hash, sms_id, contact_id, chosen_contact_id, occasion, content, address, list_id, source, source_id, broadcast_id, state, reason)
   select r.hash, $8::integer, r.contact_id, r.contact_id, '${LIST}', r.content, r.address, r.list_id, 'broadcast', $8::integer, $7::uuid,
     case when r.reason is null then 'waiting' else 'failed' end, r.reason
   from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[]) as r (hash, contact_id, content, address, list_id, reason)
   order by r.contact_id
   on conflict do nothing returning ${SMS_FACTS.columns}`,
);

/** Begins to send a text message to segments. Its id is that of the broadcast. */
export async function addSmsBroadcast(
  transaction: Transaction,
  { smsId, segmentIds, recipientsMax, contacts, batch, createdBy }: NewSmsBroadcast,
): Promise<string> {
  const id = v7();
  transaction.execute(addStatement, [
    id,
    smsId,
    segmentIds,
    recipientsMax ?? null,
    createdBy,
    contacts?.minContactId ?? null,
    contacts?.maxContactId ?? null,
    batch ?? null,
  ]);
  await beginBroadcast(SMS_BROADCASTS, transaction, { id, itemId: smsId });
  return id;
}

interface SmsBroadcastOptions extends BroadcastOptions {
  render: TextSending["render"];
  /** Numbers without a code of a country belong to this one. */
  country: string;
}

/** Chooses the recipients of broadcasts of text messages. Each message is written before its row: the row keeps it. */
export function smsBroadcastJobs({ render, country, ...options }: SmsBroadcastOptions): JobOptions {
  const { database, outbox } = options;
  const write = async (
    row: Row,
    { contactId, segmentId, address }: Recipient & { address: string },
  ): Promise<Written> => {
    const number = e164(address, country);
    const member = { contactId, segmentId, address: number ?? null };
    if (number === undefined) return { ...member, content: "", reason: MALFORMED };
    const written = await render({ ...row, id: row.sms_id ?? null }, contactId).catch(notWritten);
    return typeof written === "string"
      ? { ...member, content: written, reason: null }
      : { ...member, content: "", reason: written.reason };
  };
  return broadcastRunner<Written>(options, SMS_BROADCASTS, {
    slice: SLICE,
    readStatement,
    holdStatement,
    chosenBehind: (row, after, deadlineMs) => textedBehind(database, Number(row.sms_id), after, deadlineMs),
    async freshOf(row, members, deadlineMs) {
      if (members.length === 0) return [];
      const numbers = members.map(({ address }) => e164(address, country) ?? null);
      const ids = members.map(({ contactId }) => contactId);
      const rows = await queryByIndex(database, hadStatement, [row.sms_id, ids, numbers], deadlineMs);
      const had = new Set(rows.map(({ contact_id }) => Number(contact_id)));
      const fresh = members.filter(({ contactId }) => !had.has(contactId));
      return Promise.all(fresh.map((member) => write(row, member)));
    },
    async choose({ transaction, id, row }, fresh) {
      const left = mostOf(row) - Number(row.chosen);
      const members = fresh.slice(0, left);
      const now = database.now();
      const rows = await transaction.query(chooseStatement, [
        members.map(() => newFactId(now).id),
        members.map(({ contactId }) => contactId),
        members.map(({ content }) => content),
        members.map(({ address }) => address),
        members.map(({ segmentId }) => segmentId),
        members.map(({ reason }) => reason),
        id,
        row.sms_id,
      ]);
      const failed = rows.filter(({ state }) => state === "failed");
      if (failed.length > 0)
        outbox.append(
          transaction,
          SMS_FACTS.events("failed", failed, await SMS_FACTS.itemsOf(transaction, [Number(row.sms_id)])),
        );
      return { chosen: rows.length, isFull: rows.length >= left };
    },
  });
}
