import { prepared } from "@tidings/database/database";
import { lockKey } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";
import { MONTH_PARTITIONS, type MonthPartitioned, monthPartitioned } from "@tidings/jobs/partitions";

/** The most commands of one call. */
export const COMMANDS_MAX = 1_000;
/** A key is known for the month in which it was first used and the one after it: for 30 days at least. */
export const COMMAND_KEYS: MonthPartitioned = { table: "command_keys", monthsKept: 1, isDropped: true };

/** SQL of a migration: the keys of commands that took effect, with their outcomes. `withPartitions` in a schema without other partitions. */
export function commandKeys({ withPartitions }: { withPartitions: boolean }): string[] {
  return [
    `create table command_keys (
      key text not null,
      -- The first day of the month (UTC) in which the command took effect.
      month date not null,
      -- A digest of the command. The same key with another command is refused.
      fingerprint text not null,
      outcome jsonb,
      primary key (key, month)
    ) partition by range (month)`,
    "create table command_keys_rest partition of command_keys default",
    ...(withPartitions ? MONTH_PARTITIONS : []),
    ...monthPartitioned("command_keys", "month"),
  ];
}

const MONTH = "date_trunc('month', now() at time zone 'UTC')";
const MONTHS = `(${MONTH}::date, (${MONTH} - interval '1 month')::date)`;

/**
 * A key is unique within a month. Around the turn of a month, two transactions may see different months: there they run one after the
 * other. A transaction lasts ten seconds at most.
 */
const turnOfMonth = prepared(
  "command_keys_turn",
  `select case when least((now() at time zone 'UTC') - ${MONTH}, ${MONTH} + interval '1 month' - (now() at time zone 'UTC'))
     < interval '1 minute' then pg_advisory_xact_lock(${lockKey("command_keys")}) end`,
);
const claimStatement = prepared(
  "command_keys_claim",
  `insert into command_keys (key, month, fingerprint)
   select k.key, ${MONTH}::date, k.fingerprint from unnest($1::text[], $2::text[]) as k (key, fingerprint)
   where not exists (
     select from command_keys earlier where earlier.key = k.key and earlier.month = (${MONTH} - interval '1 month')::date)
   order by k.key
   on conflict do nothing returning key`,
);
const readStatement = prepared(
  "command_keys_read",
  `select key, fingerprint, outcome from command_keys where key = any($1::text[]) and month in ${MONTHS}`,
);
/** Keys are sought as an array: for a JSON list, which it takes for a hundred rows, the planner would read all of a month. */
const recordStatement = prepared(
  "command_keys_record",
  `with x as materialized (select * from json_to_recordset($1::json) as x (key text, outcome jsonb))
   update command_keys c set outcome = x.outcome from x
   where c.key = x.key and c.key = any (array(select key from x)) and c.month = ${MONTH}::date`,
);

/** Claims keys. Waits for transactions that use the same keys, and returns the keys that were never used. */
export async function claimKeys(
  transaction: Transaction,
  commands: { key: string; fingerprint: string }[],
): Promise<Set<string>> {
  transaction.execute(turnOfMonth);
  const rows = await transaction.query(claimStatement, [
    commands.map(({ key }) => key),
    commands.map(({ fingerprint }) => fingerprint),
  ]);
  return new Set(rows.map(({ key }) => key ?? ""));
}

const releaseStatement = prepared(
  "command_keys_release",
  `delete from command_keys where key = any($1::text[]) and month = ${MONTH}::date`,
);

/** Gives back keys that were claimed for nothing. */
export function releaseKeys(transaction: Transaction, keys: string[]): void {
  if (keys.length > 0) transaction.execute(releaseStatement, [keys]);
}

/** The fingerprints and outcomes of keys that were used before, by key. */
export async function readKeys(
  transaction: Transaction,
  keys: string[],
): Promise<Map<string, { fingerprint: string; outcome: string }>> {
  if (keys.length === 0) return new Map();
  const rows = await transaction.query(readStatement, [keys]);
  return new Map(
    rows.map(({ key, fingerprint, outcome }) => [
      key ?? "",
      { fingerprint: fingerprint ?? "", outcome: outcome ?? "null" },
    ]),
  );
}

/** Keeps the outcomes of the claimed keys, as JSON. */
export function recordOutcomes(
  transaction: Transaction,
  outcomes: { key: string; outcome: unknown }[],
): void {
  if (outcomes.length > 0) transaction.execute(recordStatement, [JSON.stringify(outcomes)]);
}
