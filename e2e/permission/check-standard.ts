import assert from "node:assert/strict";
import type { Answer, Entity } from "../client.ts";
import { expectedStatus, isReached, type Kind, type Need, reachOf, type Verb } from "./oracle.ts";
import type { Made, PermissionScene, Sender } from "./scene.ts";
import { bodyOf, changeOf, giveAway, idsOf, kindsOf, type Owned, type Things } from "./things.ts";

interface Check extends Made {
  sender: Sender;
  resource: Owned;
  /** Without the one that is missing, and with it. */
  kinds: Kind[];
  body(kind: Kind): object;
  expected(verb: Verb, kind?: Kind, ok?: number): number;
  /** Sends and compares the status. */
  send(status: number, method: string, rest: string, body?: object): Promise<Answer>;
}

/** Every standard operation on an entity of every kind, alone and in batches. */
export async function checkStandardOperations(
  scene: PermissionScene,
  sender: Sender,
  resource: Owned,
): Promise<void> {
  const check = checkOf(scene, sender, resource, await scene.thingsFor(sender, resource));
  const restore = () => giveAway(scene.stack.database, resource, check.things, check.owners);
  await checkLists(check);
  await checkCreating(check);
  await checkSingleEdits(check);
  await restore();
  await checkBatchEdits(check);
  await restore();
  await checkBatchDelete({ ...check, ...(await scene.thingsFor(sender, resource)) });
  for (const kind of check.kinds)
    await check.send(check.expected("delete", kind), "DELETE", `/${check.things[kind]}/delete`);
}

function checkOf(scene: PermissionScene, sender: Sender, resource: Owned, made: Made): Check {
  const { path, base } = resource;
  const { contacts } = made;
  return {
    ...made,
    sender,
    resource,
    kinds: [...kindsOf(resource), "missing"],
    body: (kind) => {
      const contactId = contacts?.[kind === "missing" ? "own" : kind];
      return bodyOf(resource, { roleId: scene.roleId, contactId });
    },
    expected: (verb, kind, ok = 200) => {
      // A creation has a right of its own, and no other.
      const { admitting } = verb === "create" ? {} : resource;
      const need: Need = { base, verb, ...(kind && { kind }), ...(admitting && { admitting }) };
      return expectedStatus(sender, [need], ok);
    },
    async send(status, method, rest, body) {
      const answer = await sender.api(method, path + rest, body);
      assert.equal(answer.status, status, `${method} ${path}${rest}: ${answer.text}`);
      return answer;
    },
  };
}

/** Lists, their totals and their filters know of nothing that is not to be seen. */
async function checkLists({ sender, resource, things, kinds, expected, send }: Check): Promise<void> {
  const ids = idsOf(things);
  const clause = (name: string) => `${name}[col]=id&${name}[expr]=in&${name}[val]=${ids}`;
  const visible = kinds.filter((kind) => isReached(sender, resource.base, "view", kind));
  for (const query of [
    `search=ids:${ids}`,
    `search=ids:${ids}&limit=600`,
    clause("where[0]"),
    `where[0][expr]=orX&${clause("where[0][val][0]")}`,
  ]) {
    const answer = await send(expected("view"), "GET", `?${query}`);
    if (answer.status !== 200) continue;
    assertIds(answer, resource, things, visible);
    assert.equal(Number(answer.body.total), visible.length, query);
  }
}

async function checkCreating({ sender, resource, body, expected, send }: Check): Promise<void> {
  const status = expected("create", undefined, 201);
  await send(status, "POST", "/new", body("own"));
  // Where other rights let a caller ask, each item gets the answer that it would get alone.
  const isAdmitted = resource.admitting?.some((any) => reachOf(sender, any, "create") !== "none");
  const made = await send(isAdmitted ? 201 : status, "POST", "/batch/new", [body("own")]);
  if (isAdmitted) assert.deepEqual(statusCodes(made), [status]);
}

