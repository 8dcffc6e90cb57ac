import type { Bus } from "@tidings/bus/connect";
import { ensureStream, remakeStream, type StreamDefinition } from "@tidings/bus/streams";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Log } from "@tidings/runtime/log";
import { adoptStream, compareStream, followStream } from "./known-stream.ts";

const SLICE = 5_000;

const publishAgain = prepared(
  "replay_again",
  `with slice as (
     select id, xid, created_at from outbox where id > $1 order by id limit ${SLICE}
   ), again as (
     insert into outbox_waiting (id, xid, created_at) select * from slice on conflict do nothing
   )
   select max(id) as last from slice`,
);

export interface ReconcileOptions {
  database: Database;
  bus: Bus;
  stream: StreamDefinition;
  log: Log;
}

/**
 * Sees to it that the stream goes with this database. One that was made after the one we published into has lost what was in it:
 * everything the outbox still holds is published again. Where the stream or the database has gone back in time, by a backup or
 * a crash, it is made anew before. Consumers know by their inbox what they have had. `publishedSeq` is that of a message that the
 * stream has acknowledged; answers false where it is another stream now.
 */
export async function reconcileStream(
  { database, bus, stream: definition, log }: ReconcileOptions,
  publishedSeq: number,
): Promise<boolean> {
  const found = await ensureStream(bus, definition);
  const standing = await compareStream(database, found);
  const isBehind = standing === "known" && found.lastSeq < publishedSeq;
  if (standing === "known" && !isBehind) {
    await followStream(database, found);
    return true;
  }
  const isForeign = standing === "other" || isBehind || (standing === undefined && found.lastSeq > 0);
  log.info({ stream: found, isForeign }, "the stream is not the one we know: publishing the outbox again");
  const stream = isForeign ? await remakeStream(bus, definition) : found;
  let last = "0";
  while (last !== "") {
    const [row] = await database.query(publishAgain, [last], backgroundDeadline());
    last = row?.last ?? "";
  }
  await adoptStream(database, stream);
  return false;
}
