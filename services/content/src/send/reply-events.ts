import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database, prepared, queryable } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import { factEvents } from "@tidings/messaging/fact-events";
import { type FactSource, factSource } from "@tidings/messaging/facts";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { EmailRepliesSchema, type EmailReplySchema } from "@tidings/proto/tidings/content/v1/events";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, type SentEmail, sendsOf } from "./send-facts.ts";

/** SQL: the rows of `replied` that are of a send, as JSON; null where there are none. */
export const REPLIES_OF = (hash: string) =>
  `(select json_agg(json_build_object('id', r.id, 'messageId', coalesce(r.message_id, ''), 'at', r.date_replied::text) order by r.id)
    from replied r where r.send_hash = ${hash})`;

const answeredStatement = prepared(
  "send_replies_answered",
  `with replied as (select * from send_replies where id = any ($1::integer[]))
   select ${FACT_COLUMNS}, ${REPLIES_OF("sends.hash")} as replies from sends where hash in (select send_hash from replied)`,
);

interface Reply {
  id: number;
  messageId: string;
  at: string;
}

/** Events of answers to sends, each once: `replies` of a row are those that were recorded now. */
export function replyEvents(rows: Row[], emails: SentEmail[]): DomainEvent[] {
  return factEvents("tidings.content.email.replied", EmailRepliesSchema, answersIn(rows), (slice) =>
    toMessage(slice, emails),
  );
}

/** All answers, for services that make a replica of them from nothing. */
export function replyFacts(database: Database): FactSource {
  return factSource(database, {
    ...{ type: EmailRepliesSchema.typeName, table: "send_replies", key: "id", columns: [] },
    async eventsOf(replies) {
      const queries = queryable(database, backgroundDeadline());
      const rows = await queries.query(answeredStatement, [replies.map(({ id }) => id)]);
      const emails = await emailsOfSends(queries, idsOfEmails(rows));
      const message = create(EmailRepliesSchema, toMessage(answersIn(rows), emails));
      return [toBinary(EmailRepliesSchema, message)];
    },
  });
}

interface Answer {
  reply: Reply;
  row: Row;
}

function answersIn(rows: Row[]): Answer[] {
  return rows.flatMap((row) => (JSON.parse(row.replies ?? "[]") as Reply[]).map((reply) => ({ reply, row })));
}

function toMessage(answers: Answer[], emails: SentEmail[]): MessageInitShape<typeof EmailRepliesSchema> {
  return {
    replies: answers.map(toReply),
    answered: sendsOf([...new Set(answers.map(({ row }) => row))], emails),
  };
}

function toReply({ reply, row }: Answer): MessageInitShape<typeof EmailReplySchema> {
  return {
    id: reply.id,
    sendId: row.hash ?? "",
    contactId: Number(row.contact_id),
    emailId: Number(row.email_id),
    messageId: reply.messageId,
    dateReplied: timestampFromText(reply.at),
  };
}
