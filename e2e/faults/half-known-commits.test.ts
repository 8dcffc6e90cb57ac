import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { resources as mounted } from "@tidings/gateway/resources";
import { auditedBySubject } from "@tidings/reporting/audited";
import { placeOf } from "@tidings/resource/resource";
import { standardOf } from "@tidings/rpc/standard";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { startProxy } from "@tidings/testkit/proxy";
import { type Answer, type Entity, fetchApi } from "../client.ts";
import { make } from "../people.ts";
import { query } from "../query.ts";
import { addFirstContact, type Resource, resources } from "../resources.ts";
import { ADMINISTRATOR, startTestStack } from "../stack.ts";

/**
 * A transaction may have happened although its COMMIT got no answer. For every kind of write: the answer is 503 or 504, what was written is
 * there as a whole with its event, or not at all, and the process goes on.
 */

const database = await createTestDatabase();
const proxy = await startProxy(database.url("contact"));
const { host } = new URL(proxy.url);
const stack = await startTestStack({
  database: { ...database, url: (schema) => Object.assign(new URL(database.url(schema)), { host }).href },
});
after(async () => {
  // Transactions that still wait for their answers would be waited for.
  await proxy.stop();
  await stack.stop();
  await database.drop();
});
const { api } = stack;

interface Kind extends Resource {
  /** With its schema. */
  table: string;
  /** As the log of changes calls it. */
  object: string;
}

const kinds: Kind[] = resources.map((each) => {
  const service = mounted.find(({ path }) => path === each.path)?.service;
  assert.ok(service, each.path);
  const { resource } = standardOf(service);
  const [, schema = ""] = resource.typeName.split(".");
  const { table, events } = placeOf(resource);
  const { object = "" } = auditedBySubject(`${events}.created`) ?? {};
  return { ...each, object, table: `${schema}.${table}` };
});

/** Rows of a kind, the ids of those that are gone excepted. */
async function idsOf({ table }: Kind): Promise<Set<number>> {
  const isSoft = table === "campaign.campaigns" ? "where date_deleted is null" : "";
  return new Set(
    (await query<{ id: number }>(database, `select id from ${table} ${isSoft}`)).map(({ id }) => id),
  );
}

function isUnknown({ status, text }: Answer, what: string): void {
  assert.ok(status === 503 || status === 504, `${what}: ${status} ${text}`);
  assert.ok(text.startsWith('{"errors":['), text);
}

/** Sends all of them at once while no COMMIT is answered, and waits until the processes answer again. */
async function halfKnown(sends: Map<string, () => Promise<Answer>>): Promise<void> {
  proxy.swallowCommits();
  const answers = await Promise.all([...sends].map(async ([what, send]) => [what, await send()] as const));
  proxy.recover();
  for (const [what, answer] of answers) isUnknown(answer, what);
  await eventually(async () => {
    for (const { path } of kinds) assert.equal((await api("GET", `${path}?limit=1`)).status, 200, path);
  });
}

/**
 * The relay and the log of changes may have sent a COMMIT too, right before the proxy recovered: each waits until its own deadline for the
 * answer, and begins anew after it.
 */
const RELAYED = { timeoutMs: 60_000 };

const { username, password } = ADMINISTRATOR;
const BASIC = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
const cancelled = new AbortController();

before(() => addFirstContact(api));

