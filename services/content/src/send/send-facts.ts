import type { MessageInitShape } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import {
  type EmailSendSchema,
  EmailSendsSchema,
  type SentEmailSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { factReader } from "../visit/fact-kind.ts";
import { Lane, SendState } from "./send-tables.ts";

/** The columns of a send that its fact carries. */
export const FACT_COLUMNS = `hash, version, contact_id, email_id, date_queued, date_sent, date_read, open_count, last_opened, viewed_in_browser,
  state, reason, code, attempts, address, list_id, occasion, source, source_id, lane, tokens, bounce, date_bounced, date_complained,
  ip, open_details, email_version`;

/** The columns of a send that was just chosen: all others have no value. */
export const CHOSEN_COLUMNS = `hash, version, contact_id, email_id, date_queued, state, address, list_id, occasion, source, source_id, lane,
  email_version`;

/** Its plan is kept: an array as it is would be planned for anew at each group of mails. */
const emailsStatement = prepared(
  "emails_of_sends",
  `select e.id, e.name, e.subject, e.language, e.email_type, (select ${CATEGORY_JSON} from categories where id = e.category_id) as category
   from emails e where e.id = any ((select $1::integer[])::integer[])`,
);
/** Longer ones would make an event of 500 sends too large to read at once. */
const TOKENS_LENGTH_MAX = 20_000;

/** Changes of sends that are published. */
export type SendVerb = "queued" | "sent" | "failed" | "suppressed" | "opened" | "bounced" | "complained";

export type SentEmail = MessageInitShape<typeof SentEmailSchema>;

/** The emails of sends, by their ids, as they are now; of those that are there. */
export async function emailsOfSends({ query }: Queryable, ids: number[]): Promise<SentEmail[]> {
  if (ids.length === 0) return [];
  return (await query(emailsStatement, [[...new Set(ids)]])).map(emailOf);
}

/** The emails that these sends name. */
export function idsOfEmails(rows: Row[]): number[] {
  return [...new Set(rows.map(({ email_id }) => Number(email_id)))];
}

/** Events of sends that changed, with the columns of their facts, each with up to 500 of them. */
export function sendEvents(verb: SendVerb, rows: Row[], emails: SentEmail[]): DomainEvent[] {
  const subject = `tidings.content.email.${verb}`;
  return factEvents(subject, EmailSendsSchema, rows, (slice) => sendsOf(slice, emails));
}

/** Sends as their event carries them. */
export function sendsOf(rows: Row[], emails: SentEmail[]): MessageInitShape<typeof EmailSendsSchema> {
  const named = new Set(idsOfEmails(rows));
  return { sends: rows.map(sendOf), emails: emails.filter(({ id = 0 }) => named.has(id)) };
}

function sendOf(row: Row): MessageInitShape<typeof EmailSendSchema> {
  const { text, number, flag, time } = factReader(row);
  const [dateSent, dateRead, lastOpened] = [time("date_sent"), time("date_read"), time("last_opened")];
  const [dateBounced, dateComplained] = [time("date_bounced"), time("date_complained")];
  const tokens = text("tokens");
  return {
    ...carriedByAll(row),
    emailId: number("email_id"),
    ...(dateSent && { dateSent }),
    ...(dateRead && { dateRead }),
    readCount: number("open_count"),
    ...(lastOpened && { lastOpened }),
    opens: number("opens"),
    viewedInBrowser: flag("viewed_in_browser"),
    isFailed: text("state") === SendState.FAILED || text("bounce") === "hard",
    isBulk: number("lane") === Lane.BULK,
    bounce: text("bounce"),
    ...(dateBounced && { dateBounced }),
    ...(dateComplained && { dateComplained }),
    ip: text("ip"),
    openDetails: Buffer.from(text("open_details")),
    emailVersion: number("email_version"),
    tokens: tokens.length > TOKENS_LENGTH_MAX ? new Uint8Array() : Buffer.from(tokens),
  };
}

/** The members that sends of every channel carry. */
export function carriedByAll(row: Row) {
  const { text, number, optional, time } = factReader(row);
  const dateQueued = time("date_queued");
  const [code, listId, sourceId] = [optional("code"), optional("list_id"), optional("source_id")];
  return {
    id: text("hash"),
    version: number("version"),
    contactId: number("contact_id"),
    ...(dateQueued && { dateQueued }),
    state: text("state"),
    reason: text("reason"),
    ...(code !== undefined && { code }),
    retryCount: Math.max(0, number("attempts") - 1),
    address: text("address"),
    ...(listId !== undefined && { listId }),
    occasion: text("occasion"),
    source: text("source"),
    ...(sourceId !== undefined && { sourceId }),
  };
}

function emailOf(row: Row): SentEmail {
  return {
    id: Number(row.id),
    name: row.name ?? "",
    subject: row.subject ?? "",
    language: row.language ?? "",
    emailType: row.email_type ?? "",
    category: Buffer.from(row.category ?? "null"),
  };
}
