import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { denied } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { holds } from "../identity/permissions.ts";

/** May the user let apps act in their name? */
export function mayAuthorise(actor: Actor): boolean {
  return holds(actor, "api:access:full");
}

export function mayManageClients(actor: Actor, verb: Verb): boolean {
  return reach(actor, "api:clients", verb) === "all";
}

/** Throws PERMISSION_DENIED unless the user may do this to API credentials. */
export function requireClientPermission(actor: Actor, verb: Verb): void {
  if (!mayManageClients(actor, verb)) throw denied();
}
