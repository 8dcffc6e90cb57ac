import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import { Verb as Verbs } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { type RawBuilder, sql } from "kysely";
import type { ContactRow } from "./row.ts";

/** A contact belongs to its owner; one without an owner counts as somebody else's. */
export function mayReach(call: Call, verb: Verb, row: ContactRow): boolean {
  const reach = call.reach(verb);
  if (reach !== "own") return reach === "all";
  return call.actor.id !== null && row.owner_id === String(call.actor.id);
}

/** The same rule as a predicate on `c`, for lists and totals. */
export function visibleContacts(call: Call): RawBuilder<unknown> {
  const reach = call.reach(Verbs.VIEW);
  if (reach === "all") return sql`true`;
  return reach === "own" ? sql`c.owner_id = ${call.actor.id}::integer` : sql`false`;
}
