import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { type Database, openDatabase } from "@tidings/database/database";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { factEvents } from "@tidings/messaging/fact-events";
import { factSource } from "@tidings/messaging/facts";
import { ContactDeletedSchema, ContactMergedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { type PageHitSchema, PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { contactFateJobs, contactFates } from "./contact-fate-jobs.ts";
import { CONTACT_FATES, contactsByFate } from "./contact-fates.ts";
import { facts } from "./facts.ts";
import { project } from "./projecting.ts";
import { type ListFacts, startRebuilding } from "./rebuild.ts";

/** The content service owns hits, by month, and the campaign service replicates them. */

const log = createLog("test", "silent");
let testDatabase: TestDatabase;
let owner: Database;
let reader: Database;

const MONTHS = ["2026_01", "2026_02", "2026_03"];
const HITS = `(id uuid not null, version integer not null, contact_id integer not null, date_hit timestamptz not null, url text)`;

before(async () => {
  testDatabase = await createTestDatabase();
  await queryAsSuperuser(
    testDatabase,
    `set search_path to content;
     create table test_hits ${HITS} partition by range (date_hit);
     create table test_hits_rest partition of test_hits default;
     ${MONTHS.map((month) => {
       const first = `${month.replace("_", "-")}-01`;
       return `create table test_hits_${month} partition of test_hits
         for values from ('${first}') to (date '${first}' + interval '1 month');
         create unique index on test_hits_${month} (id);`;
     }).join("\n")}
     grant all on all tables in schema content to tidings_template_content;
     set search_path to campaign;
     create table test_hits ${HITS}; alter table test_hits add primary key (id); create index on test_hits (contact_id);
     ${CONTACT_FATES.join(";")};
     grant all on all tables in schema campaign to tidings_template_campaign`,
  );
  owner = openDatabase({ url: testDatabase.url("content"), log });
  reader = openDatabase({ url: testDatabase.url("campaign"), log });
});
after(async () => {
  await Promise.all([owner.close(), reader.close()]);
  await testDatabase.drop();
});

const deadline = () => Date.now() + 20_000;
const query = (database: Database, text: string, values: unknown[] = []) =>
  database.query({ text }, values, deadline());

const replica = facts(PageHitsSchema, contactsByFate, {
  subjects: ["tidings.content.page.hit"],
  table: "test_hits",
  columns: { id: "uuid", version: "integer", date_hit: "timestamptz", url: "text" },
  rows: ({ hits }) =>
    hits.map((hit) => ({
      id: hit.id,
      version: hit.version,
      contact_id: hit.contactId,
      date_hit: "2026-01-01T00:00:00Z",
      url: hit.url,
    })),
  isListed: true,
});
const projections = [replica, contactFates];
const keep = (events: Event[], consumer: string | undefined = "test") =>
  project({ database: reader, projections }, consumer, events);

type Hit = MessageInitShape<typeof PageHitSchema>;

function eventOf(subject: string, payload: Uint8Array, aggregateId = 0): Event {
  const time = "2026-01-01T00:00:00Z";
  const known = { aggregateVersion: 1, time, traceparent: undefined, actor: undefined };
  return { ...known, id: randomUUID(), subject: `tidings.${subject}`, aggregateId, payload };
}
const eventsOf = (all: Hit[]) =>
  factEvents("tidings.content.page.hit", PageHitsSchema, all, (hits) => ({ hits }));
const published = (...all: Hit[]) => eventsOf(all).map(({ payload }) => eventOf("content.page.hit", payload));
const merged = (id: number, mergedIntoId: number) => [
  eventOf(
    "contact.contact.merged",
    toBinary(ContactMergedSchema, create(ContactMergedSchema, { mergedIntoId })),
    id,
  ),
  erased(id),
];
const erased = (id: number, mergedIntoId?: number) =>
  eventOf(
    "contact.contact.deleted",
    toBinary(ContactDeletedSchema, create(ContactDeletedSchema, mergedIntoId ? { mergedIntoId } : {})),
    id,
  );

const jobs = () => contactFateJobs(reader, log, ["test_hits"]);
async function doJobs(): Promise<void> {
  while (await stepJobs(jobs()));
}
async function hitsOf(contactId: number): Promise<number> {
  const [row] = await query(reader, "select count(*) from test_hits where contact_id = $1", [contactId]);
  return Number(row?.count);
}

test("an event carries up to 500 facts of a kind", () => {
  const all = Array.from({ length: 1_201 }, (_, index) => ({ id: randomUUID(), contactId: index + 1 }));
  const sizes = published(...all).map(({ payload }) => fromBinary(PageHitsSchema, payload).hits.length);
  assert.deepEqual(sizes, [500, 500, 201]);
});

test("facts are kept once and in their highest version, in whatever order and however often they arrive", async () => {
  const ids = Array.from({ length: 700 }, () => randomUUID());
  const version = (number: number) =>
    published(...ids.map((id) => ({ id, version: number, contactId: 1, url: `v${number}` })));
  await keep([...version(2), ...version(1)]);
  await Promise.all([keep(version(3)), keep(version(2)), keep(version(3))]);
  const rows = await query(
    reader,
    "select count(*), min(version), max(url) as url from test_hits where contact_id = 1",
  );
  assert.deepEqual(rows, [{ count: "700", min: "3", url: "v3" }]);
  assert.deepEqual(await query(reader, "select event_id from inbox where consumer = 'test'"), []);
});

test("facts follow a merged contact to the survivor, through chains, before and after the merge", async () => {
  const hit = (contactId: number) => published({ id: randomUUID(), contactId });
  await keep([...hit(11), ...hit(12), ...hit(13)]);
  await keep([...merged(11, 12), ...merged(12, 13)]);
  await keep([...hit(11), ...hit(12)]);
  await doJobs();
  assert.deepEqual(await Promise.all([11, 12, 13].map(hitsOf)), [0, 0, 5]);
});

test("facts of a merged contact move, also when its deletion arrives alone and before the merge", async () => {
  await keep(published({ id: randomUUID(), contactId: 16 }));
  await keep([erased(16, 17)]);
  await doJobs();
  assert.deepEqual(await Promise.all([16, 17].map(hitsOf)), [0, 1]);
  await keep(merged(16, 17));
  await doJobs();
  assert.deepEqual(await Promise.all([16, 17].map(hitsOf)), [0, 1]);
});

test("facts of an erased contact are deleted in slices, and later ones are not kept", async () => {
  const all = Array.from({ length: 2_500 }, () => ({ id: randomUUID(), contactId: 21 }));
  await keep(published(...all));
  await keep([...merged(22, 21), erased(21)]);
  await keep(published({ id: randomUUID(), contactId: 21 }, { id: randomUUID(), contactId: 22 }));
  assert.deepEqual((await stepJobs(jobs()))?.state, "again");
  await doJobs();
  assert.deepEqual(await Promise.all([21, 22].map(hitsOf)), [0, 0]);
});

test("no fact is left behind when it is written while its contact is merged", async () => {
  for (let round = 0; round < 20; round += 1) {
    const [gone, survivor] = [100 + 2 * round, 101 + 2 * round];
    await Promise.all([
      keep(published({ id: randomUUID(), contactId: gone })),
      keep(merged(gone, survivor)),
      keep(published({ id: randomUUID(), contactId: gone })),
    ]);
    await doJobs();
    assert.deepEqual(await Promise.all([hitsOf(gone), hitsOf(survivor)]), [0, 2], `round ${round}`);
  }
});

test("a replica is built from the partitions of its owner while facts arrive, and goes on after a kill", async () => {
  await query(
    owner,
    `insert into test_hits select gen_random_uuid(), 1, 1 + n % 7, timestamptz '2025-12-20' + n * interval '3 hours', n::text
     from generate_series(1, 1000) n`,
  );
  await query(reader, "delete from test_hits");
  await query(reader, "delete from projection_builds where name = 'test_hits'");
  const source = factSource(owner, {
    type: PageHitsSchema.typeName,
    table: "test_hits",
    key: "id",
    columns: ["version", "contact_id", "url"],
    eventsOf: (rows) =>
      eventsOf(
        rows.map(({ id, version, contact_id, url }) => ({
          id: id ?? "",
          version: Number(version),
          contactId: Number(contact_id),
          url: url ?? "",
        })),
      ).map(({ payload }) => payload),
  });
  let pages = 0;
  const listFacts: ListFacts = async (_owner, { type, after }) => {
    assert.equal(type, source.type);
    pages += 1;
    return source.list({ after, pageSize: 90 }, deadline());
  };
  const start = () => {
    const rebuilding = startRebuilding(
      { database: reader, log, projections: [replica], listSnapshots: async () => [], listFacts },
      (events) => keep(events, undefined),
    );
    after(() => rebuilding.stop());
    return rebuilding;
  };
  const first = start();
  await eventually(() => assert.ok(pages >= 2));
  await first.stop();
  const [row] = await query(
    owner,
    "update test_hits set version = 2, url = 'changed' where id = (select min(id::text)::uuid from test_hits) returning *",
  );
  await keep(
    published({ id: row?.id ?? "", version: 2, contactId: Number(row?.contact_id), url: "changed" }),
  );
  const second = start();
  await eventually(async () => {
    const [build] = await query(reader, "select done_at from projection_builds where name = 'test_hits'");
    assert.ok(build?.done_at);
  });
  await second.stop();
  const all = "select id, version, contact_id, url from test_hits order by id";
  assert.deepEqual(await query(reader, all), await query(owner, all));

  // Built anew beside the live rows, of which one is wrong and one was never there; contact 2 is merged meanwhile.
  await query(
    reader,
    "update test_hits set version = 7, url = 'wrong' where id = (select max(id::text)::uuid from test_hits)",
  );
  await query(reader, "insert into test_hits values (gen_random_uuid(), 1, 3, now(), 'never there')");
  await query(reader, "select begin_projection_beside('test_hits')");
  const third = start();
  await keep(merged(2, 3));
  await eventually(async () => {
    const [build] = await query(
      reader,
      "select done_at, is_beside from projection_builds where name = 'test_hits'",
    );
    assert.ok(build?.done_at);
  });
  await third.stop();
  await doJobs();
  await query(owner, "update test_hits set contact_id = 3 where contact_id = 2");
  assert.deepEqual(await query(reader, all), await query(owner, all));
});
