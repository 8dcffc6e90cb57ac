import type { MessageInitShape } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import {
  type SentSmsSchema,
  type SmsSendSchema,
  SmsSendsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { carriedByAll } from "../send/send-facts.ts";
import { SendState } from "../send/send-tables.ts";
import { factReader } from "../visit/fact-kind.ts";

/** The columns of a send that its fact carries. */
export const TEXT_COLUMNS = `hash, version, contact_id, sms_id, date_queued, date_sent, state, reason, code, attempts, address, list_id,
  occasion, source, source_id, content`;

const smsesStatement = prepared(
  "smses_of_sends",
  `select s.id, s.name, s.language, s.sms_type, (select ${CATEGORY_JSON} from categories where id = s.category_id) as category
   from smses s where s.id = any ($1::integer[])`,
);

type SentSms = MessageInitShape<typeof SentSmsSchema>;

/** The text messages of sends as they are now; of those that are there. */
export async function smsesOfSends({ query }: Queryable, ids: number[]): Promise<SentSms[]> {
  if (ids.length === 0) return [];
  const rows = await query(smsesStatement, [[...new Set(ids)]]);
  return rows.map((row) => ({
    id: Number(row.id),
    name: row.name ?? "",
    language: row.language ?? "",
    smsType: row.sms_type ?? "",
    category: Buffer.from(row.category ?? "null"),
  }));
}

/** The text messages that these sends name. */
export function idsOfSmses(rows: Row[]): number[] {
  return [...new Set(rows.map(({ sms_id }) => Number(sms_id)))];
}

/** Events of sends that were decided, with the columns of their facts, each with up to 500 of them. */
export function textEvents(
  verb: "sent" | "failed" | "suppressed",
  rows: Row[],
  smses: SentSms[],
): DomainEvent[] {
  return factEvents(`tidings.content.sms.${verb}`, SmsSendsSchema, rows, (slice) => textsOf(slice, smses));
}

/** Sends as their event carries them. */
export function textsOf(rows: Row[], smses: SentSms[]): MessageInitShape<typeof SmsSendsSchema> {
  const named = new Set(idsOfSmses(rows));
  return { sends: rows.map(textOf), smses: smses.filter(({ id = 0 }) => named.has(id)) };
}

function textOf(row: Row): MessageInitShape<typeof SmsSendSchema> {
  const { text, number, time } = factReader(row);
  const dateAdded = time("date_sent");
  return {
    ...carriedByAll(row),
    smsId: number("sms_id"),
    ...(dateAdded && { dateAdded }),
    isFailed: text("state") === SendState.FAILED,
    content: text("content"),
  };
}
