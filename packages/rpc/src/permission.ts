import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { permission, Verb, verb } from "@tidings/proto/tidings/api/v1/options";
import type { Actor } from "./actor.ts";
import type { Call, Reach } from "./call.ts";
import { denied } from "./fault.ts";
import { optionOf } from "./option.ts";

/** The permission that a method needs. */
export interface Requirement {
  base: string;
  verb: Verb;
}

const VERB_OF_PREFIX: [string, Verb][] = [
  ["Get", Verb.VIEW],
  ["List", Verb.VIEW],
  ["Create", Verb.CREATE],
  ["Update", Verb.EDIT],
  ["Delete", Verb.DELETE],
  ["BatchCreate", Verb.CREATE],
  ["BatchUpdate", Verb.EDIT],
  ["BatchDelete", Verb.DELETE],
];

const ACTION: Partial<Record<Verb, string>> = {
  [Verb.VIEW]: "view",
  [Verb.CREATE]: "create",
  [Verb.EDIT]: "edit",
  [Verb.DELETE]: "delete",
  [Verb.PUBLISH]: "publish",
};

/** Deny by default: a method that declares nothing and has no standard name stops the process at boot. */
export function requirementOf(service: DescService, method: DescMethod): Requirement {
  const declared = optionOf(method, verb);
  const byName = VERB_OF_PREFIX.find(([prefix]) => method.name.startsWith(prefix))?.[1];
  const needed = declared !== Verb.UNSPECIFIED ? declared : byName;
  const base = optionOf(service, permission);
  if (needed === undefined || base === "") {
    throw new Error(`${service.typeName}.${method.name} declares no permission`);
  }
  return { base, verb: needed };
}

/** How far an actor gets with a verb. Ownerless rows count as somebody else's. */
export function reach(actor: Actor, base: string, needed: Verb): Reach {
  // A process may call internal methods, and has no other rights of its own.
  if (actor.kind === "service") return needed === Verb.INTERNAL ? "all" : "none";
  if (needed === Verb.INTERNAL) return "none";
  if (needed === Verb.ANY) return "all";
  return reachOfAction(actor, base, ACTION[needed] ?? "");
}

/** The same for an action by its name, without `own` and `other`: `view`, or a right of its own like `access`. */
export function reachOfAction(
  { admin, permissions }: Pick<Actor, "admin" | "permissions">,
  base: string,
  action: string,
): Reach {
  if (admin) return "all";
  // A base may be what a caller asks about: names that every object knows are no rights.
  const held = (Object.hasOwn(permissions, base) && permissions[base]) || [];
  if (held.includes("full") || held.includes(action) || held.includes(`${action}other`)) return "all";
  return held.includes(`${action}own`) ? "own" : "none";
}

/** The context for a method's handler. Throws PERMISSION_DENIED when the actor may not call the method at all. */
export function permittedCall({ base, verb }: Requirement, call: Omit<Call, "reach">): Call {
  if (reach(call.actor, base, verb) === "none") throw denied();
  return { ...call, reach: (other) => reach(call.actor, base, other) };
}
