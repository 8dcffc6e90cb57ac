import assert from "node:assert/strict";
import type { Route } from "@tidings/gateway/route/route";
import { expectedStatus, type Kind, type Need } from "./oracle.ts";
import { exampleOf, pathOf } from "./routes.ts";
import { type PermissionScene, resourceOf, type Sender } from "./scene.ts";
import type { Things } from "./things.ts";

interface Case {
  /** The status for callers who may; 200 when absent. */
  ok?: number;
  /** The status for an app on its own, where it differs. */
  okForApps?: number;
  body?: object;
}

/** Routes of which callers who may get another answer, since what they name is in no row of the matrix or nothing good is sent. */
const CASES: Record<string, Case> = {
  removeUtmTags: { ok: 400 },
  // No contact was added to the campaign yet.
  listCampaignContactEvents: { ok: 409 },
  cloneCampaign: { ok: 201 },
  getCampaignEvent: { ok: 404 },
  editEventLog: { ok: 404, body: {} },
  editEventLogs: { body: [] },
  getJob: { ok: 404 },
  cancelJob: { ok: 404 },
  getBroadcast: { ok: 404 },
  getSmsBroadcast: { ok: 404 },
  pauseSmsBroadcast: { ok: 404 },
  resumeSmsBroadcast: { ok: 404 },
  cancelSmsBroadcast: { ok: 404 },
  recordReply: { ok: 404 },
  listSends: { ok: 400 },
  resolveSend: { ok: 400, body: {} },
  replaySends: { ok: 400, body: {} },
  sendTestEmail: { ok: 409, okForApps: 400, body: {} },
  pauseBroadcast: { ok: 404 },
  resumeBroadcast: { ok: 404 },
  cancelBroadcast: { ok: 404 },
  getSubmission: { ok: 404 },
  releaseSubmission: { ok: 404 },
  downloadSubmissionFile: { ok: 404 },
  uploadFile: { ok: 406 },
  deleteFile: { ok: 404 },
  uploadTheme: { ok: 400 },
  downloadTheme: { ok: 404 },
  deleteTheme: { ok: 404 },
  changeOwnPassword: { ok: 400, body: {} },
  endOwnSessions: { okForApps: 400 },
};

/** Routes beyond the standard operations, with each entity of their path in every kind. */
export async function checkOwnRoutes(scene: PermissionScene, sender: Sender, routes: Route[]): Promise<void> {
  const things = new Map<string, Things>();
  for (const { resource } of routes.flatMap(entitiesOf))
    if (!things.has(resource))
      things.set(resource, (await scene.thingsFor(sender, resourceOf(resource))).things);
  // Reads first: what a write makes is not there yet.
  const inOrder = routes.toSorted(
    (one, other) => Number(one.method !== "GET") - Number(other.method !== "GET"),
  );
  for (const route of inOrder)
    for (const kinds of kindsOfPath(route, things)) await checkRoute(scene, sender, route, { kinds, things });
}

/** The entities that a path names, in their order. */
export function entitiesOf({ parameters }: Route) {
  return Object.entries(parameters).flatMap(([parameter, { entity }]) =>
    entity ? [{ parameter, base: resourceOf(entity.resource).base, ...entity }] : [],
  );
}

/** One entity of the path varies, the others are the principal's own where there are such. */
function kindsOfPath(route: Route, things: Map<string, Things>): Kind[][] {
  const entities = entitiesOf(route);
  const known = (resource: string) => Object.keys(things.get(resource) ?? {}) as Kind[];
  const usual = entities.map(({ resource }): Kind => (known(resource).includes("own") ? "own" : "other"));
  if (entities.length === 0) return [[]];
  return entities.flatMap(({ resource }, at) =>
    known(resource).map((kind) => usual.map((other, index) => (index === at ? kind : other))),
  );
}

async function checkRoute(
  scene: PermissionScene,
  sender: Sender,
  route: Route,
  { kinds, things }: { kinds: Kind[]; things: Map<string, Things> },
): Promise<void> {
  const { method, path, right, operation } = route;
  const {
    ok = 200,
    okForApps = ok,
    body = exampleOf(route),
  } = CASES[operation.replace(/Alias\d?$/, "")] ?? {};
  const ids: Record<string, number> = {};
  const needs: Need[] = right ? [right] : [];
  for (const [index, { parameter, resource, base, verb, hidden, isAskedAnew }] of entitiesOf(
    route,
  ).entries()) {
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
  const answer = await sender.api(method, pathOf(path, ids), body);
  const told = `${method} ${path} ${kinds}: ${answer.text}`;
  assert.equal(answer.status, expectedStatus(sender, needs, status), told);
}
