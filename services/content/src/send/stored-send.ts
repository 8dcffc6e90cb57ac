import type { Row } from "@tidings/database/statement";
import type { MailValues } from "./mail-values.ts";
import { Lane } from "./send-tables.ts";

/** A send of the ledger, as far as its mail is made of it. */
export interface StoredSend {
  /** A UUIDv7 that names it in its mail. */
  hash: string;
  emailId: number;
  /** The version of the email that the mail is made of. */
  emailVersion: number;
  contactId: number;
  isBulk: boolean;
  /** Values of tokens, as HTML, by name. */
  tokens: Record<string, string>;
  /** The values that its mail went out with, where they are known. */
  values?: MailValues;
  /** In milliseconds since 1970. */
  sentAt?: number;
}

/** The columns that `storedSend` reads. */
export const STORED_COLUMNS = "hash, email_id, email_version, contact_id, lane, tokens";

/** The same of a send whose mail is shown again, from `sends`. */
export const SHOWN_COLUMNS = `${STORED_COLUMNS}, extract(epoch from date_sent) * 1000 as sent_at,
  (select filled from mail_values where send_hash = sends.hash) as filled`;

export function storedSend(row: Row): StoredSend {
  return {
    hash: row.hash ?? "",
    emailId: Number(row.email_id),
    emailVersion: Number(row.email_version),
    contactId: Number(row.contact_id),
    isBulk: Number(row.lane) === Lane.BULK,
    tokens: JSON.parse(row.tokens ?? "{}"),
    ...(row.filled && { values: JSON.parse(row.filled) as MailValues }),
    ...(row.sent_at && { sentAt: Number(row.sent_at) }),
  };
}
