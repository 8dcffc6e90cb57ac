import { Code, Fault } from "@tidings/rpc/fault";
import { reachOfAction } from "@tidings/rpc/permission";
import { textOf } from "@tidings/runtime/plain-text";
import { permissionTable } from "./permission-table.ts";

/** Permission base (`lead:leads`) to the actions held on it. */
export type Permissions = Record<string, string[]>;

/** The rights that a role gives and an actor has. */
export interface Rights {
  admin: boolean;
  permissions: Permissions;
}

/** Reads the sent permissions of a role, or says which part of them is wrong. */
export function readPermissions(value: unknown): { permissions: Permissions } | { problem: string } {
  // Some clients write an empty set of names as a list.
  if (Array.isArray(value) && value.length === 0) return { permissions: {} };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "Permissions are an object: the name of each and a list of what may be done." };
  const permissions: Permissions = {};
  for (const [base, actions] of Object.entries(value)) {
    const known = permissionTable.get(base);
    if (!known) return { problem: `"${base.slice(0, 100)}" is not a permission.` };
    if (typeof actions !== "object" || actions === null)
      return { problem: `What "${base}" allows has to be a list.` };
    const wanted: unknown[] = Object.values(actions);
    const unknownAction = wanted.find((action) => !known.some((name) => name === action));
    if (unknownAction !== undefined)
      return { problem: `"${base}:${textOf(unknownAction)?.slice(0, 100) ?? "?"}" is not a permission.` };
    if (wanted.length > 0) permissions[base] = [...new Set(wanted as string[])];
  }
  return { permissions };
}

const VIEW = ["viewown", "viewother"];

/** Rights that another right needs to be of use. */
const NEEDED: Record<string, string[]> = {
  viewother: ["viewown"],
  edit: ["view"],
  editown: ["viewown"],
  editother: VIEW,
  create: ["view", "viewown"],
  delete: ["view", "edit"],
  deleteown: ["viewown"],
  deleteother: ["editother", ...VIEW],
  publish: ["view"],
  publishown: ["viewown"],
  publishother: VIEW,
};

/** The permissions with those that they need: editing needs viewing, viewing needs the categories. */
export function withNeeded(permissions: Permissions): Permissions {
  const needed: Permissions = {};
  const add = (base: string, actions: string[]) => {
    const known = permissionTable.get(base)?.filter((action) => actions.includes(action)) ?? [];
    if (known.length > 0) needed[base] = [...new Set([...(needed[base] ?? []), ...known])];
  };
  for (const [base, actions] of Object.entries(permissions)) {
    add(base, [...actions, ...actions.flatMap((action) => NEEDED[action] ?? [])]);
    if (base === "lead:lists" || base === "lead:fields") add("lead:leads", ["viewown"]);
  }
  const mayView = (base: string) =>
    reachOfAction({ admin: false, permissions: needed }, base, "view") !== "none";
  for (const base of Object.keys(needed)) {
    const categories = `${base.split(":", 1)[0]}:categories`;
    if (mayView(base) && !mayView(categories)) add(categories, ["view"]);
  }
  return needed;
}

/** Does everything that `inner` gives come with `outer`, too? */
export function isWithin(inner: Rights, outer: Rights): boolean {
  if (outer.admin) return true;
  if (inner.admin) return false;
  return Object.entries(inner.permissions).every(([base, actions]) =>
    actions.every((action) => gives(outer, base, action)),
  );
}

/** `edit` asks for the rows of everybody where the resource knows no owners; `editown` only for one's own. */
function gives(rights: Rights, base: string, action: string): boolean {
  const { verb = "", scope } = /^(?<verb>.+?)(?<scope>own|other)?$/.exec(action)?.groups ?? {};
  const reached = reachOfAction(rights, base, verb);
  return scope === "other" ? reached === "all" : reached !== "none";
}

const VERB_ACTION = /^(view|edit|delete|publish)(own|other)?$/;

/**
 * Does somebody hold `group:resource:action`? True is what lets the routes pass; `view` means some rows at least. Both
 * spellings are good for every resource: `view` and `viewown` or `viewother`. Throws PERMISSION_UNKNOWN for a name that
 * is none.
 */
export function holds(rights: Rights, permission: string): boolean {
  const [group, resource, action = "", ...rest] = permission.split(":");
  const base = `${group}:${resource}`;
  if (rest.length > 0 || !isKnown(base, action)) throw unknown(permission);
  return gives(rights, base, action);
}

function isKnown(base: string, action: string): boolean {
  const actions = permissionTable.get(base) ?? [];
  if (actions.includes(action)) return true;
  const [, verb = ""] = VERB_ACTION.exec(action) ?? [];
  return verb !== "" && ["", "own", "other"].some((scope) => actions.includes(verb + scope));
}

function unknown(permission: string): Fault {
  const message = `The permission "${permission.slice(0, 100)}" is unknown.`;
  return new Fault({ code: Code.PERMISSION_DENIED, reason: "PERMISSION_UNKNOWN", message });
}
