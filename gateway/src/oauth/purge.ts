import { type Database, prepared } from "@tidings/database/database";
import { purgeInSlices } from "@tidings/messaging/purge";
import type { Log } from "@tidings/runtime/log";
import { atEachTick } from "@tidings/runtime/tick";

const SLICE = 1_000;

/** For a week an expired token is still distinguished from an unknown one. */
const STATEMENTS = [
  prepared(
    "purge_oauth_tokens",
    `delete from oauth_tokens where hash = any(array(
       select hash from oauth_tokens where expires_at < now() - interval '7 days' limit ${SLICE})) returning 1`,
  ),
  prepared(
    "purge_oauth_codes",
    `delete from oauth_codes where hash = any(array(
       select hash from oauth_codes where expires_at < now() - interval '7 days' limit ${SLICE})) returning 1`,
  ),
  // A user's consent is remembered for as long as a family of tokens may live.
  prepared(
    "purge_oauth_grants",
    `delete from oauth_grants where id = any(array(
       select g.id from oauth_grants g
       where (g.date_added < now() - interval '90 days'
           or (g.user_id is null and g.date_added < now() - interval '7 days'))
         and not exists (select from oauth_tokens t where t.grant_id = g.id)
         and not exists (select from oauth_codes k where k.grant_id = g.id)
       limit ${SLICE})) returning 1`,
  ),
  prepared(
    "purge_sessions",
    `delete from sessions where hash = any(array(
       select hash from sessions where seen_at < now() - interval '1 day' limit ${SLICE})) returning 1`,
  ),
];

/** Forgets tokens, codes, grants and sessions that can no longer matter. */
export async function purgeExpired(database: Database): Promise<void> {
  for (const statement of STATEMENTS) await purgeInSlices(database, statement, SLICE);
}

const PERIOD_MS = 10 * 60_000;

/** Purges every ten minutes until it is stopped. Several gateways may do so at once: a row can be deleted only once. */
export function startPurging(database: Database, log: Log): { stop(): Promise<void> } {
  const purge = () =>
    purgeExpired(database).catch((error) => log.warn({ err: error }, "expired tokens could not be purged"));
  return atEachTick(PERIOD_MS, purge);
}
