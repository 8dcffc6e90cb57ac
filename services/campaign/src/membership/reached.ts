import { type Database, prepared } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { awaitRows } from "@tidings/resource/await-rows";
import type { Call } from "@tidings/rpc/call";
import { denied, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { type RawBuilder, sql } from "kysely";

const ownersStatement = prepared(
  "contacts_owners",
  "select id, owner_id from contacts where id = any((select $1::integer[])::integer[])",
);

/** How far the caller gets with each of these contacts; those that are not there for it are left out. */
export async function reachedContacts(
  database: Database,
  ids: number[],
  call: Call,
): Promise<Map<number, { mayEdit: boolean }>> {
  await awaitRows(database, "contacts", ids, call.deadlineMs);
  const rows = await database.query(ownersStatement, [ids], call.deadlineMs);
  const may = (verb: Verb, ownerId: string | null | undefined) => {
    const reached = reach(call.actor, "lead:leads", verb);
    return (
      reached === "all" || (reached === "own" && call.actor.id !== null && ownerId === String(call.actor.id))
    );
  };
  return new Map(
    rows
      .filter(({ owner_id }) => may(Verb.VIEW, owner_id))
      .map(({ id, owner_id }) => [Number(id), { mayEdit: may(Verb.EDIT, owner_id) }]),
  );
}

/** Throws NOT_FOUND when the contact is not there for the caller, PERMISSION_DENIED when it may only be seen. */
export async function requireContact(database: Database, id: number, call: Call, verb: Verb): Promise<void> {
  const contact = (await reachedContacts(database, [id], call)).get(id);
  if (!contact) throw notFound("Contact not found.");
  if (verb !== Verb.VIEW && !contact.mayEdit) throw denied();
}

/** The contacts the caller may see, as a predicate on a column that names one. */
export function visibleContacts({ actor }: Call, column: RawBuilder<unknown>): RawBuilder<unknown> {
  const seen = reach(actor, "lead:leads", Verb.VIEW);
  if (seen !== "own") return seen === "all" ? sql`true` : sql`false`;
  return sql`${column} in (select k.id from contacts k where k.owner_id = ${actor.id}::integer)`;
}

/** The campaigns the caller may see, as a predicate on a table of them that is called `c`. */
export function visibleCampaigns({ actor, reach: reachOf }: Call): RawBuilder<unknown> {
  const seen = reachOf(Verb.VIEW);
  const own = seen === "all" ? sql`true` : sql`c.created_by = ${seen === "own" ? actor.id : null}::integer`;
  return sql`(c.date_deleted is null and ${own})`;
}
