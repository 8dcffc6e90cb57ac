import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { EmailRepliesSchema, type EmailReplySchema } from "@tidings/proto/tidings/content/v1/events";
import { type SentEmail, sendsOf } from "./send-facts.ts";

/** SQL: the rows of `replied` that are of a send, as JSON; null where there are none. */
export const REPLIES_OF = (hash: string) =>
  `(select json_agg(json_build_object('id', r.id, 'messageId', coalesce(r.message_id, ''), 'at', r.date_replied::text) order by r.id)
    from replied r where r.send_hash = ${hash})`;

interface Reply {
  id: number;
  messageId: string;
  at: string;
}

/** Events of answers to sends, each once: `replies` of a row are those that were recorded now. */
export function replyEvents(rows: Row[], emails: SentEmail[]): DomainEvent[] {
  const replies = rows.flatMap((row) =>
    (JSON.parse(row.replies ?? "[]") as Reply[]).map((reply) => ({ reply, row })),
  );
  return factEvents("tidings.content.email.replied", EmailRepliesSchema, replies, (slice) => ({
    replies: slice.map(toReply),
    answered: sendsOf([...new Set(slice.map(({ row }) => row))], emails),
  }));
}

function toReply({ reply, row }: { reply: Reply; row: Row }): MessageInitShape<typeof EmailReplySchema> {
  return {
    id: reply.id,
    sendId: row.hash ?? "",
    contactId: Number(row.contact_id),
    emailId: Number(row.email_id),
    messageId: reply.messageId,
    dateReplied: timestampFromText(reply.at),
  };
}
