import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Note, NoteSchema } from "@tidings/proto/tidings/contact/v1/note";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { sql } from "kysely";
import { categoryReference } from "./category-reference.ts";
import type { ReferenceKind } from "./reference.ts";
import { repository } from "./repository.ts";
import type { Repository } from "./repository-options.ts";

const ADA = 11;
const BOB = 12;
const EVERYTHING = ["full"];
const OWN = ["viewown", "editown", "deleteown", "create", "publishown"];

let testDatabase: TestDatabase;
let database: Database;
let segments: Repository<Segment>;
let notes: Repository<Note>;
let count = 0;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
  segments = segmentsWith({});
  const context = { database, outbox: createOutbox(), references: { contact: anyContact } };
  notes = repository<Note>(context, NoteSchema, {
    owner: { by: "contact_id", through: "contacts", column: "owner_id" },
    commands: new Map([["is", ({ text }) => (text === "short" ? sql`length(text) < 6` : undefined)]]),
    prepare: (draft) => {
      draft.dateTime ??= { $typeName: "google.protobuf.Timestamp", seconds: 0n, nanos: 0 };
      return [];
    },
  });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Contacts that everybody may name. */
const anyContact: ReferenceKind = {
  async find(queryable, ids) {
    const rows = await queryable.query({ text: "select id from contacts where id = any($1::integer[])" }, [
      ids,
    ]);
    return new Map(rows.map((row) => [Number(row.id), row]));
  },
  show: async () => new Map(),
};

function segmentsWith(options: { freelyPublished?: boolean }): Repository<Segment> {
  const context = { database, outbox: createOutbox(), references: { category: categoryReference(database) } };
  return repository<Segment>(context, SegmentSchema, {
    shared: "is_global",
    prepare: (draft) => {
      draft.alias ||= `segment-${++count}`;
      if (draft.filters.length === 0) draft.filters = Buffer.from("[]");
      return [];
    },
    ...options,
  });
}

/** A call of somebody who holds these actions. */
function callOf(id: number | null, held: string[]): Call {
  const permissions = { "test:rows": held };
  const actor = { kind: "user" as const, id, name: `User ${id}`, admin: false, permissions };
  const deadlineMs = Date.now() + 20_000;
  return { actor, deadlineMs, requestId: "test", reach: (verb) => reach(actor, "test:rows", verb) };
}

const everybody = () => callOf(1, EVERYTHING);

type SegmentInit = MessageInitShape<typeof SegmentSchema>;

async function addSegment(call: Call, init: SegmentInit = {}): Promise<Segment> {
  return (await segments.create(create(SegmentSchema, { name: "A segment", isGlobal: false, ...init }), call))
    .item;
}

/** A note of a contact that belongs to somebody, or to nobody. */
async function addNote(ownerId: number | null, text = "A note"): Promise<Note> {
  const insert = "insert into contacts (date_added, owner_id) values (now(), $1) returning id";
  const [contact] = await database.query({ text: insert }, [ownerId], Date.now() + 5_000);
  const note = create(NoteSchema, { text, contact: { id: Number(contact?.id) } });
  return (await notes.create(note, everybody())).item;
}

function change<T>(id: number, message: T, ...paths: string[]) {
  return {
    id,
    message,
    updateMask: { $typeName: "google.protobuf.FieldMask" as const, paths },
    allowMissing: false,
  };
}

async function assertFault(promise: Promise<unknown>, code: Code): Promise<void> {
  await assert.rejects(promise, (error) => error instanceof Fault && error.code === code);
}

const renamed = (id: number) => change(id, create(SegmentSchema, { name: "Renamed" }), "name");
const rewritten = (id: number) => change(id, create(NoteSchema, { text: "New" }), "text");
const query = (init: MessageInitShape<typeof ListQuerySchema> = {}) =>
  create(ListQuerySchema, { pageSize: 1_000, ...init });
const codesOf = ({ statuses }: { statuses: { error?: { code: number } | undefined }[] }) =>
  statuses.map(({ error }) => error?.code);

