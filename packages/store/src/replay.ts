import type { StreamIdentity } from "@tidings/bus/streams";
import type { Log } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, prepared } from "./database.ts";

const SLICE = 5_000;

const selectStream = prepared(
  "replay_stream",
  "select 1 from relay_stream where name = $1 and created_at = $2::timestamptz",
);
const rememberStream = prepared(
  "replay_remember",
  `insert into relay_stream (name, created_at) values ($1, $2::timestamptz)
   on conflict (name) do update set created_at = excluded.created_at`,
);
const publishAgain = prepared(
  "replay_again",
  `with slice as (
     select id, xid, created_at from outbox where id > $1 order by id limit ${SLICE}
   ), again as (
     insert into outbox_waiting (id, xid, created_at) select * from slice on conflict do nothing
   )
   select max(id) as last from slice`,
);

/**
 * A stream that was made after the one we published into has lost what was in it: everything the outbox still holds is
 * published again. Consumers know by their inbox what they have had.
 */
export async function replayIfLost(database: Database, stream: StreamIdentity, log: Log): Promise<void> {
  const identity = [stream.name, stream.created];
  const known = await database.query(selectStream, identity, backgroundDeadline());
  if (known.length > 0) return;
  log.info({ stream: stream.name, created: stream.created }, "stream is new, publishing the outbox again");
  let last = "0";
  while (last !== "") {
    const [row] = await database.query(publishAgain, [last], backgroundDeadline());
    last = row?.last ?? "";
  }
  await database.query(rememberStream, identity, backgroundDeadline());
}
