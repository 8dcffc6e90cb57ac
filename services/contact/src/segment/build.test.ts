import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { type BuildServices, buildOptions } from "./build.ts";
import { definitionReader } from "./definitions.ts";
import { listCall, segmentFixture } from "./fixture.ts";

let fixture: Awaited<ReturnType<typeof segmentFixture>>;
before(async () => {
  fixture = await segmentFixture();
});
after(() => fixture.close());

const buildStep = async (services: BuildServices, size?: number) =>
  (await stepJobs(buildOptions(services, size === undefined ? undefined : () => size))) !== undefined;

const CONTACTS = 40;
const isFrom = (city: string) => ({ field: "city", object: "lead", operator: "=", filter: city });
let cities = 0;

/** Contacts of a city of their own, and a segment of them that is not built yet. */
async function unbuilt(others: Record<string, unknown> = {}) {
  cities += 1;
  const city = `City ${cities}`;
  const ids: number[] = [];
  for (let count = 0; count < CONTACTS; count += 1) ids.push(await fixture.addContact({ city, ...others }));
  const { id } = await fixture.addSegment([isFrom(city)]);
  return { city, ids, id };
}

async function stateOf(id: number) {
  const request = { $typeName: "tidings.contact.v1.GetSegmentBuildRequest" as const, id };
  return fixture.segments.getSegmentBuild(request, listCall());
}

test("a build goes on where another replica left it, and tells how far it is", async () => {
  const { id, ids } = await unbuilt();
  const other = { ...fixture.services, readDefinitions: definitionReader() };
  assert.equal(await buildStep(fixture.services, 25), true);
  const { state, progress = 0 } = await stateOf(id);
  assert.equal(state, "running");
  assert.ok(progress > 0 && progress < 1, String(progress));
  while (await buildStep(other, 25));
  assert.equal((await stateOf(id)).state, "done");
  assert.deepEqual(await fixture.members(id), ids);
});

test("several replicas build at once and disturb neither each other nor themselves", async () => {
  const segments = [await unbuilt(), await unbuilt(), await unbuilt()];
  const replicas = Array.from({ length: 4 }, () => ({
    ...fixture.services,
    readDefinitions: definitionReader(),
  }));
  const isIdle = async () =>
    (await fixture.query("select from segment_builds where requested_at is not null")).length === 0;
  while (!(await isIdle())) await Promise.all(replicas.map((replica) => buildStep(replica, 15)));
  for (const { id, ids } of segments) {
    assert.deepEqual(await fixture.members(id), ids);
    assert.equal((await stateOf(id)).added, CONTACTS);
  }
});

test("filters that change while they are built are built from the beginning", async () => {
  const { id, ids, city } = await unbuilt();
  await buildStep(fixture.services, ids[CONTACTS / 2] ?? 0);
  await fixture.editSegment(id, { filters: [isFrom("Nowhere")] });
  assert.equal((await stateOf(id)).state, "waiting");
  await fixture.build();
  assert.deepEqual(await fixture.members(id), []);
  await fixture.editSegment(id, { filters: [isFrom(city)] });
  await fixture.build();
  assert.deepEqual(await fixture.members(id), ids);
});

test("contacts that change, come and go while a segment is built end where they belong", async () => {
  const { id, ids, city } = await unbuilt();
  await buildStep(fixture.services, ids[10] ?? 0);
  const [first = 0, second = 0] = ids;
  const last = ids.at(-1) ?? 0;
  await fixture.editContact(first, { city: "Elsewhere" });
  await fixture.editContact(last, { city: "Elsewhere" });
  await fixture.query("delete from contacts where id = $1", [second]);
  const late = await fixture.addContact({ city });
  await fixture.build();
  await fixture.follow();
  const expected = [...ids.filter((contactId) => ![first, second, last].includes(contactId)), late];
  assert.deepEqual(await fixture.members(id), expected);
});

test("a segment that reads the date is built once a day, others are not", async () => {
  const { id } = await fixture.addSegment([
    { field: "date_added", object: "lead", operator: "=", filter: "today" },
  ]);
  const still = await fixture.addSegment([isFrom("Nowhere")]);
  await fixture.build();
  const before = await fixture.members(id);
  assert.ok(before.length > 0);
  await fixture.query("update segment_builds set built_at = built_at - interval '1 day'");
  await fixture.query("update jobs set due_at = due_at - interval '1 day' where kind = 'segment_day'");
  await fixture.query("update contacts set date_added = date_added - interval '1 day'");
  await fixture.build();
  assert.deepEqual(await fixture.members(id), []);
  const [row] = await fixture.query(
    "select built_at < date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' as is_old from segment_builds where segment_id = $1",
    [still.id],
  );
  assert.equal(row?.is_old, "t");
});

test("a segment that is deleted while it is built is gone with its members", async () => {
  const { id, ids } = await unbuilt();
  await buildStep(fixture.services, ids[10] ?? 0);
  await Promise.all([
    buildStep(fixture.services, 10),
    fixture.segments.deleteSegment({ $typeName: "tidings.contact.v1.DeleteSegmentRequest", id }, listCall()),
    buildStep(fixture.services, 10),
  ]);
  await fixture.build();
  assert.deepEqual(await fixture.members(id), []);
});

test("a build that cannot be done says so and holds up no other", async () => {
  await fixture.addField("size", "number", {});
  const [field] = await fixture.query("select id from fields where alias = 'size'");
  const filter = { field: "size", object: "lead", operator: "gt", filter: 3 };
  const broken = await fixture.addSegment([filter]);
  const sound = await unbuilt();
  // Nothing the API lets in.
  const values = JSON.stringify({ [Number(field?.id)]: "no number" });
  await fixture.query("update contacts set custom = $1 where id = $2", [values, sound.ids[0]]);
  await fixture.build();
  assert.deepEqual((await stateOf(broken.id)).state, "failed");
  assert.deepEqual(await fixture.members(sound.id), sound.ids);
  await fixture.query("update contacts set custom = '{}' where id = $1", [sound.ids[0]]);
});
