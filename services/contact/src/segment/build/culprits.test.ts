import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { listCall, segmentScene } from "../../testing/segment-scene.ts";

let scene: Awaited<ReturnType<typeof segmentScene>>;
before(async () => {
  scene = await segmentScene();
  await scene.addField("shoe_size", "number");
});
after(() => scene.close());

/** A contact whose stored value no statement about shoe sizes gets past. */
async function addPoison(): Promise<number> {
  const id = await scene.addContact({ firstname: "Poison", shoe_size: 40 });
  await scene.query(
    `update contacts set custom = (select jsonb_object_agg(key, 'large') from jsonb_each(custom)) where id = $1`,
    [id],
  );
  return id;
}

const bySize = { field: "shoe_size", object: "lead", operator: "gt", filter: 30 };
const byName = (firstname: string) => ({
  field: "firstname",
  object: "lead",
  operator: "=",
  filter: firstname,
});

async function buildOf(id: number) {
  const request = { $typeName: "tidings.contact.v1.GetSegmentBuildRequest" as const, id };
  return scene.segments.getSegmentBuild(request, listCall());
}

test("a segment that cannot be evaluated is set aside, the others follow, and a change brings it back", async () => {
  const bad = await scene.addSegment([bySize]);
  const good = await scene.addSegment([byName("Followed")]);
  await scene.build();
  const followed = await scene.addContact({ firstname: "Followed" });
  await addPoison();
  await scene.follow();
  assert.deepEqual(await scene.members(good.id), [followed]);
  const { state, problem } = await buildOf(bad.id);
  assert.deepEqual([state, problem], ["failed", "The filters could not be evaluated."]);

  await scene.editSegment(bad.id, { filters: [byName("Followed")] });
  await scene.build();
  assert.deepEqual(await scene.members(bad.id), [followed]);
  const another = await scene.addContact({ firstname: "Followed" });
  await scene.follow();
  assert.deepEqual(await scene.members(bad.id), [followed, another]);
});

test("a build that cannot be done keeps no other waiting", async () => {
  await addPoison();
  const bad = await scene.addSegment([bySize]);
  const good = await scene.addSegment([byName("Built")]);
  const contactId = await scene.addContact({ firstname: "Built" });
  await scene.build();
  assert.deepEqual(await scene.members(good.id), [contactId]);
  assert.equal((await buildOf(bad.id)).state, "failed");
});

test("more parameters than the wire counts are asked for in several statements", async () => {
  const filters = Array.from({ length: 100 }, (_, index) => ({
    ...byName(`Nobody ${index}`),
    glue: "or",
    operator: "like",
  }));
  const made: Segment[] = [];
  for (let count = 0; count < 8; count += 1)
    made.push(await scene.addSegment([...filters.slice(1), { ...byName("Many"), glue: "or" }]));
  const ids = made.map(({ id }) => id);
  const nested = Array.from({ length: 90 }, () =>
    scene.addSegment([{ field: "leadlist", object: "lead", operator: "in", filter: ids.slice(0, 4) }]),
  );
  for (const segment of nested) await segment;
  await scene.build();
  const contactId = await scene.addContact({ firstname: "Many" });
  await scene.follow();
  for (const segment of nested) assert.deepEqual(await scene.members((await segment).id), [contactId]);
});

const own: Actor = {
  kind: "user",
  id: 77,
  name: "Own",
  admin: false,
  permissions: { "lead:lists": ["viewown", "editown", "create"], "lead:leads": ["viewother"] },
};
const refused = (error: unknown) => error instanceof Fault && error.code === Code.INVALID_ARGUMENT;
const inSegment = (id: number) => ({ field: "leadlist", object: "lead", operator: "in", filter: [id] });

test("a private segment cannot be named by who does not see it, and is not held by who does not either", async () => {
  const hidden = await scene.addSegment([], { isGlobal: false });
  const shared = await scene.addSegment([]);
  await assert.rejects(scene.addSegment([inSegment(hidden.id)], {}, own), refused);
  const filters = Buffer.from(JSON.stringify([inSegment(hidden.id)]));
  const preview = { $typeName: "tidings.contact.v1.PreviewSegmentRequest" as const, filters };
  await assert.rejects(async () => scene.segments.previewSegment(preview, listCall(own)), refused);
  await scene.addSegment([inSegment(shared.id)], {}, own);

  const mine = await scene.addSegment([], { isGlobal: false }, own);
  await scene.addSegment([inSegment(mine.id)], { isGlobal: false });
  const unpublish = {
    $typeName: "tidings.contact.v1.UpdateSegmentRequest" as const,
    id: mine.id,
    segment: create(SegmentSchema, { isPublished: false }),
    updateMask: { $typeName: "google.protobuf.FieldMask" as const, paths: ["is_published"] },
    allowMissing: false,
  };
  const { segment } = await scene.segments.updateSegment(unpublish, listCall(own));
  assert.equal(segment?.isPublished, false);
});

test("everybody but a segment are also those of whom it knows nothing", async () => {
  const romans = await scene.addSegment([{ field: "city", object: "lead", operator: "=", filter: "Rome" }]);
  const others = await scene.addSegment([
    { ...inSegment(romans.id), operator: "!in" },
    { ...byName("Nulls"), glue: "and" },
  ]);
  const blank = await scene.addContact({ firstname: "Nulls" });
  await scene.addContact({ firstname: "Nulls", city: "Rome" });
  const oslo = await scene.addContact({ firstname: "Nulls", city: "Oslo" });
  await scene.build();
  assert.deepEqual(await scene.members(others.id), [blank, oslo]);
});
