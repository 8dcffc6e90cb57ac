import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { SmsRepliesSchema, type SmsReplySchema } from "@tidings/proto/tidings/content/v1/events";
import { sentSmsOf } from "../text/sms-facts.ts";
import { factReader } from "../visit/fact-kind.ts";

/** The columns of a reply that its fact carries. */
export const REPLY_COLUMNS = "hash, version, contact_id, sms_id, send_hash, address, content, date_replied";

/** Events of replies that came, each with up to 500 of them. */
export function replyEvents(rows: Row[], smses: Row[]): DomainEvent[] {
  return factEvents("tidings.content.sms.replied", SmsRepliesSchema, rows, (slice) =>
    repliesOf(slice, smses),
  );
}

/** Replies as their event carries them. */
export function repliesOf(rows: Row[], smses: Row[]): MessageInitShape<typeof SmsRepliesSchema> {
  const named = new Set(rows.map(({ sms_id }) => sms_id));
  return { replies: rows.map(replyOf), smses: smses.filter(({ id }) => named.has(id)).map(sentSmsOf) };
}

function replyOf(row: Row): MessageInitShape<typeof SmsReplySchema> {
  const { text, number, time } = factReader(row);
  const dateReplied = time("date_replied");
  return {
    id: text("hash"),
    version: number("version"),
    contactId: number("contact_id"),
    smsId: number("sms_id"),
    sendHash: text("send_hash"),
    address: text("address"),
    content: text("content"),
    ...(dateReplied && { dateReplied }),
  };
}
