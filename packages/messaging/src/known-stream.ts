import type { StreamIdentity } from "@tidings/bus/streams";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { INCARNATION } from "@tidings/database/incarnation";

const adoptStatement = prepared(
  "stream_adopt",
  `insert into relay_stream (name, created_at, incarnation, last_seq) values ($1, $2::timestamptz, ${INCARNATION}, $3)
   on conflict (name) do update
   set created_at = excluded.created_at, incarnation = excluded.incarnation, last_seq = excluded.last_seq`,
);
const followStatement = prepared(
  "stream_follow",
  `update relay_stream set last_seq = $3, incarnation = ${INCARNATION}
   where name = $1 and created_at = $2::timestamptz and (last_seq < $3 or incarnation is null)`,
);
const compareStatement = prepared(
  "stream_compare",
  `select case
     when created_at < $2::timestamptz then 'new'
     when created_at > $2::timestamptz or coalesce(incarnation <> ${INCARNATION}, false) or last_seq > $3 then 'other'
     else 'known' end as is
   from relay_stream where name = $1`,
);

/**
 * How a stream stands to what this database remembers of it: `known`; `new`, it was made after that one; `other`, one of them has
 * gone back in time: the stream holds what never happened here, or lacks what did, and the places of its readers are not ours;
 * undefined, where nothing is remembered.
 */
export type Standing = "known" | "new" | "other" | undefined;

export async function compareStream(
  database: Database,
  { name, created, lastSeq }: StreamIdentity,
): Promise<Standing> {
  const [row] = await database.query(compareStatement, [name, created, lastSeq], backgroundDeadline());
  return row?.is as Standing;
}

/** From now on the stream is the one that goes with this database. */
export async function adoptStream(
  database: Database,
  { name, created, lastSeq }: StreamIdentity,
): Promise<void> {
  await database.query(adoptStatement, [name, created, lastSeq], backgroundDeadline());
}

/** Remembers how far a known stream is. */
export async function followStream(
  database: Database,
  { name, created, lastSeq }: StreamIdentity,
): Promise<void> {
  await database.query(followStatement, [name, created, lastSeq], backgroundDeadline());
}

/**
 * For a reader: a stream that does not match its database is not read until its owner has made it anew. Its position is the owner's to
 * judge.
 */
export function readableBy(database: Database): (stream: StreamIdentity) => Promise<boolean> {
  return async ({ name, created }) => {
    const asReader = { name: `${name} read`, created, lastSeq: 0 };
    const standing = await compareStream(database, asReader);
    if (standing === "other") return false;
    if (standing === "known") await followStream(database, asReader);
    else await adoptStream(database, asReader);
    return true;
  };
}
