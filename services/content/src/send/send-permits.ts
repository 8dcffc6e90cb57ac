import { INCARNATION } from "@tidings/database/incarnation";

/**
 * SQL of a migration: the database whose sends may go out. A restored one is another: what it has as waiting may have gone out since its dump. A database
 * that was restored right before this migration has the stream of another one.
 */
export const SEND_PERMITS = [
  `create table send_permits (
    incarnation text primary key, granted_by integer, granted_at timestamptz not null default now())`,
  `insert into send_permits (incarnation) select ${INCARNATION}
   where not exists (select from relay_stream where name not like '% read' and incarnation <> ${INCARNATION})`,
];

/** SQL: are all sends held, since the database is not the one whose sends may go out? It is asked once in a statement. */
export const ARE_HELD = `(select not exists (select from send_permits where incarnation = ${INCARNATION}))`;

/** Why nothing goes out while sends are held. */
export const HELD = "Sends are held since the database was restored: POST /api/sends/resume lets them go on.";
