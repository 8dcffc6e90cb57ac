import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "@tidings/rpc/actor";
import { denied } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { holds } from "../identity/permissions.ts";
import type { GrantType, OAuthClient } from "../oauth/client.ts";

/** May the user let apps act in their name? */
export function mayAuthorise(actor: Actor): boolean {
  return holds(actor, "api:access:full");
}

export function mayManageClients(actor: Actor, verb: Verb): boolean {
  return reach(actor, "api:clients", verb) === "all";
}

/** A client that acts on its own has the rights of its role, and so has anybody who learns its secret. */
export function mayChangeClient(actor: Actor, { grants }: Pick<OAuthClient, "grants">): boolean {
  return mayManageClients(actor, Verb.EDIT) && (actor.admin || !isPowerful(grants));
}

export function isPowerful(grants: GrantType[]): boolean {
  return grants.includes("client_credentials");
}

/** Throws PERMISSION_DENIED unless the user may do this to API credentials. */
export function requireClientPermission(actor: Actor, verb: Verb): void {
  if (!mayManageClients(actor, verb)) throw denied();
}
