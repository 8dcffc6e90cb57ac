import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";
import type { Log } from "@tidings/runtime/log";
import { atEachTick } from "@tidings/runtime/tick";
import type { SecretBox } from "./secret-box.ts";

/** A column in which secrets are sealed. */
export interface SealedColumn {
  /** `id` and `text` of rows with a secret that does not begin with `$1`, with ids above `$2`: `SEALING_SLICE` of them. */
  others: Statement;
  /** Sets the rows `$1` to the texts `$2`, where they still have the texts `$3`. */
  replace: Statement;
  /** The text with its secrets sealed under the first key. */
  reseal(text: string, box: SecretBox): string;
}

export const SEALING_SLICE = 500;
const INTERVAL_MS = 60_000;

/**
 * Seals under the first key what is kept in clear, as an older version did, or under a key before it, so that this can be
 * forgotten. Harmless to be done by several at once. Throws when a key is missing.
 */
export async function sealSecrets(
  database: Database,
  { others, replace, reseal }: SealedColumn,
  box: SecretBox,
): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await database.query(others, [box.seals, after], backgroundDeadline());
    const before = rows.map(({ text }) => text ?? "");
    const values = [rows.map(({ id }) => id), before.map((text) => reseal(text, box)), before];
    if (rows.length > 0) await database.query(replace, values, backgroundDeadline());
    if (rows.length < SEALING_SLICE) return;
    after = Number(rows.at(-1)?.id);
  }
}

/** Seals now and every minute: replicas that do not have the new key yet go on sealing with the one before. */
export function startSealing(
  database: Database,
  column: SealedColumn,
  { box, log }: { box: SecretBox; log: Log },
): { stop(): Promise<void> } {
  const seal = () =>
    sealSecrets(database, column, box).catch((error) =>
      log.warn({ err: error }, "secrets could not be sealed"),
    );
  return atEachTick(INTERVAL_MS, seal, { atOnce: true });
}
