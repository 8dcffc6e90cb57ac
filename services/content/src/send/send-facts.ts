import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import { factEvents } from "@tidings/messaging/fact-events";
import type { DomainEvent } from "@tidings/messaging/outbox";
import {
  type EmailSendSchema,
  EmailSendsSchema,
  type SentEmailSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { jsonBytes } from "@tidings/resource/json-member";
import { factReader } from "../visit/fact-kind.ts";
import { Lane, SendState } from "./send-tables.ts";

/** SQL: the columns of a send, of a table or query with all of `sends`, that its fact carries. `email` is the email as it is now. */
export const FACT_COLUMNS = `hash, version, contact_id, email_id, date_queued, date_sent, date_read, open_count, last_opened, viewed_in_browser,
  state, reason, code, attempts, address, list_id, occasion, source, source_id, lane, tokens,
  (select json_build_object('id', e.id, 'name', e.name, 'subject', e.subject, 'language', e.language, 'emailType', e.email_type,
     'category', (select ${CATEGORY_JSON} from categories where id = e.category_id)) from emails e where e.id = email_id) as email`;

/** Longer ones would make an event of 500 sends too large to read at once. */
const TOKENS_LENGTH_MAX = 20_000;

/** Changes of sends that are published. */
export type SendVerb = "queued" | "sent" | "failed" | "suppressed" | "opened";

/** Events of sends that changed, with the columns of their facts, each with up to 500 of them. */
export function sendEvents(verb: SendVerb, rows: Row[]): DomainEvent[] {
  return factEvents(`tidings.content.email.${verb}`, EmailSendsSchema, rows, sendsOf);
}

/** Sends as their event carries them. */
export function sendsOf(rows: Row[]): MessageInitShape<typeof EmailSendsSchema> {
  const emails = new Map(rows.map(({ email_id, email }) => [email_id, email]));
  return {
    sends: rows.map(sendOf),
    emails: [...emails.values()].flatMap((json) => (json ? [emailOf(json)] : [])),
  };
}

function sendOf(row: Row): MessageInitShape<typeof EmailSendSchema> {
  const { text, number, optional, flag, time } = factReader(row);
  const [dateQueued, dateSent] = [time("date_queued"), time("date_sent")];
  const [dateRead, lastOpened] = [time("date_read"), time("last_opened")];
  const [code, listId, sourceId] = [optional("code"), optional("list_id"), optional("source_id")];
  const tokens = text("tokens");
  return {
    id: text("hash"),
    version: number("version"),
    contactId: number("contact_id"),
    emailId: number("email_id"),
    ...(dateQueued && { dateQueued }),
    ...(dateSent && { dateSent }),
    ...(dateRead && { dateRead }),
    readCount: number("open_count"),
    ...(lastOpened && { lastOpened }),
    opens: number("opens"),
    viewedInBrowser: flag("viewed_in_browser"),
    state: text("state"),
    reason: text("reason"),
    ...(code !== undefined && { code }),
    isFailed: text("state") === SendState.FAILED,
    retryCount: Math.max(0, number("attempts") - 1),
    address: text("address"),
    ...(listId !== undefined && { listId }),
    occasion: text("occasion"),
    source: text("source"),
    ...(sourceId !== undefined && { sourceId }),
    isBulk: number("lane") === Lane.BULK,
    tokens: tokens.length > TOKENS_LENGTH_MAX ? new Uint8Array() : Buffer.from(tokens),
  };
}

function emailOf(json: string): MessageInitShape<typeof SentEmailSchema> {
  const { id, name, subject, language, emailType, category } = JSON.parse(json);
  return {
    id,
    name,
    subject,
    language: language ?? "",
    emailType: emailType ?? "",
    category: jsonBytes(category),
  };
}
