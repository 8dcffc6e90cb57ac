import type { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { denied } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

/** May the user let apps act in their name? */
export function mayAuthorise({ admin, permissions }: Actor): boolean {
  return admin || (permissions["api:access"]?.includes("full") ?? false);
}

export function mayManageClients(actor: Actor, verb: Verb): boolean {
  return reach(actor, "api:clients", verb) === "all";
}

/** Throws PERMISSION_DENIED unless the user may do this to API credentials. */
export function requireClientPermission(actor: Actor, verb: Verb): void {
  if (!mayManageClients(actor, verb)) throw denied();
}
