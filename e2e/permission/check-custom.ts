import assert from "node:assert/strict";
import type { CustomRoute, Named } from "./custom-routes.ts";
import { expectedStatus, type Kind, type Need } from "./oracle.ts";
import { type PermissionScene, resourceOf, type Sender } from "./scene.ts";
import type { Things } from "./things.ts";

/** Routes beyond the standard operations, with each entity of their path in every kind. */
export async function checkCustomRoutes(
  scene: PermissionScene,
  sender: Sender,
  routes: CustomRoute[],
): Promise<void> {
  const things = new Map<string, Things>();
  for (const { resource } of routes.flatMap((route) => route.things))
    if (!things.has(resource))
      things.set(resource, (await scene.thingsFor(sender, resourceOf(resource))).things);
  for (const route of routes)
    for (const kinds of kindsOfPath(route, things)) await checkRoute(scene, sender, route, { kinds, things });
}

/** One entity of the path varies, the others are the principal's own where there are such. */
function kindsOfPath({ things: named }: CustomRoute, things: Map<string, Things>): Kind[][] {
  const known = ({ resource }: Named) => Object.keys(things.get(resource) ?? {}) as Kind[];
  const usual = named.map((thing): Kind => (known(thing).includes("own") ? "own" : "other"));
  if (named.length === 0) return [[]];
  return named.flatMap((thing, at) =>
    known(thing).map((kind) => usual.map((other, index) => (index === at ? kind : other))),
  );
}

async function checkRoute(
  scene: PermissionScene,
  sender: Sender,
  { method, template, right, things: named, body, ok = 200, okForApps = ok }: CustomRoute,
  { kinds, things }: { kinds: Kind[]; things: Map<string, Things> },
): Promise<void> {
  const ids: Record<string, number> = {};
  const needs: Need[] = right ? [right] : [];
  for (const [index, { parameter, resource, base, verb, hidden, isAskedAnew }] of named.entries()) {
    if (isAskedAnew) needs.push({ base, verb });
    const kind = kinds[index] ?? "other";
    // A merged contact is gone afterwards.
    const isConsumed = parameter === "mergedId";
    const set = isConsumed
      ? (await scene.thingsFor(sender, resourceOf(resource))).things
      : things.get(resource);
    ids[parameter] = set?.[kind] ?? 0;
    needs.push({ base, verb, kind, ...(hidden && { hidden }) });
  }
  const status = sender.userId === undefined ? okForApps : ok;
  const answer = await sender.api(method, pathOf(template, ids), body);
  const told = `${method} ${template} ${kinds}: ${answer.text}`;
  assert.equal(answer.status, expectedStatus(sender, needs, status), told);
}

const PARAMETERS: Record<string, string> = {
  operator: "plus",
  delta: "1",
  channel: "email",
  utmTagsId: "2000000000",
  directory: "assets",
  file: "nothing.png",
  theme: "nothing",
};

/** The path of a template, as it is sent below `/api/`. */
export function pathOf(template: string, ids: Record<string, number> = {}): string {
  const path = template.replace(/:(\w+)/g, (_, name: string) => String(ids[name] ?? PARAMETERS[name] ?? 1));
  return path.slice(1);
}
