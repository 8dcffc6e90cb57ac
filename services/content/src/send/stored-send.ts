import type { Row } from "@tidings/database/statement";
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
}

/** The columns that `storedSend` reads. */
export const STORED_COLUMNS = "hash, email_id, email_version, contact_id, lane, tokens";

export function storedSend(row: Row): StoredSend {
  return {
    hash: row.hash ?? "",
    emailId: Number(row.email_id),
    emailVersion: Number(row.email_version),
    contactId: Number(row.contact_id),
    isBulk: Number(row.lane) === Lane.BULK,
    tokens: JSON.parse(row.tokens ?? "{}"),
  };
}
