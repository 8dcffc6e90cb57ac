import assert from "node:assert/strict";
import { permissionTable } from "@tidings/gateway/identity/permission-table";
import { resources as mounted } from "@tidings/gateway/resources";
import { permission, resource as resourceOption } from "@tidings/proto/tidings/api/v1/options";
import { placeOf } from "@tidings/resource/resource";
import { optionOf } from "@tidings/rpc/option";
import { standardOf } from "@tidings/rpc/standard";
import { eventually } from "@tidings/testkit/eventually";
import type { Client, Entity } from "../client.ts";
import { personBody } from "../people.ts";
import { query } from "../query.ts";
import { resources as bodies } from "../resources.ts";
import type { TestStack } from "../stack.ts";
import type { Kind } from "./oracle.ts";

/** A resource as the matrix needs it. */
export interface Owned {
  path: string;
  one: string;
  many: string;
  base: string;
  /** Other bases that let a caller ask, where the permission depends on the row. */
  admitting?: string[];
  /** The column that says whose a row is; the entities of a contact are those of the contact's owner. */
  owner?: { table: string; column: string } | "contact";
  canBeShared?: boolean;
  /** Publishing takes a right of its own. */
  isPublishedByRight?: boolean;
}

/** Resources whose rows do not belong to their creators. */
const OWNERS: Record<string, Owned["owner"]> = {
  contacts: { table: "contact.contacts", column: "owner_id" },
  companies: { table: "contact.companies", column: "created_by" },
  notes: "contact",
  devices: "contact",
};
const SHARED = new Set(["segments"]);

export const ownedResources: Owned[] = mounted.map(({ path, one, many, service }) => {
  const base = optionOf(service, permission);
  const actions = actionsOf(base);
  const { resource } = standardOf(service);
  const has = (name: string) => resource.fields.some((field) => field.name === name);
  const { table } = placeOf(resource);
  const [, schema] = resource.typeName.split(".");
  const isCreators = actions.includes("viewown") && has("created_by");
  const owner = OWNERS[path] ?? (isCreators && { table: `${schema}.${table}`, column: "created_by" });
  return {
    path,
    one,
    many,
    base,
    ...(owner && { owner }),
    ...(optionOf(resource, resourceOption).permissionByRow && { admitting: sameOfOthers(base) }),
    canBeShared: SHARED.has(path),
    isPublishedByRight: has("is_published") && actions.some((action) => action.startsWith("publish")),
  };
});

/** Throws for a permission that no role can hold: rows of a test that are made of it would silently be missing. */
export function actionsOf(base: string): readonly string[] {
  const actions = permissionTable.get(base);
  if (!actions || actions.length === 0) throw new Error(`${base} is not in the permission table`);
  return actions;
}

/** `email:categories` and so on for `category:categories`. */
function sameOfOthers(base: string): string[] {
  const [, name] = base.split(":");
  return [...permissionTable.keys()].filter((other) => other !== base && other.endsWith(`:${name}`));
}

export const MISSING = 2_000_000_000;

/** An id for each kind of entity there is. */
export type Things = Partial<Record<Kind, number>> & { missing: number };

export interface Owners {
  own: number;
  other: number;
}

export function kindsOf({ owner, canBeShared }: Owned): Exclude<Kind, "missing">[] {
  if (!owner) return ["other"];
  return canBeShared ? ["own", "other", "ownerless", "shared"] : ["own", "other", "ownerless"];
}

/** Makes entities of every kind, as the administrator, and gives each to its owner. */
export async function makeThings(
  { api, database }: TestStack,
  resource: Owned,
  { owners, roleId, contacts }: { owners: Owners; roleId: number; contacts: Things | undefined },
): Promise<Things> {
  const kinds = kindsOf(resource);
  const items = kinds.map((kind) =>
    bodyOf(resource, { roleId, contactId: contacts?.[kind] }, kind === "shared"),
  );
  const made = await createAll(api, resource, items);
  const things: Things = { missing: MISSING };
  kinds.forEach((kind, index) => {
    things[kind] = made[index]?.id ?? 0;
  });
  await giveAway(database, resource, things, owners);
  return things;
}

/** Gives the entities back to their owners; an edit may have changed that. */
export async function giveAway(
  database: TestStack["database"],
  { owner }: Owned,
  things: Things,
  { own, other }: Owners,
): Promise<void> {
  if (typeof owner !== "object") return;
  const owned = Object.entries({ own, other, ownerless: null, shared: other });
  const cases = owned
    .filter(([kind]) => things[kind as Kind])
    .map(([kind, userId]) => `when ${things[kind as Kind]} then ${userId}::integer`);
  const { table, column } = owner;
  const [schema] = table.split(".");
  // The table's triggers look for their own in its schema.
  for (const copy of COPIES[table] ?? []) await giveAwayCopies(database, copy, idsOf(things), cases);
  const sql = `set search_path = ${schema}; update ${table} set ${column} = case id ${cases.join(" ")} end where id in (${idsOf(things)})`;
  await query(database, sql);
}

/** Tables in which other services replicate the owner of an entity: a change past its service does not reach them. */
const COPIES: Record<string, { table: string; column: string }[]> = {
  "contact.contacts": [{ table: "campaign.contacts", column: "owner_id" }],
};

async function giveAwayCopies(
  database: TestStack["database"],
  { table, column }: { table: string; column: string },
  ids: number[],
  cases: string[],
): Promise<void> {
  const text = `update ${table} set ${column} = case id ${cases.join(" ")} end where id in (${ids}) returning id`;
  await eventually(async () => assert.equal((await query(database, text)).length, ids.length));
}

/** A body that is good; with a contact for what belongs to one, and a role for a user. */
export function bodyOf(
  { path, owner }: Owned,
  { roleId, contactId }: { roleId: number; contactId: number | undefined },
  isShared = false,
): Record<string, unknown> {
  if (path === "users") return personBody(roleId);
  if (path === "segments") return { name: `Segment ${++count}`, isGlobal: isShared };
  const { minimal = () => ({}) } = bodies.find((resource) => resource.path === path) ?? {};
  return { ...minimal(), ...(owner === "contact" && { lead: contactId }) };
}

let count = 0;

/** A change of one member. */
export function changeOf(path: string): Record<string, unknown> {
  return bodies.find((resource) => resource.path === path)?.change ?? { description: "Changed" };
}

/** The ids of the entities that are there. */
export function idsOf({ missing: _, ...things }: Things): number[] {
  return Object.values(things);
}

async function createAll(api: Client, { path, many }: Owned, items: object[]): Promise<Entity[]> {
  const answer = await api("POST", `${path}/batch/new`, items);
  assert.equal(answer.status, 201, answer.text);
  const made = Object.values((answer.body as unknown as Record<string, Record<string, Entity>>)[many] ?? {});
  assert.equal(made.length, items.length, answer.text);
  return made;
}
