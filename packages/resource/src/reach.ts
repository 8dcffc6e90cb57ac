import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, notFound } from "@tidings/rpc/fault";
import type { Locked } from "./row-change.ts";

export function mayReach(call: Call, verb: Verb, isOwn: boolean): boolean {
  const reach = call.reach(verb);
  return reach === "all" || (reach === "own" && isOwn);
}

export function isVisible(call: Call, { isOwn, isShared }: { isOwn: boolean; isShared: boolean }): boolean {
  return mayReach(call, Verb.VIEW, isOwn || isShared);
}

/** The row, or why the caller may not do this with it: an invisible row is NOT_FOUND. */
export function changeable<T>(locked: Locked<T> | undefined, verb: Verb, call: Call): Locked<T> | Fault {
  if (!locked || !isVisible(call, locked)) return notFound();
  return mayReach(call, verb, locked.isOwn) ? locked : denied();
}
