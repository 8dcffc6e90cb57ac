import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { type Database, openDatabase } from "@tidings/database/database";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { factEvents } from "@tidings/messaging/fact-events";
import { ContactDeletedSchema, ContactMergedSchema } from "@tidings/proto/tidings/contact/v1/events";
import {
  AssetDownloadsSchema,
  type PageHitSchema,
  PageHitsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { contactFateJobs, contactFates } from "./contact-fate-jobs.ts";
import { CONTACT_FATES, contactsByFate } from "./contact-fates.ts";
import { facts } from "./facts.ts";
import { project } from "./projecting.ts";
import { replica } from "./testing/hits.ts";

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
     create table test_downloads (id uuid primary key, contact_id integer not null, asset_id integer);
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

test("a replica is built from the partitions of its owner while facts arrive, by processes that are killed meanwhile", async () => {
  await query(
    owner,
    `insert into test_hits select gen_random_uuid(), 1, 1 + n % 7, timestamptz '2025-12-20' + n * interval '3 hours', n::text
     from generate_series(1, 1000) n`,
  );
  await query(reader, "delete from test_hits");
  await query(reader, "delete from projection_builds where name = 'test_hits'");
  for (const pages of [3, 10]) {
    const builder = startBuilder();
    await eventually(async () => assert.ok((await pagesRead()) >= pages));
    builder.kill("SIGKILL");
    await once(builder, "exit");
    assert.ok((await pagesRead()) < 50, "the build was over before the kill");
  }
  const [row] = await query(
    owner,
    "update test_hits set version = 2, url = 'changed' where id = (select min(id::text)::uuid from test_hits) returning *",
  );
  await keep(
    published({ id: row?.id ?? "", version: 2, contactId: Number(row?.contact_id), url: "changed" }),
  );
  startBuilder();
  await eventually(isBuilt, { timeoutMs: 20_000 });
  assert.deepEqual(await query(reader, ALL), await query(owner, ALL));
});

test("a replica that is built anew beside the live one has what its owner has, whatever the versions of its rows", async () => {
  await query(
    reader,
    "update test_hits set url = 'wrong', contact_id = 5 where id = (select max(id::text)::uuid from test_hits)",
  );
  await query(
    reader,
    "update test_hits set version = 9, url = null where id = (select min(id::text)::uuid from test_hits)",
  );
  await query(reader, "insert into test_hits values (gen_random_uuid(), 1, 3, now(), 'never there')");
  await query(reader, "select begin_projection_beside('test_hits')");
  const builder = startBuilder();
  await eventually(async () => assert.ok((await pagesRead()) >= 3));
  builder.kill("SIGKILL");
  await keep(merged(2, 3));
  startBuilder();
  await eventually(isBuilt, { timeoutMs: 20_000 });
  await doJobs();
  await query(owner, "update test_hits set contact_id = 3 where contact_id = 2");
  assert.deepEqual(await query(reader, ALL), await query(owner, ALL));
});

test("facts without a version are replaced, too, where the owner has other values", async () => {
  const downloads = facts(AssetDownloadsSchema, contactsByFate, {
    subjects: [],
    table: "test_downloads",
    columns: { id: "uuid", asset_id: "integer" },
    rows: (event) =>
      event.downloads.map(({ id, contactId, assetId }) => ({ id, contact_id: contactId, asset_id: assetId })),
    isListed: true,
  });
  const id = randomUUID();
  await query(reader, "insert into test_downloads (id, contact_id) values ($1, 1)", [id]);
  await query(reader, "insert into projection_builds (name) values ('test_downloads')");
  await query(reader, "select begin_projection_beside('test_downloads')");
  const message = create(AssetDownloadsSchema, { downloads: [{ id, contactId: 1, assetId: 7 }] });
  await reader.transaction(deadline(), async (transaction) => {
    downloads.beside?.keep(transaction, [
      eventOf("content.asset.downloaded", toBinary(AssetDownloadsSchema, message)),
    ]);
    await downloads.beside?.replace(transaction);
  });
  assert.deepEqual(await query(reader, "select * from test_downloads"), [
    { id, contact_id: "1", asset_id: "7" },
  ]);
});

const ALL = "select id, version, contact_id, url from test_hits order by id";

/** A process that builds; it is killed at the end. */
function startBuilder() {
  const script = fileURLToPath(new URL("./testing/build-hits.ts", import.meta.url));
  const env = {
    ...process.env,
    OWNER_URL: testDatabase.url("content"),
    READER_URL: testDatabase.url("campaign"),
  };
  const builder = spawn(process.execPath, [script], { env, stdio: "ignore" });
  after(() => builder.kill("SIGKILL"));
  return builder;
}

async function pagesRead(): Promise<number> {
  const [build] = await query(reader, "select rows_read from projection_builds where name = 'test_hits'");
  return Number(build?.rows_read);
}

async function isBuilt(): Promise<void> {
  const [build] = await query(reader, "select done_at from projection_builds where name = 'test_hits'");
  assert.ok(build?.done_at);
}
