import { createHmac, type KeyObject } from "node:crypto";
import { prepared } from "@tidings/database/database";
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

/** Looks up what the addresses of new contacts were suppressed for. */
export async function suppressionsOf(
  transaction: Transaction,
  changes: ContactChange[],
  key: SuppressionKey,
): Promise<(row: ContactRow) => DoNotContactChange[]> {
  const hashes = changes.flatMap(({ values }) =>
    [...ADDRESS_FIELDS].flatMap(([channel, fields]) =>
      fields.flatMap((field) => hashOf(channel, values.get(field), key) ?? []),
    ),
  );
  const rows = hashes.length > 0 ? await transaction.query(selectStatement, [hashes]) : [];
  const known = new Map(rows.map((row) => [`${row.channel} ${row.hash}`, Number(row.reason)]));
  if (known.size === 0) return () => [];
  return (row) =>
    [...ADDRESS_FIELDS].flatMap(([channel, fields]) => {
      const reasons = fields.flatMap((field) => {
        const hash = hashOf(channel, row[field], key);
        return hash ? (known.get(`${channel} ${hash.toString("base64")}`) ?? []) : [];
      });
      const [reason] = reasons;
      return reason === undefined ? [] : [{ channel, reason, comments: "", channelId: null }];
    });
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

/** HMAC-SHA-256 of the channel and the address in the form in which two of them are the same. */
function hashOf(channel: string, value: string | null | undefined, key: SuppressionKey): Buffer | undefined {
  if (!value) return undefined;
  const address = channel === "email" ? foldedAddress(value) : value.replaceAll(/[^\d+]/g, "");
  if (address === "") return undefined;
  return createHmac("sha256", key).update(`${channel}\n${address}`).digest();
}
