import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { listCall, segmentFixture } from "./fixture.ts";

let fixture: Awaited<ReturnType<typeof segmentFixture>>;
before(async () => {
  fixture = await segmentFixture();
  await fixture.addField("shoe_size", "number");
});
after(() => fixture.close());

/** A contact whose stored value no statement about shoe sizes gets past. */
async function addPoison(): Promise<number> {
  const id = await fixture.addContact({ firstname: "Poison", shoe_size: 40 });
  await fixture.query(
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
  return fixture.segments.getSegmentBuild(request, listCall());
}

test("a segment that cannot be evaluated is set aside, the others follow, and a change brings it back", async () => {
  const bad = await fixture.addSegment([bySize]);
  const good = await fixture.addSegment([byName("Followed")]);
  await fixture.build();
  const followed = await fixture.addContact({ firstname: "Followed" });
  await addPoison();
  await fixture.follow();
  assert.deepEqual(await fixture.members(good.id), [followed]);
  const { state, problem } = await buildOf(bad.id);
  assert.deepEqual([state, problem], ["failed", "The filters could not be evaluated."]);

  await fixture.editSegment(bad.id, { filters: [byName("Followed")] });
  await fixture.build();
  assert.deepEqual(await fixture.members(bad.id), [followed]);
  const another = await fixture.addContact({ firstname: "Followed" });
  await fixture.follow();
  assert.deepEqual(await fixture.members(bad.id), [followed, another]);
});

test("a build that cannot be done keeps no other waiting", async () => {
  await addPoison();
  const bad = await fixture.addSegment([bySize]);
  const good = await fixture.addSegment([byName("Built")]);
  const contactId = await fixture.addContact({ firstname: "Built" });
  await fixture.build();
  assert.deepEqual(await fixture.members(good.id), [contactId]);
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
    made.push(await fixture.addSegment([...filters.slice(1), { ...byName("Many"), glue: "or" }]));
  const ids = made.map(({ id }) => id);
  const nested = Array.from({ length: 90 }, () =>
    fixture.addSegment([{ field: "leadlist", object: "lead", operator: "in", filter: ids.slice(0, 4) }]),
  );
  for (const segment of nested) await segment;
  await fixture.build();
  const contactId = await fixture.addContact({ firstname: "Many" });
  await fixture.follow();
  for (const segment of nested) assert.deepEqual(await fixture.members((await segment).id), [contactId]);
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
  const hidden = await fixture.addSegment([], { isGlobal: false });
  const shared = await fixture.addSegment([]);
  await assert.rejects(fixture.addSegment([inSegment(hidden.id)], {}, own), refused);
  const filters = Buffer.from(JSON.stringify([inSegment(hidden.id)]));
  const preview = { $typeName: "tidings.contact.v1.PreviewSegmentRequest" as const, filters };
  await assert.rejects(async () => fixture.segments.previewSegment(preview, listCall(own)), refused);
  await fixture.addSegment([inSegment(shared.id)], {}, own);

  const mine = await fixture.addSegment([], { isGlobal: false }, own);
  await fixture.addSegment([inSegment(mine.id)], { isGlobal: false });
  const unpublish = {
    $typeName: "tidings.contact.v1.UpdateSegmentRequest" as const,
    id: mine.id,
    segment: create(SegmentSchema, { isPublished: false }),
    updateMask: { $typeName: "google.protobuf.FieldMask" as const, paths: ["is_published"] },
    allowMissing: false,
  };
  const { segment } = await fixture.segments.updateSegment(unpublish, listCall(own));
  assert.equal(segment?.isPublished, false);
});

test("everybody but a segment are also those of whom it knows nothing", async () => {
  const romans = await fixture.addSegment([{ field: "city", object: "lead", operator: "=", filter: "Rome" }]);
  const others = await fixture.addSegment([
    { ...inSegment(romans.id), operator: "!in" },
    { ...byName("Nulls"), glue: "and" },
  ]);
  const blank = await fixture.addContact({ firstname: "Nulls" });
  await fixture.addContact({ firstname: "Nulls", city: "Rome" });
  const oslo = await fixture.addContact({ firstname: "Nulls", city: "Oslo" });
  await fixture.build();
  assert.deepEqual(await fixture.members(others.id), [blank, oslo]);
});
