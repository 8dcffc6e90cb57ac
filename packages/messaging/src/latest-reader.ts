import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/** The version of a reader: the migrations that its program knows, then the subjects that it reads. The higher one is later. */
export type ReaderVersion = [migrations: number, subjects: number];

/** Called in the transaction in which a version takes a durable over. `hasFallen`: an earlier one had it since a later one did. */
export type OnTaken = (transaction: Transaction, hasFallen: boolean) => void;

/**
 * `kept`: the durable is read by this version. `taken`: by this version from now on. `refused`: a later version reads it, and an earlier one
 * would acknowledge events of which it knows only a part.
 */
export type Claim = "kept" | "taken" | "refused";

/** After a rollback the earlier version waits this long for the later one. */
const SILENT = "interval '60 seconds'";

const readStatement = prepared(
  "durable_reader_read",
  `select sign((version < $2::integer[])::integer - (version > $2::integer[])::integer) as step, has_fallen,
     seen_at < now() - ${SILENT} as is_silent
   from durable_readers where durable = $1 for update`,
);
/** A reader that was the first at the same moment may be a later version. */
const writeStatement = prepared(
  "durable_reader_write",
  `insert into durable_readers as r (durable, version, has_fallen) values ($1, $2::integer[], $3)
   on conflict (durable) do update set version = excluded.version, has_fallen = excluded.has_fallen, seen_at = now()
   where r.version <= excluded.version or r.seen_at < now() - ${SILENT}`,
);
const laterStatement = prepared(
  "durable_reader_later",
  "select from durable_readers where durable = $1 and version > $2::integer[]",
);

/** Claims a durable for a version, and says that it is there. To be called again before a minute is over. */
export function claimDurable(
  database: Database,
  durable: string,
  version: ReaderVersion,
  onTaken?: OnTaken,
): Promise<Claim> {
  return database.transaction(backgroundDeadline(), async (transaction) => {
    const own = arrayOf(version);
    const [reader] = await transaction.query(readStatement, [durable, own]);
    const step = Number(reader?.step ?? 0);
    if (step < 0 && reader?.is_silent !== "t") return "refused";
    const hasFallen = reader?.has_fallen === "t";
    transaction.execute(writeStatement, [durable, own, step < 0 || (step === 0 && hasFallen)]);
    if (step > 0) onTaken?.(transaction, hasFallen);
    return step === 0 ? "kept" : "taken";
  });
}

/** Does a later version read the durable? */
export async function hasLaterReader(
  database: Database,
  durable: string,
  version: ReaderVersion,
): Promise<boolean> {
  const rows = await database.query(laterStatement, [durable, arrayOf(version)], backgroundDeadline());
  return rows.length > 0;
}

function arrayOf(version: ReaderVersion): string {
  return `{${version.join(",")}}`;
}
