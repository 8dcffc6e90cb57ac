/** Somebody who sends requests. */
export interface Principal {
  /** The id of the user; undefined for an app that acts on its own. */
  userId: number | undefined;
  isSignedIn: boolean;
  isAdmin: boolean;
  permissions: Record<string, string[]>;
}

/** The owner of an entity, as seen from the principal. `shared` is somebody else's, visible to all. */
export const KINDS = ["own", "other", "ownerless", "shared", "missing"] as const;
export type Kind = (typeof KINDS)[number];

export type Verb = "view" | "create" | "edit" | "delete";

/** One demand of a route: a right, and for an entity of the path also that the principal reaches it. */
export interface Need {
  base: string;
  verb: Verb;
  kind?: Kind;
  /** Rights of other bases that let a caller ask, whatever it may do with the entity. */
  admitting?: string[];
  /** The status for an entity that exists and is not visible; 404 when absent. */
  hidden?: number;
}

/** How far a principal gets with a verb: the actions of its role, where `full` is all of them. */
export function reachOf(
  { isAdmin, permissions }: Principal,
  base: string,
  verb: string,
): "all" | "own" | "none" {
  const held = permissions[base] ?? [];
  if (isAdmin || ["full", verb, `${verb}other`].some((action) => held.includes(action))) return "all";
  return held.includes(`${verb}own`) ? "own" : "none";
}

const VERBS: Verb[] = ["view", "create", "edit", "delete"];

export function isPowerless(principal: Principal, base: string): boolean {
  return VERBS.every((verb) => reachOf(principal, base, verb) === "none");
}

export function isReached(principal: Principal, base: string, verb: Verb, kind: Kind): boolean {
  if (kind === "missing") return false;
  if (kind === "shared" && verb === "view") return reachOf(principal, base, verb) !== "none";
  const reach = reachOf(principal, base, verb);
  return reach === "own" ? kind === "own" && principal.userId !== undefined : reach === "all";
}

/**
 * THE rule: a caller without credentials gets 401; without the right for what the route does first of all, 403; of an entity that is
 * not to be seen, 404, as if it were not there; of one that is to be seen and not to be changed, 403.
 */
export function expectedStatus(principal: Principal, needs: Need[], ok: number): number {
  if (!principal.isSignedIn) return 401;
  const isAsked = (need: Need, index: number) => index === 0 || need.kind === undefined;
  for (const [index, need] of needs.entries()) {
    const { base, verb, kind, hidden = 404, admitting = [] } = need;
    const isAdmitted = [base, ...admitting].some((any) => reachOf(principal, any, verb) !== "none");
    if (isAsked(need, index) && !isAdmitted) return 403;
    if (kind === undefined) continue;
    if (!isReached(principal, base, "view", kind)) return kind === "missing" ? 404 : hidden;
    if (!isReached(principal, base, verb, kind)) return 403;
  }
  return ok;
}
