import type { Row } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { EVERYTHING } from "@tidings/resource/condition";
import { withTotal } from "@tidings/resource/kept-total";
import { type TotalByColumn, totalByColumn } from "@tidings/resource/totals-by-column";
import type { Call } from "@tidings/rpc/call";
import { denied, Fault, notFound } from "@tidings/rpc/fault";
import { type RawBuilder, sql } from "kysely";

/** Contacts belong to their owner, companies to who made them. What belongs to nobody counts as somebody else's. */
export type OwnerColumn = "owner_id" | "created_by";

export function mayReach(call: Call, verb: Verb, row: Row, ownerColumn: OwnerColumn): boolean {
  const reach = call.reach(verb);
  if (reach !== "own") return reach === "all";
  return call.actor.id !== null && row[ownerColumn] === String(call.actor.id);
}

/** The record, or why the caller may not do this with it: what it may not see is not there for it. */
export function rowOrFault<R extends Row>(
  call: Call,
  verb: Verb,
  row: R | undefined,
  ownerColumn: OwnerColumn,
): R | Fault {
  if (!row || !mayReach(call, Verb.VIEW, row, ownerColumn)) return notFound();
  return mayReach(call, verb, row, ownerColumn) ? row : denied();
}

/** The record. Throws NOT_FOUND and PERMISSION_DENIED. */
export function reachedRow<R extends Row>(
  call: Call,
  verb: Verb,
  row: R | undefined,
  ownerColumn: OwnerColumn,
): R {
  const reached = rowOrFault(call, verb, row, ownerColumn);
  if (reached instanceof Fault) throw reached;
  return reached;
}

/** The same rule as a predicate, for lists and totals; `owner` is the column as the statement names it, by which `total` is kept. */
export function visibleRecords(call: Call, owner: string, total: TotalByColumn): RawBuilder<unknown> {
  const reach = call.reach(Verb.VIEW);
  if (reach === "all") return EVERYTHING;
  return reach === "own" ? recordsOf(call, owner, total) : sql`false`;
}

/** The records that belong to the caller. */
export function recordsOf(call: Call, owner: string, total: TotalByColumn): RawBuilder<unknown> {
  const { id } = call.actor;
  const kept = id === null ? undefined : totalByColumn(total, Number(id));
  return withTotal(sql`${sql.ref(owner)} = ${id}::integer`, kept);
}