test("a creation, an edit and a deletion that got no answer happened as a whole or not at all, and with their events", async () => {
  const things = new Map<Kind, { edited: Entity; deleted: Entity }>();
  for (const kind of kinds) {
    const add = () => make(api, kind.path, kind.one, kind.minimal());
    things.set(kind, { edited: await add(), deleted: await add() });
  }
  const byTable = Map.groupBy(kinds, ({ table }) => table);
  const before = new Map<string, Set<number>>();
  for (const [table, [kind]] of byTable) before.set(table, kind ? await idsOf(kind) : new Set());
  const sends = [...things].flatMap(([{ path, change, minimal }, { edited, deleted }]) => [
    [`POST ${path}`, () => api("POST", `${path}/new`, minimal())] as const,
    [`PATCH ${path}`, () => api("PATCH", `${path}/${edited.id}/edit`, change)] as const,
    [`DELETE ${path}`, () => api("DELETE", `${path}/${deleted.id}/delete`)] as const,
  ]);
  await halfKnown(new Map(sends));
  let made = 0;
  for (const [table, some] of byTable) {
    const [kind] = some;
    assert.ok(kind);
    const added = [...(await idsOf(kind))].filter((id) => !before.get(table)?.has(id));
    assert.ok(added.length <= some.length, `${table}: ${added}`);
    made += added.length;
    for (const id of added) await isTold(kind, id, "create");
  }
  assert.ok(made > kinds.length / 2, `${made} of ${kinds.length} were made`);
  for (const [kind, { edited, deleted }] of things) {
    const [key = ""] = Object.keys(kind.change);
    const { body } = await api("GET", `${kind.path}/${edited.id}`);
    const now = (body as unknown as Record<string, Entity>)[kind.one];
    assert.ok(now, kind.path);
    const isEdited = JSON.stringify(kind.read(now, key)) !== JSON.stringify(kind.read(edited, key));
    if (isEdited) await isTold(kind, edited.id, "update");
    if (!(await idsOf(kind)).has(deleted.id)) await isTold(kind, deleted.id, "delete");
  }
});

test("a batch that got no answer is kept as a whole", async () => {
  const kind = kinds.find(({ path }) => path === "stages");
  assert.ok(kind);
  const before = await idsOf(kind);
  proxy.swallowCommits();
  const body = Array.from({ length: 50 }, kind.minimal);
  // Batches may take long: nobody waits for this answer.
  const sent = fetchApi(stack.baseUrl, {
    method: "POST",
    path: "stages/batch/new",
    headers: { authorization: BASIC },
    body,
    signal: cancelled.signal,
  }).catch(() => undefined);
  await eventually(async () => assert.equal((await idsOf(kind)).size, before.size + 50));
  proxy.recover();
  cancelled.abort();
  await sent;
});

test("actions on contacts whose COMMIT got no answer happened once or not at all, and can be repeated", async () => {
  const contact = await make(api, "contacts", "contact", { email: "half@example.com" });
  const [segment, stage, campaign, company, group] = await Promise.all([
    make(api, "segments", "list", { name: "Half" }),
    make(api, "stages", "stage", { name: "Half" }),
    make(api, "campaigns", "campaign", { name: "Half" }),
    make(api, "companies", "company", { companyname: "Half" }),
    make(api, "points/groups", "pointGroup", { name: "Half" }),
  ]);
  const paths = [
    `contacts/${contact.id}/points/plus/5`,
    `contacts/${contact.id}/points/groups/${group.id}/plus/5`,
    `contacts/${contact.id}/dnc/email/add`,
    `segments/${segment.id}/contact/${contact.id}/add`,
    `stages/${stage.id}/contact/${contact.id}/add`,
    `campaigns/${campaign.id}/contact/${contact.id}/add`,
    `companies/${company.id}/contact/${contact.id}/add`,
  ];
  await halfKnown(new Map(paths.map((path) => [path, () => api("POST", path)])));
  const points = async () => (await api("GET", `contacts/${contact.id}`)).body.contact.points;
  assert.ok([0, 5].includes(await points()), String(await points()));
  const had = await points();
  for (const path of paths) {
    const answer = await api("POST", path);
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
  }
  assert.equal(await points(), had + 5);
});

/** Its event reached the log of changes, once. */
async function isTold(kind: Kind, id: number, action: string): Promise<void> {
  const sql = `select count(*) from reporting.audit_entries where object_id = ${id} and action = '${action}'
    and object = '${kind.object}'`;
  await eventually(async () => {
    const [row] = await query<{ count: string }>(database, sql);
    assert.equal(row?.count, "1", `${kind.path} ${id} ${action}`);
  }, RELAYED);
}
