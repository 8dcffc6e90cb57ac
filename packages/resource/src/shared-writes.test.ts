import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { categoryReference } from "./category-reference.ts";
import { repository } from "./repository.ts";
import type { Repository } from "./repository-options.ts";

let testDatabase: TestDatabase;
let database: Database;
let segments: Repository<Segment>;
let count = 0;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
  const context = { database, outbox: createOutbox(), references: { category: categoryReference(database) } };
  segments = repository<Segment>(context, SegmentSchema, {
    prepare: (draft) => {
      draft.alias ||= `shared-${++count}`;
      if (draft.filters.length === 0) draft.filters = Buffer.from("[]");
      return draft.name === "bad" ? [{ field: "name", message: "bad" }] : [];
    },
  });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const userOf = (id: number, held: string[]): Actor => ({
  ...{ kind: "user", id, name: `User ${id}`, admin: false },
  permissions: { "test:rows": held },
});
const ADA = userOf(11, ["full"]);
const BOB = userOf(12, ["viewown", "editown", "create"]);

function callOf(actor = ADA): Call {
  const deadlineMs = Date.now() + 20_000;
  return { actor, deadlineMs, requestId: "test", reach: (verb) => reach(actor, "test:rows", verb) };
}

async function addSegments(size: number): Promise<number[]> {
  const messages = Array.from({ length: size }, () => create(SegmentSchema, { name: "A segment" }));
  return (await segments.batchCreate(messages, callOf())).items.map(({ id }) => id);
}

const rename = (id: number, name: string, call = callOf()) =>
  segments.update(
    {
      id,
      message: create(SegmentSchema, { name }),
      updateMask: { $typeName: "google.protobuf.FieldMask", paths: ["name"] },
      allowMissing: false,
    },
    call,
  );

const rowsOf = (text: string) => database.query({ text }, [], Date.now() + 5_000);

/** The versions that events of a segment have, and in which transaction each was written. */
const eventsOf = (ids: number[]) =>
  rowsOf(
    `select aggregate_id as id, aggregate_version as version, xmin::text as transaction from outbox where aggregate_id = any ('{${ids}}') and subject like '%segment.updated' order by outbox.id`,
  );

test("updates of one caller at the same time are few transactions, each answered with its own row and event", async () => {
  const ids = await addSegments(60);
  const saved = await Promise.all(ids.map((id) => rename(id, `Segment ${id}`)));
  assert.deepEqual(
    saved.map(({ item }) => [item.id, item.name]),
    ids.map((id) => [id, `Segment ${id}`]),
  );
  const events = await eventsOf(ids);
  assert.deepEqual(
    events.map(({ id, version }) => [Number(id), version]).toSorted(([a], [b]) => Number(a) - Number(b)),
    ids.map((id) => [id, "2"]),
  );
  assert.ok(new Set(events.map(({ transaction }) => transaction)).size < 10);
});

test("updates of one row at the same time come one after the other, each with a version of its own", async () => {
  const [id = 0] = await addSegments(1);
  const names = Array.from({ length: 20 }, (_, index) => `Name ${index}`);
  const saved = await Promise.all(names.map((name) => rename(id, name)));
  assert.deepEqual(
    saved.map(({ item }) => item.name),
    names,
  );
  assert.deepEqual(
    (await eventsOf([id])).map(({ version }) => Number(version)),
    names.map((_, index) => index + 2),
  );
});

test("an update that is refused, or fails in the database, leaves those beside it alone", async () => {
  const [first = 0, bad = 0, broken = 0, last = 0] = await addSegments(4);
  await queryAsSuperuser(
    testDatabase,
    `alter table contact.segments add constraint no_broken check (name <> 'broken' or id <> ${broken}) not valid`,
  );
  const results = await Promise.allSettled([
    rename(first, "Fine"),
    rename(bad, "bad"),
    rename(broken, "broken"),
    rename(2_000_000_000, "Gone"),
    rename(last, "Fine, too"),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "rejected", "rejected", "fulfilled"],
  );
  const codes = results.map((result) => (result.status === "rejected" ? codeOf(result.reason) : undefined));
  assert.deepEqual([codes[1], codes[3]], [Code.INVALID_ARGUMENT, Code.NOT_FOUND]);
  const names = await rowsOf(
    `select name from segments where id in (${first}, ${bad}, ${broken}, ${last}) order by id`,
  );
  assert.deepEqual(
    names.map(({ name }) => name),
    ["Fine", "A segment", "A segment", "Fine, too"],
  );
});

test("callers share no transaction, and none gets the rights of another", async () => {
  const [one = 0, other = 0] = await addSegments(2);
  const results = await Promise.allSettled([
    rename(one, "By Ada"),
    rename(other, "By Bob", callOf(BOB)),
    rename(other, "By Ada, too"),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
});

test("a row that somebody else holds holds up no other", async () => {
  const [held = 0, free = 0] = await addSegments(2);
  const holder = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const holding = database.transaction(Date.now() + 20_000, async (transaction) => {
    await transaction.query({ text: `select 1 from segments where id = ${held} for update` });
    isHeld.resolve();
    await holder.promise;
  });
  await isHeld.promise;
  const waiting = rename(held, "Later");
  assert.equal((await rename(free, "At once")).item.name, "At once");
  holder.resolve();
  await holding;
  assert.equal((await waiting).item.name, "Later");
});

function codeOf(error: unknown): Code | undefined {
  return error instanceof Fault ? error.code : undefined;
}