test("with rights to one's own rows only, those of others and of nobody do not exist", async () => {
  const ada = callOf(ADA, OWN);
  const own = await addSegment(ada);
  const others = [await addSegment(callOf(BOB, OWN)), await addSegment(callOf(null, OWN))];
  assert.equal((await segments.get(own.id, ada)).id, own.id);
  for (const { id } of others) {
    await assertFault(segments.get(id, ada), Code.NOT_FOUND);
    await assertFault(segments.update(renamed(id), ada), Code.NOT_FOUND);
    await assertFault(segments.delete(id, ada), Code.NOT_FOUND);
  }
  const { items, totalSize } = await segments.list(query(), ada);
  assert.deepEqual([items.map(({ id }) => id), totalSize], [[own.id], 1]);
  const ids = [own, ...others].map(({ id }) => id);
  const asked = await segments.list(query({ ids }), ada);
  assert.deepEqual(
    asked.items.map(({ id }) => id),
    [own.id],
  );
  assert.deepEqual((await segments.list(query({ idsOnly: true }), ada)).ids, [own.id]);
  const found = [undefined, Code.NOT_FOUND, Code.NOT_FOUND];
  assert.deepEqual(codesOf(await segments.batchUpdate(ids.map(renamed), ada)), found);
  assert.deepEqual(codesOf(await segments.batchDelete(ids, ada)), found);
  assert.equal((await segments.get(others[0]?.id ?? 0, everybody())).name, "A segment");
});

test("a row without a creator belongs to no caller, also not to one without an id", async () => {
  const nobody = callOf(null, OWN);
  const { id } = await addSegment(nobody);
  await assertFault(segments.get(id, nobody), Code.NOT_FOUND);
  assert.equal((await segments.list(query(), nobody)).totalSize, 0);
});

test("changing a row that the caller may only view is denied, alone and in batches", async () => {
  const ada = callOf(ADA, [...OWN, "viewother"]);
  const own = await addSegment(ada);
  const other = await addSegment(callOf(BOB, OWN));
  await assertFault(segments.update(renamed(other.id), ada), Code.PERMISSION_DENIED);
  await assertFault(segments.delete(other.id, ada), Code.PERMISSION_DENIED);
  const ids = [own.id, other.id];
  const denied = [undefined, Code.PERMISSION_DENIED];
  assert.deepEqual(codesOf(await segments.batchUpdate(ids.map(renamed), ada)), denied);
  assert.deepEqual(codesOf(await segments.batchDelete(ids, ada)), denied);
});

test("later items of a batch may do what the first one might", async () => {
  const ada = callOf(ADA, OWN);
  const { id } = await addSegment(ada);
  const described = change(id, create(SegmentSchema, { description: "Twice" }), "description");
  assert.deepEqual(codesOf(await segments.batchUpdate([renamed(id), described], ada)), [
    undefined,
    undefined,
  ]);
  const { name, description } = await segments.get(id, ada);
  assert.deepEqual([name, description], ["Renamed", "Twice"]);
});

test("a row that belongs to another one is whose that is, and follows it", async () => {
  const ada = callOf(ADA, OWN);
  const own = await addNote(ADA);
  const others = [await addNote(BOB), await addNote(null)];
  assert.equal((await notes.get(own.id, ada)).id, own.id);
  for (const { id } of others) {
    await assertFault(notes.get(id, ada), Code.NOT_FOUND);
    await assertFault(notes.update(rewritten(id), ada), Code.NOT_FOUND);
    await assertFault(notes.delete(id, ada), Code.NOT_FOUND);
  }
  const { items, totalSize } = await notes.list(query(), ada);
  assert.deepEqual([items.map(({ id }) => id), totalSize], [[own.id], 1]);
  const ids = [own, ...others].map(({ id }) => id);
  assert.equal((await notes.list(query({ ids }), ada)).items.length, 1);
  const found = [undefined, Code.NOT_FOUND, Code.NOT_FOUND];
  assert.deepEqual(codesOf(await notes.batchUpdate(ids.map(rewritten), ada)), found);

  const move = "update contacts set owner_id = $1 where id = $2";
  await database.query({ text: move }, [BOB, own.contact?.id], Date.now() + 5_000);
  await assertFault(notes.get(own.id, ada), Code.NOT_FOUND);
  assert.equal((await notes.list(query(), ada)).totalSize, 0);
  assert.deepEqual(
    codesOf(await notes.batchDelete(ids, ada)),
    ids.map(() => Code.NOT_FOUND),
  );
  assert.equal((await notes.get(own.id, callOf(BOB, OWN))).text, "New");
});

