import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Database, openDatabase } from "@tidings/database/database";
import type { FactSource } from "@tidings/messaging/facts";
import { createOutbox } from "@tidings/messaging/outbox";
import {
  AssetDownloadsSchema,
  DynamicContentsShownSchema,
  FocusStatsSchema,
  VideoHitsSchema,
} from "@tidings/proto/tidings/content/v1/events";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { DOWNLOADS } from "../asset/record-downloads.ts";
import { FOCUS_FACTS } from "../focus/focus-fact.ts";
import { shownRecorder } from "../slot/record-shown.ts";
import { SHOWN_CONTENTS } from "../slot/shown-fact.ts";
import { videoRecorder } from "../video/record-video.ts";
import { VIDEO_HITS } from "../video/video-hit.ts";
import { listedFacts } from "./fact-kind.ts";
import { newFactId } from "./hit.ts";
import { factRecorder } from "./record-facts.ts";
import type { PageFact } from "./visit-row.ts";

/** A service that begins late lists the facts of visits, and learns what the events said. */

let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("content"), log: createLog("test", "silent") });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const deadline = () => Date.now() + 20_000;
const outbox = createOutbox();
let lastId = 1_000;
const visits = () => ({
  database,
  outbox,
  ids: { take: async (count: number) => Array.from({ length: count }, () => ++lastId) },
});

const visit = (deviceId: string): PageFact => ({
  ...newFactId(Date.now()),
  ...{ device: { id: deviceId, isNew: false }, verdict: "human", reason: "" },
  ...{
    ip: "192.0.2.1",
    userAgent: "Mozilla/5.0",
    referer: "https://shop.example/",
    remoteHost: "",
    code: 200,
  },
  ...{
    url: "https://shop.example/a",
    query: { a: 'ü"' },
    browserLanguages: ["de-AT", "en"],
    pageLanguage: "de",
  },
  ...{ source: "email", sourceId: 7, emailId: 7, timeZone: "", locale: "" },
});

async function published<S extends DescMessage>(subject: string, schema: S): Promise<MessageShape<S>[]> {
  const text = "select encode(payload, 'base64') as payload from outbox where subject like $1 order by id";
  const rows = await database.query({ text }, [`${subject}%`], deadline());
  return rows.map(({ payload }) => fromBinary(schema, Uint8Array.from(Buffer.from(payload ?? "", "base64"))));
}

/** All facts of a source, by small pages. */
async function listed<S extends DescMessage>(source: FactSource, schema: S): Promise<MessageShape<S>[]> {
  const messages: MessageShape<S>[] = [];
  for (
    let next: Awaited<ReturnType<FactSource["list"]>>["next"], isFirst = true;
    isFirst || next;
    isFirst = false
  ) {
    const page = await source.list({ after: next, pageSize: 2 }, deadline());
    messages.push(...page.events.map((bytes) => fromBinary(schema, bytes)));
    next = page.next;
  }
  return messages;
}

/** Each fact in its highest version, by id. */
function latest<F extends { id: string; version?: number }>(facts: F[]): F[] {
  const byId = new Map<string, F>();
  for (const fact of facts)
    if ((byId.get(fact.id)?.version ?? 0) <= (fact.version ?? 0)) byId.set(fact.id, fact);
  return [...byId.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

const DEVICES = ["listedbrowser0000000001", "listedbrowser0000000002", "listedbrowser0000000003"];

test("downloads are listed as their events said them", async () => {
  const record = factRecorder(visits(), DOWNLOADS);
  for (const device of DEVICES) await record({ ...visit(device), assetId: 3, code: 200 });
  const facts = latest(
    (await published("tidings.content.asset.downloaded", AssetDownloadsSchema)).flatMap(
      (event) => event.downloads,
    ),
  );
  assert.equal(facts.length, DEVICES.length);
  const all = await listed(listedFacts(database, DOWNLOADS), AssetDownloadsSchema);
  assert.deepEqual(latest(all.flatMap((event) => event.downloads)), facts);
});

test("views and clicks of focus items are listed as their events said them", async () => {
  const record = factRecorder(visits(), FOCUS_FACTS);
  for (const device of DEVICES)
    for (const type of ["view", "click"] as const) await record({ ...visit(device), focusId: 3, type });
  const facts = latest(
    (await published("tidings.content.focus.", FocusStatsSchema)).flatMap((event) => event.stats),
  );
  assert.equal(facts.length, 2 * DEVICES.length);
  const all = await listed(listedFacts(database, FOCUS_FACTS), FocusStatsSchema);
  assert.deepEqual(latest(all.flatMap((event) => event.stats)), facts);
});

test("videos are listed in their latest version", async () => {
  const record = videoRecorder(visits());
  for (const timeWatched of [1, 20, undefined])
    for (const device of DEVICES) await record({ ...visit(device), guid: "one", timeWatched, duration: 60 });
  const facts = latest(
    (await published("tidings.content.video.hit", VideoHitsSchema)).flatMap((event) => event.hits),
  );
  assert.deepEqual(
    facts.map(({ version, timeWatched }) => [version, timeWatched]),
    DEVICES.map(() => [3, 20]),
  );
  const all = await listed(listedFacts(database, VIDEO_HITS), VideoHitsSchema);
  assert.deepEqual(latest(all.flatMap((event) => event.hits)), facts);
});

test("contents that were shown are listed with the number of times, and none of an erased contact is kept", async () => {
  await database.query(
    { text: "insert into contact_fates (contact_id, merged_into_id) values (51, null), (52, 50)" },
    [],
    deadline(),
  );
  const record = shownRecorder(visits());
  const shown = (contactId: number) =>
    record({ contactId, dynamicContentId: 3, slot: "top", at: Date.now() });
  await Promise.all([50, 51, 52, 50, 53].map(shown));
  await shown(50);
  const facts = latest(
    (await published("tidings.content.dynamic_content.shown", DynamicContentsShownSchema)).flatMap(
      (event) => event.shown,
    ),
  );
  assert.deepEqual(
    facts.map(({ contactId, sentCount, version }) => [contactId, sentCount, version]).toSorted(),
    [
      [50, 4, 4],
      [53, 1, 1],
    ],
  );
  const all = await listed(listedFacts(database, SHOWN_CONTENTS), DynamicContentsShownSchema);
  assert.deepEqual(latest(all.flatMap((event) => event.shown)), facts);
});
