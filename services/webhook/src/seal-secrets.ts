import type { Log } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import type { SecretBox } from "./secret-box.ts";

const SLICE = 500;
const INTERVAL_MS = 60_000;

const othersStatement = prepared(
  "webhooks_other_seals",
  `select id, secret from webhooks where not starts_with(secret, $1) and id > $2 order by id limit ${SLICE}`,
);
const sealStatement = prepared(
  "webhooks_seal_secret",
  `update webhooks w set secret = sealed.secret
   from unnest($1::integer[], $2::text[], $3::text[]) as sealed (id, secret, before)
   where w.id = sealed.id and w.secret = sealed.before`,
);

/**
 * Seals under the first key what is kept in clear, as an older version did, or under a key before it, so that this can be
 * forgotten. Harmless to be done by several at once. Throws when a key is missing.
 */
export async function sealSecrets(database: Database, box: SecretBox): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await database.query(othersStatement, [box.seals, after], backgroundDeadline());
    const before = rows.map(({ secret }) => secret ?? "");
    const values = [rows.map(({ id }) => id), before.map((secret) => box.seal(box.open(secret))), before];
    if (rows.length > 0) await database.query(sealStatement, values, backgroundDeadline());
    if (rows.length < SLICE) return;
    after = Number(rows.at(-1)?.id);
  }
}

/** Seals now and every minute: replicas that do not have the new key yet go on sealing with the one before. */
export function startSealing(database: Database, box: SecretBox, log: Log): { stop(): void } {
  const seal = () =>
    void sealSecrets(database, box).catch((error) => log.warn({ err: error }, "secrets could not be sealed"));
  seal();
  const timer = setInterval(seal, INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}