async function checkSingleEdits(check: Check): Promise<void> {
  const { resource, things, kinds, body, expected, send } = check;
  for (const kind of kinds) {
    const id = things[kind];
    await send(expected("view", kind), "GET", `/${id}`);
    await send(expected("edit", kind), "PATCH", `/${id}/edit`, changeOf(resource.path));
    await send(putStatus(check, kind), "PUT", `/${id}/edit`, body(kind));
  }
}

/** Each item says what it would say alone. */
async function checkBatchEdits(check: Check): Promise<void> {
  const { resource, things, kinds, body, expected, send } = check;
  const changes = kinds.map((kind) => ({ ...changeOf(resource.path), id: things[kind] }));
  const patched = await send(expected("edit"), "PATCH", "/batch/edit", changes);
  if (patched.status !== 200) return;
  assert.deepEqual(
    statusCodes(patched),
    kinds.map((kind) => expected("edit", kind)),
  );
  const replacements = kinds.map((kind) => ({ ...body(kind), id: things[kind] }));
  const put = await send(200, "PUT", "/batch/edit", replacements);
  assert.deepEqual(
    statusCodes(put),
    kinds.map((kind) => putStatus(check, kind)),
  );
}

/** A PUT makes what is missing: who may edit, but not create, may not do that. */
function putStatus({ expected }: Check, kind: Kind): number {
  if (kind !== "missing") return expected("edit", kind);
  const mayEdit = expected("edit");
  return mayEdit === 200 ? expected("create", undefined, 201) : mayEdit;
}

/** Checks the statuses of a batch deletion: an invisible entity is answered as a missing one. */
async function checkBatchDelete({ resource, things, kinds, expected, send }: Check): Promise<void> {
  const ids = kinds.map((kind) => things[kind]).join(",");
  const answer = await send(expected("delete"), "DELETE", `/batch/delete?ids=${ids}`);
  if (answer.status !== 200) return;
  const outcomes = kinds.map((kind) => expected("delete", kind));
  const deleted = kinds.filter((_, index) => outcomes[index] === 200);
  assertIds(answer, resource, things, deleted);
  const refused = Object.values(answer.body.errors ?? {}).map(({ code }) => code);
  assert.deepEqual(
    refused,
    outcomes.filter((outcome) => outcome !== 200),
  );
}

/** A caller who may not publish creates unpublished entities, and an edit leaves the state as it is. */
export async function checkPublishing(
  scene: PermissionScene,
  sender: Sender,
  resource: Owned,
): Promise<void> {
  const { path, base, one } = resource;
  const entityIn = ({ body }: Answer) => (body as unknown as Record<string, Entity>)[one];
  const { things } = await scene.thingsFor(sender, resource);
  const reach = reachOf(sender, base, "publish");
  const body = bodyOf(resource, { roleId: scene.roleId, contactId: undefined });
  const created = await sender.api("POST", `${path}/new`, { ...body, isPublished: true });
  if (created.status === 201) assert.equal(entityIn(created)?.isPublished, reach !== "none");
  for (const kind of kindsOf(resource)) {
    const edited = await sender.api("PATCH", `${path}/${things[kind]}/edit`, { isPublished: false });
    const mayPublish = reach === "all" || (reach === "own" && kind === "own");
    if (edited.status === 200) assert.equal(entityIn(edited)?.isPublished, !mayPublish, kind);
  }
}

function assertIds({ body, text }: Answer, { many }: Owned, things: Things, kinds: Kind[]): void {
  const entities = Object.values((body as unknown as Record<string, Record<string, Entity>>)[many] ?? {});
  const ids = entities.map(({ id }) => id);
  assert.deepEqual(ids.toSorted(), kinds.map((kind) => things[kind]).toSorted(), text);
}

function statusCodes({ body }: Answer): number[] {
  return (body as unknown as { statusCodes: number[] }).statusCodes;
}
