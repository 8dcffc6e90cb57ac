import { createHmac, type KeyObject } from "node:crypto";
import { prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { foldedAddress } from "@tidings/runtime/email-address";
import { type ContactRow, doNotContactOf } from "../rows/contact.ts";
import type { ContactChange } from "./body.ts";
import type { DoNotContactChange } from "./do-not-contact.ts";

/** The secret that addresses are hashed with: without it a hash reveals nothing about an address. */
export type SuppressionKey = KeyObject;

/** The fields whose values a channel writes to. */
const ADDRESS_FIELDS = new Map([
  ["email", ["email"]],
  ["sms", ["mobile", "phone"]],
]);

const selectStatement = prepared(
  "suppressions_by_hash",
  `select encode(hash, 'base64') as hash, channel, reason from suppressions
   where hash = any (array(select unnest($1::bytea[])))`,
);

const insertStatement = prepared(
  "suppressions_insert",
  `insert into suppressions (hash, channel, reason, date_added)
   select *, now() from unnest($1::bytea[], $2::text[], $3::smallint[]) order by 1, 2
   on conflict (hash, channel) do update set reason = excluded.reason, date_added = excluded.date_added`,
);

export interface Suppressions {
  /** The most that `of` finds for a contact. */
  ofContactMax: number;
  /** The suppressions of addresses that a contact gets: `before` is the contact that had others. */
  of(row: ContactRow, before: ContactRow | undefined): DoNotContactChange[];
}

/** The contact's channel was allowed again on purpose. */
export interface Lift {
  row: ContactRow;
  channel: string;
}

/** Looks up what the addresses in changes of contacts were suppressed for. */
export async function suppressionsOf(
  transaction: Transaction,
  changes: ContactChange[],
  key: SuppressionKey,
): Promise<Suppressions> {
  const hashes = changes.flatMap(({ values }) =>
    [...ADDRESS_FIELDS].flatMap(([channel, fields]) =>
      fields.flatMap((field) => hashOf(channel, values.get(field), key) ?? []),
    ),
  );
  const rows = hashes.length > 0 ? await transaction.query(selectStatement, [hashes]) : [];
  const known = new Map(rows.map((row) => [`${row.channel} ${row.hash}`, Number(row.reason)]));
  if (known.size === 0) return { ofContactMax: 0, of: () => [] };
  const of: Suppressions["of"] = (row, before) =>
    [...ADDRESS_FIELDS].flatMap(([channel, fields]) => {
      const had = new Set(fields.map((field) => addressIn(channel, before?.[field])));
      const reasons = fields.flatMap((field) => {
        if (had.has(addressIn(channel, row[field]))) return [];
        const hash = hashOf(channel, row[field], key);
        return hash ? (known.get(`${channel} ${hash.toString("base64")}`) ?? []) : [];
      });
      const [reason] = reasons;
      return reason === undefined ? [] : [{ channel, reason, comments: "", channelId: null }];
    });
  return { ofContactMax: ADDRESS_FIELDS.size, of };
}

const entriesStatement = prepared(
  "suppressions_entries",
  `select encode(hash, 'base64') as hash, json_build_object('reason', reason, 'dateAdded', date_added) as entry from suppressions
   where channel = $1 and hash = any (array(select unnest($2::bytea[])))`,
);

/** The reason for which each of these addresses of a channel is suppressed, and since when, as JSON; undefined for the others. */
export async function suppressionEntries(
  ask: (statement: Statement, values: unknown[]) => Promise<Row[]>,
  { channel, addresses }: { channel: string; addresses: (string | null | undefined)[] },
  key: SuppressionKey,
): Promise<(string | undefined)[]> {
  const hashes = addresses.map((address) => hashOf(channel, address, key));
  const wanted = hashes.filter((hash) => hash !== undefined);
  const rows = wanted.length > 0 ? await ask(entriesStatement, [channel, wanted]) : [];
  const known = new Map(rows.map(({ hash, entry }) => [hash, entry ?? ""]));
  return hashes.map((hash) => known.get(hash?.toString("base64") ?? ""));
}

const liftStatement = prepared(
  "suppressions_lift",
  `delete from suppressions where (hash, channel) in (
     select * from unnest($1::bytea[], $2::text[]))`,
);

/** Forgets the suppressions of addresses whose contact is allowed again: else they would outlast it. */
export function liftSuppressions(transaction: Transaction, lifts: Lift[], key: SuppressionKey): void {
  const lifted = lifts.flatMap(({ row, channel }) =>
    (ADDRESS_FIELDS.get(channel) ?? []).flatMap((field) => {
      const hash = hashOf(channel, row[field], key);
      return hash ? [{ hash, channel }] : [];
    }),
  );
  if (lifted.length === 0) return;
  transaction.execute(liftStatement, [lifted.map(({ hash }) => hash), lifted.map(({ channel }) => channel)]);
}

/** Keeps what contacts that are about to go do not want. Part of the transaction that deletes them. */
export function keepSuppressions(transaction: Transaction, rows: ContactRow[], key: SuppressionKey): void {
  const kept = rows.flatMap((row) => {
    const entries = doNotContactOf(row);
    return [...ADDRESS_FIELDS].flatMap(([channel, fields]) => {
      const entry = Object.hasOwn(entries, channel) ? entries[channel] : undefined;
      if (!entry) return [];
      return fields.flatMap((field) => {
        const hash = hashOf(channel, row[field], key);
        return hash ? [{ hash, channel, reason: entry.reason }] : [];
      });
    });
  });
  if (kept.length === 0) return;
  const distinct = [
    ...new Map(kept.map((entry) => [`${entry.channel} ${entry.hash.toString("hex")}`, entry])).values(),
  ];
  transaction.execute(insertStatement, [
    distinct.map(({ hash }) => hash),
    distinct.map(({ channel }) => channel),
    distinct.map(({ reason }) => reason),
  ]);
}

/** Keeps that nobody wants messages of a channel at an address that no contact has. */
export function suppressAddress(
  transaction: Transaction,
  { channel, address, reason }: { channel: string; address: string; reason: number },
  key: SuppressionKey,
): void {
  const hash = hashOf(channel, address, key);
  if (hash) transaction.execute(insertStatement, [[hash], [channel], [reason]]);
}

/** An address in the form in which two of them are the same; undefined where there is none. */
function addressIn(channel: string, value: string | null | undefined): string | undefined {
  if (!value) return undefined;
  return (channel === "email" ? foldedAddress(value) : value.replaceAll(/[^\d+]/g, "")) || undefined;
}

/** HMAC-SHA-256 of the channel and the address. */
function hashOf(channel: string, value: string | null | undefined, key: SuppressionKey): Buffer | undefined {
  const address = addressIn(channel, value);
  if (address === undefined) return undefined;
  return createHmac("sha256", key).update(`${channel}\n${address}`).digest();
}