test("a shared row is seen by all who see their own, and changed by none of them but its owner", async () => {
  const ada = callOf(ADA, OWN);
  const global = await addSegment(callOf(BOB, OWN), { name: "Global", isGlobal: true });
  const secret = await addSegment(callOf(BOB, OWN), { name: "Secret", isGlobal: false });
  assert.equal((await segments.get(global.id, ada)).name, "Global");
  await assertFault(segments.get(secret.id, ada), Code.NOT_FOUND);
  const asked = query({ search: `ids:${global.id},${secret.id}` });
  const { items, totalSize } = await segments.list(asked, ada);
  assert.deepEqual([items.map(({ name }) => name), totalSize], [["Global"], 1]);
  await assertFault(segments.update(renamed(global.id), ada), Code.PERMISSION_DENIED);
  await assertFault(segments.delete(global.id, ada), Code.PERMISSION_DENIED);
  assert.deepEqual(codesOf(await segments.batchDelete([global.id, secret.id], ada)), [
    Code.PERMISSION_DENIED,
    Code.NOT_FOUND,
  ]);
  assert.equal((await segments.list(asked, callOf(BOB, OWN))).totalSize, 2);
  assert.equal((await segments.list(asked, callOf(ADA, ["create"]))).totalSize, 0);
});

test("without the right to publish a new row is not published, and an edit leaves that as it is", async () => {
  const author = callOf(ADA, ["viewown", "editown", "create"]);
  const { id, isPublished } = await addSegment(author, { isPublished: true });
  assert.equal(isPublished, false);
  const published = change(
    id,
    create(SegmentSchema, { isPublished: true, name: "Up" }),
    "is_published",
    "name",
  );
  const { item: patched } = await segments.update(published, author);
  assert.deepEqual([patched.isPublished, patched.name], [false, "Up"]);

  await segments.update(published, everybody());
  const body = create(SegmentSchema, { name: "Replaced" });
  const { item: replaced } = await segments.update(change(id, body, "*"), author);
  assert.deepEqual([replaced.isPublished, replaced.name], [true, "Replaced"]);

  const made = await segments.update({ ...change(2_000_000_000, body, "*"), allowMissing: true }, author);
  assert.deepEqual([made.created, made.item.isPublished], [true, false]);
  const { items } = await segments.batchCreate(
    [create(SegmentSchema, { name: "Many", isPublished: true })],
    author,
  );
  assert.equal(items[0]?.isPublished, false);
});

test("the right to publish one's own rows does not reach those of others", async () => {
  const ada = callOf(ADA, ["viewother", "editother", "create", "publishown"]);
  assert.equal((await addSegment(ada)).isPublished, true);
  const { id } = await addSegment(callOf(BOB, OWN));
  const hidden = change(id, create(SegmentSchema, { isPublished: false }), "is_published");
  assert.equal((await segments.update(hidden, ada)).item.isPublished, true);
  assert.equal((await segments.update(hidden, callOf(BOB, OWN))).item.isPublished, false);
});

test("where permissions have no publish actions, who may write a row publishes it", async () => {
  const free = segmentsWith({ freelyPublished: true });
  const author = callOf(ADA, ["viewown", "editown", "create"]);
  const { item } = await free.create(create(SegmentSchema, { name: "Free" }), author);
  assert.equal(item.isPublished, true);
  const hidden = change(item.id, create(SegmentSchema, { isPublished: false }), "is_published");
  assert.equal((await free.update(hidden, author)).item.isPublished, false);
});

test("a search command of a resource is asked first, and leaves the rest to the standard one", async () => {
  const carl = callOf(13, EVERYTHING);
  const [long, short] = [await addNote(13, "A long one"), await addNote(13, "Short")];
  const mine = await notes.create(create(NoteSchema, { ...short, id: 0, text: "Mine" }), carl);
  const ids = `ids:${[long.id, short.id, mine.item.id].join(",")}`;
  const found = async (search: string) =>
    (await notes.list(query({ search: `${ids} ${search}` }), carl)).items.map(({ text }) => text);
  assert.deepEqual(await found("is:short"), ["Mine", "Short"]);
  assert.deepEqual(await found("is:mine"), ["Mine"]);
});
