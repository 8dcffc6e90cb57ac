import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import type { Fault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import type { Row } from "@tidings/store/database";

/** What became of one item of a batch. */
export type SettledOutcome = { row: Row; created?: boolean; ignored?: string[] } | { fault: Fault };

export function isCreated(outcome: SettledOutcome | undefined): boolean {
  return outcome !== undefined && "row" in outcome && outcome.created === true;
}

/** Members of the body that name no field. */
export function ignoredOf(outcome: SettledOutcome | undefined): string[] {
  return outcome && "row" in outcome ? (outcome.ignored ?? []) : [];
}

/** The record, or its fault thrown: for a batch of one. */
export function rowOf(outcome: SettledOutcome | undefined): Row {
  if (!outcome) throw new Error("a batch of one has one outcome");
  if ("fault" in outcome) throw outcome.fault;
  return outcome.row;
}

export function statusOf(outcome: SettledOutcome): ItemStatus {
  return itemStatus("fault" in outcome ? outcome : { created: isCreated(outcome) });
}
