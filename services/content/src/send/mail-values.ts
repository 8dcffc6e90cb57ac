import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { EmailRevision } from "./email-revision.ts";
import { type KnownReader, knownBy, type Reader } from "./mail-reader.ts";
import type { MailTemplate } from "./mail-template.ts";
import type { Owner } from "./owners.ts";

/** The values that a mail was written with, as far as its template reads them: by them it is shown later as it was. */
export interface MailValues {
  /** When it was written, in milliseconds since 1970. */
  at: number;
  /** Values of fields by alias, without empty ones. */
  fields: Record<string, string>;
  /** The version that the reader got of each content, by its token; the usual content where there is none. */
  versions?: Record<string, number>;
  owner?: Owner;
}

/** SQL of a migration: the values of mails, which go with their send. */
export const MAIL_VALUES = [
  // Beside the ledger: opens and bounces of a send do not write them again.
  `create table mail_values (
    send_hash uuid primary key references sends (hash) on delete cascade, filled json not null,
    date_added timestamptz not null default now())`,
  "create index mail_values_age on mail_values (date_added)",
  "insert into jobs (kind, key) values ('mail_values', 'all')",
];

/** Longer ones are not kept. */
const LENGTH_MAX = 20_000;
const keepStatement = prepared(
  "mail_values_keep",
  `insert into mail_values (send_hash, filled) select hash, value::json from unnest($1::uuid[], $2::text[]) as x (hash, value)
   on conflict (send_hash) do update set filled = excluded.filled, date_added = excluded.date_added`,
);

/** Fields by which dates are written. */
const OF_DATES = ["timezone", "preferred_locale"];

/** The values of a mail as JSON; undefined for a mail that would be the same for everybody at any time, and for values that are too long. */
export function valuesOf(
  {
    contactFields,
    hasDates,
    contents,
    tokens,
  }: Pick<MailTemplate, "contactFields" | "hasDates" | "contents" | "tokens">,
  { fields, versions, owner, now }: Pick<Reader, "fields" | "versions" | "owner" | "now">,
): string | undefined {
  const readsOwner = tokens.some(({ name }) => name === "ownerfield" || name === "signature");
  if (contactFields.length === 0 && contents.size === 0 && !hasDates && !readsOwner) return undefined;
  const read = [...contactFields, ...(hasDates ? OF_DATES : [])];
  const values: MailValues = {
    at: now,
    fields: Object.fromEntries([...fields].filter(([alias, value]) => value !== "" && read.includes(alias))),
    ...(versions.size > 0 && { versions: Object.fromEntries(versions) }),
    ...(readsOwner && owner && { owner }),
  };
  const json = JSON.stringify(values);
  return json.length > LENGTH_MAX ? undefined : json;
}

/** The reader of a mail that was written with these values. */
export function readerOfValues(
  { fields, versions = {}, owner }: MailValues,
  revision: EmailRevision,
): KnownReader {
  return {
    ...knownBy(new Map(Object.entries(fields)), revision),
    ...{ versions: new Map(Object.entries(versions)), owner },
  };
}

/** Keeps the values of mails that went out, as a part of the transaction that says so. */
export function keepMailValues(transaction: Transaction, kept: { hash: string; values: string }[]): void {
  if (kept.length === 0) return;
  transaction.execute(keepStatement, [kept.map(({ hash }) => hash), kept.map(({ values }) => values)]);
}
