import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import type { Row } from "@tidings/store/database";
import { type RawBuilder, sql } from "kysely";

/** Contacts belong to their owner, companies to who made them. What belongs to nobody counts as somebody else's. */
export type OwnerColumn = "owner_id" | "created_by";

export function mayReach(call: Call, verb: Verb, row: Row, ownerColumn: OwnerColumn): boolean {
  const reach = call.reach(verb);
  if (reach !== "own") return reach === "all";
  return call.actor.id !== null && row[ownerColumn] === String(call.actor.id);
}

/** The same rule as a predicate, for lists and totals; `owner` is the column as the statement names it. */
export function visibleRecords(call: Call, owner: string): RawBuilder<unknown> {
  const reach = call.reach(Verb.VIEW);
  if (reach === "all") return sql`true`;
  return reach === "own" ? sql`${sql.ref(owner)} = ${call.actor.id}::integer` : sql`false`;
}
