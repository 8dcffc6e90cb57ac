import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { stepJobs } from "@tidings/jobs/run-jobs";
import { listCall, segmentScene } from "../../testing/segment-scene.ts";
import { definitionReader } from "../definition/definitions.ts";
import { type BuildServices, buildOptions } from "./build.ts";

let scene: Awaited<ReturnType<typeof segmentScene>>;
before(async () => {
  scene = await segmentScene();
});
after(() => scene.close());

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
  for (let count = 0; count < CONTACTS; count += 1) ids.push(await scene.addContact({ city, ...others }));
  const { id } = await scene.addSegment([isFrom(city)]);
  return { city, ids, id };
}

async function stateOf(id: number) {
  const request = { $typeName: "tidings.contact.v1.GetSegmentBuildRequest" as const, id };
  return scene.segments.getSegmentBuild(request, listCall());
}

test("a build goes on where another replica left it, and shows its progress", async () => {
  const { id, ids } = await unbuilt();
  const other = { ...scene.services, readDefinitions: definitionReader() };
  assert.equal(await buildStep(scene.services, 25), true);
  const { state, progress = 0 } = await stateOf(id);
  assert.equal(state, "running");
  assert.ok(progress > 0 && progress < 1, String(progress));
  while (await buildStep(other, 25));
  assert.equal((await stateOf(id)).state, "done");
  assert.deepEqual(await scene.members(id), ids);
});

test("several replicas build at once and disturb neither each other nor themselves", async () => {
  const segments = [await unbuilt(), await unbuilt(), await unbuilt()];
  const replicas = Array.from({ length: 4 }, () => ({
    ...scene.services,
    readDefinitions: definitionReader(),
  }));
  const isIdle = async () =>
    (await scene.query("select from segment_builds where requested_at is not null")).length === 0;
  while (!(await isIdle())) await Promise.all(replicas.map((replica) => buildStep(replica, 15)));
  for (const { id, ids } of segments) {
    assert.deepEqual(await scene.members(id), ids);
    assert.equal((await stateOf(id)).added, CONTACTS);
  }
});

test("filters that change while they are built are built from the beginning", async () => {
  const { id, ids, city } = await unbuilt();
  await buildStep(scene.services, ids[CONTACTS / 2] ?? 0);
  await scene.editSegment(id, { filters: [isFrom("Nowhere")] });
  assert.equal((await stateOf(id)).state, "waiting");
  await scene.build();
  assert.deepEqual(await scene.members(id), []);
  await scene.editSegment(id, { filters: [isFrom(city)] });
  await scene.build();
  assert.deepEqual(await scene.members(id), ids);
});

test("contacts that change, come and go while a segment is built end where they belong", async () => {
  const { id, ids, city } = await unbuilt();
  await buildStep(scene.services, ids[10] ?? 0);
  const [first = 0, second = 0] = ids;
  const last = ids.at(-1) ?? 0;
  await scene.editContact(first, { city: "Elsewhere" });
  await scene.editContact(last, { city: "Elsewhere" });
  await scene.query("delete from contacts where id = $1", [second]);
  const late = await scene.addContact({ city });
  await scene.build();
  await scene.follow();
  const expected = [...ids.filter((contactId) => ![first, second, last].includes(contactId)), late];
  assert.deepEqual(await scene.members(id), expected);
});

test("a segment that reads the date is built once a day, others are not", async () => {
  const { id } = await scene.addSegment([
    { field: "date_added", object: "lead", operator: "=", filter: "today" },
  ]);
  const still = await scene.addSegment([isFrom("Nowhere")]);
  await scene.build();
  const before = await scene.members(id);
  assert.ok(before.length > 0);
  await scene.query("update segment_builds set built_at = built_at - interval '1 day'");
  await scene.query("update jobs set due_at = due_at - interval '1 day' where kind = 'segment_day'");
  await scene.query("update contacts set date_added = date_added - interval '1 day'");
  await scene.build();
  assert.deepEqual(await scene.members(id), []);
  const [row] = await scene.query(
    "select built_at < date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' as is_old from segment_builds where segment_id = $1",
    [still.id],
  );
  assert.equal(row?.is_old, "t");
});

test("a segment that is deleted while it is built is gone with its members", async () => {
  const { id, ids } = await unbuilt();
  await buildStep(scene.services, ids[10] ?? 0);
  await Promise.all([
    buildStep(scene.services, 10),
    scene.segments.deleteSegment({ $typeName: "tidings.contact.v1.DeleteSegmentRequest", id }, listCall()),
    buildStep(scene.services, 10),
  ]);
  await scene.build();
  assert.deepEqual(await scene.members(id), []);
});

test("a build that cannot be done says so and holds up no other", async () => {
  await scene.addField("size", "number", {});
  const [field] = await scene.query("select id from fields where alias = 'size'");
  const filter = { field: "size", object: "lead", operator: "gt", filter: 3 };
  const broken = await scene.addSegment([filter]);
  const sound = await unbuilt();
  // Nothing the API lets in.
  const values = JSON.stringify({ [Number(field?.id)]: "no number" });
  await scene.query("update contacts set custom = $1 where id = $2", [values, sound.ids[0]]);
  await scene.build();
  assert.deepEqual((await stateOf(broken.id)).state, "failed");
  assert.deepEqual(await scene.members(sound.id), sound.ids);
  await scene.query("update contacts set custom = '{}' where id = $1", [sound.ids[0]]);
});

test("a segment that is deleted while it is built ends its build, and the builds of others go on", async () => {
  const remove = (id: number) =>
    scene.segments.deleteSegment({ $typeName: "tidings.contact.v1.DeleteSegmentRequest", id }, listCall());
  for (let round = 0; round < 4; round += 1) {
    const doomed = [await unbuilt(), await unbuilt()];
    const living = [];
    for (const { city } of doomed) living.push((await scene.addSegment([isFrom(city)])).id);
    const replicas = [0, 1].map(() => ({ ...scene.services, readDefinitions: definitionReader() }));
    const states: (string | undefined)[] = [];
    const building = replicas.map(async (replica) => {
      for (let step = 0; step < 40; step += 1)
        states.push((await stepJobs(buildOptions(replica, () => 7)))?.state);
    });
    for (const { id } of doomed) await remove(id);
    await Promise.all(building);
    await scene.build();
    assert.ok(!states.includes("failed"));
    for (const id of living) assert.equal((await stateOf(id)).state, "done");
  }
});
