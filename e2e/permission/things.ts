import assert from "node:assert/strict";
import type { Client, Entity } from "../client.ts";
import { personBody } from "../people.ts";
import { query } from "../query.ts";
import { resources as bodies } from "../resources.ts";
import type { TestStack } from "../stack.ts";
import type { Kind } from "./oracle.ts";

/** What the matrix needs to know of a resource. */
export interface Owned {
  path: string;
  one: string;
  many: string;
  base: string;
  /** The column that says whose a row is; a contact's things are those of the contact's owner. */
  owner?: { table: string; column: string } | "contact";
  canBeShared?: boolean;
  /** Publishing takes a right of its own. */
  isPublishedByRight?: boolean;
}

export const ownedResources: Owned[] = [
  {
    path: "contacts",
    one: "contact",
    many: "contacts",
    base: "lead:leads",
    owner: { table: "contact.contacts", column: "owner_id" },
  },
  {
    path: "companies",
    one: "company",
    many: "companies",
    base: "lead:leads",
    owner: { table: "contact.companies", column: "created_by" },
  },
  { path: "notes", one: "note", many: "notes", base: "lead:leads", owner: "contact" },
  { path: "devices", one: "device", many: "devices", base: "lead:leads", owner: "contact" },
  { path: "tags", one: "tag", many: "tags", base: "lead:leads" },
  { path: "fields/contact", one: "field", many: "fields", base: "lead:fields" },
  { path: "fields/company", one: "field", many: "fields", base: "lead:fields" },
  {
    path: "segments",
    one: "list",
    many: "lists",
    base: "lead:lists",
    owner: { table: "contact.segments", column: "created_by" },
    canBeShared: true,
  },
  {
    path: "hooks",
    one: "hook",
    many: "hooks",
    base: "webhook:webhooks",
    owner: { table: "webhook.webhooks", column: "created_by" },
    isPublishedByRight: true,
  },
  { path: "roles", one: "role", many: "roles", base: "user:roles" },
  { path: "users", one: "user", many: "users", base: "user:users" },
];

export const MISSING = 2_000_000_000;

/** An id for each kind of thing there is. */
export type Things = Partial<Record<Kind, number>> & { missing: number };

export interface Owners {
  own: number;
  other: number;
}

export function kindsOf({ owner, canBeShared }: Owned): Exclude<Kind, "missing">[] {
  if (!owner) return ["other"];
  return canBeShared ? ["own", "other", "ownerless", "shared"] : ["own", "other", "ownerless"];
}

/** Makes things of every kind, as the administrator, and gives each to whom it is to belong. */
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

/** Makes the things belong to whom they should; an edit may have changed that. */
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
  const sql = `set search_path = ${schema}; update ${table} set ${column} = case id ${cases.join(" ")} end where id in (${idsOf(things)})`;
  await query(database, sql);
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

/** The ids of the things that are there. */
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
