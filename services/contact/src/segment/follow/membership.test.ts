import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { SegmentMembershipChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { companyHandlers } from "../../company/company.ts";
import { callAs, listQuery } from "../../testing/contact-scene.ts";
import { listCall, segmentScene } from "../../testing/segment-scene.ts";

let scene: Awaited<ReturnType<typeof segmentScene>>;
before(async () => {
  scene = await segmentScene();
});
after(() => scene.close());

const isFrom = (city: string, glue = "and") => ({
  glue,
  field: "city",
  object: "lead",
  type: "text",
  operator: "=",
  filter: city,
});
const inSegment = (...ids: number[]) => ({ field: "leadlist", object: "lead", operator: "in", filter: ids });
let cities = 0;
const newCity = () => `City ${++cities}`;

const add = (id: number, ...contactIds: number[]) =>
  scene.segments.addSegmentContacts(
    { $typeName: "tidings.contact.v1.AddSegmentContactsRequest", id, contactIds },
    listCall(),
  );
const remove = (id: number, contactId: number) =>
  scene.segments.removeSegmentContact(
    { $typeName: "tidings.contact.v1.RemoveSegmentContactRequest", id, contactId },
    listCall(),
  );

async function rowOf(segmentId: number, contactId: number): Promise<string> {
  const [row] = await scene.query(
    "select manually_added, manually_removed from segment_contacts where segment_id = $1 and contact_id = $2",
    [segmentId, contactId],
  );
  if (!row) return "none";
  if (row.manually_removed === "t") return "removed by hand";
  return row.manually_added === "t" ? "added by hand" : "found";
}

describe("a member is", () => {
  type Step = "add" | "remove" | "leave" | "return" | "build";
  const cases: { steps: Step[]; begins: "inside" | "outside"; ends: string; why: string }[] = [
    { begins: "inside", steps: [], ends: "found", why: "found by the filters" },
    { begins: "outside", steps: ["add"], ends: "added by hand", why: "added by hand" },
    { begins: "inside", steps: ["add"], ends: "found", why: "left alone when added a second time" },
    { begins: "outside", steps: ["add", "add"], ends: "added by hand", why: "left alone when added twice" },
    {
      begins: "inside",
      steps: ["remove"],
      ends: "removed by hand",
      why: "remembered when taken out by hand",
    },
    { begins: "inside", steps: ["remove", "build"], ends: "removed by hand", why: "not found again then" },
    { begins: "inside", steps: ["remove", "remove"], ends: "removed by hand", why: "taken out once" },
    { begins: "inside", steps: ["remove", "add"], ends: "added by hand", why: "added again by hand" },
    { begins: "outside", steps: ["add", "remove"], ends: "none", why: "forgotten when it was added by hand" },
    { begins: "outside", steps: ["remove"], ends: "none", why: "nothing when it never was one" },
    {
      begins: "outside",
      steps: ["add", "build"],
      ends: "added by hand",
      why: "kept although no filter finds it",
    },
    { begins: "inside", steps: ["leave"], ends: "none", why: "dropped when no filter finds it any more" },
    {
      begins: "inside",
      steps: ["remove", "leave", "return"],
      ends: "found",
      why: "found again after it had not matched for a while",
    },
    { begins: "outside", steps: ["return"], ends: "found", why: "found as soon as it changes" },
  ];
  for (const { begins, steps, ends, why } of cases) {
    test(why, async () => {
      const city = newCity();
      const contactId = await scene.addContact({ city: begins === "inside" ? city : "Elsewhere" });
      const { id } = await scene.addSegment([isFrom(city)]);
      await scene.build();
      for (const step of steps) {
        if (step === "add") await add(id, contactId);
        else if (step === "remove") await remove(id, contactId);
        else if (step === "build") {
          await scene.requestBuild(id);
          await scene.build();
        } else {
          await scene.editContact(contactId, { city: step === "return" ? city : "Elsewhere" });
          await scene.follow();
        }
      }
      assert.equal(await rowOf(id, contactId), ends);
    });
  }
});

test("without filters nobody comes or goes by itself", async () => {
  const contactId = await scene.addContact({ city: newCity() });
  const { id } = await scene.addSegment([]);
  await add(id, contactId);
  await scene.query("update segment_contacts set manually_added = false where segment_id = $1", [id]);
  await scene.build();
  await scene.editContact(contactId, { city: newCity() });
  await scene.follow();
  assert.deepEqual(await scene.members(id), [contactId]);
});

test("new filters are applied to all contacts, in slices, and say how far they are", async () => {
  const [old, city] = [newCity(), newCity()];
  const [one, two] = [await scene.addContact({ city: old }), await scene.addContact({ city })];
  const { id } = await scene.addSegment([isFrom(old)]);
  await scene.build();
  assert.deepEqual(await scene.members(id), [one]);
  await scene.editSegment(id, { filters: [isFrom(city)] });
  const request = { $typeName: "tidings.contact.v1.GetSegmentBuildRequest" as const, id };
  assert.equal((await scene.segments.getSegmentBuild(request, listCall())).state, "waiting");
  await scene.build();
  assert.deepEqual(await scene.members(id), [two]);
  const { state, progress, added, removed } = await scene.segments.getSegmentBuild(request, listCall());
  assert.deepEqual({ state, progress, added, removed }, { state: "done", progress: 1, added: 1, removed: 1 });
});

test("an unpublished segment keeps its members, and follows nobody until it is published", async () => {
  const city = newCity();
  const { id } = await scene.addSegment([isFrom(city)], { isPublished: false });
  const contactId = await scene.addContact({ city });
  await scene.follow();
  await scene.build();
  assert.deepEqual(await scene.members(id), []);
  await scene.editSegment(id, { isPublished: true });
  await scene.build();
  assert.deepEqual(await scene.members(id), [contactId]);
});

test("a segment of a segment follows its definition, and what is done to it by hand", async () => {
  const city = newCity();
  const [inCity, elsewhere] = [await scene.addContact({ city }), await scene.addContact({ city: newCity() })];
  const inner = await scene.addSegment([isFrom(city)]);
  const outer = await scene.addSegment([inSegment(inner.id)]);
  await scene.build();
  assert.deepEqual(await scene.members(outer.id), [inCity]);
  await add(inner.id, elsewhere);
  assert.deepEqual(await scene.members(outer.id), [inCity, elsewhere]);
  await remove(inner.id, inCity);
  assert.deepEqual(await scene.members(outer.id), [elsewhere]);
  await scene.editSegment(inner.id, { filters: [isFrom("Nowhere")] });
  await scene.build();
  assert.deepEqual(await scene.members(outer.id), [elsewhere]);
});

test("a contact in no segment is in the segment of those contacts, until another one takes it", async () => {
  const city = newCity();
  const contactId = await scene.addContact({ city, position: city });
  const lonely = await scene.addSegment([
    { field: "position", object: "lead", operator: "=", filter: city },
    { glue: "and", field: "leadlist", object: "lead", operator: "empty", filter: "" },
  ]);
  await scene.build();
  assert.deepEqual(await scene.members(lonely.id), [contactId]);
  const other = await scene.addSegment([]);
  await add(other.id, contactId);
  assert.deepEqual(await scene.members(lonely.id), []);
  await remove(other.id, contactId);
  assert.deepEqual(await scene.members(lonely.id), [contactId]);
});

test("a contact that a build finds leaves the segment of contacts in no segment", async () => {
  const city = newCity();
  const contactId = await scene.addContact({ city, position: city });
  const lonely = await scene.addSegment([
    { field: "position", object: "lead", operator: "=", filter: city },
    { glue: "and", field: "leadlist", object: "lead", operator: "empty", filter: "" },
  ]);
  await scene.build();
  assert.deepEqual(await scene.members(lonely.id), [contactId]);
  const other = await scene.addSegment([isFrom(city)]);
  await scene.build();
  assert.deepEqual([await scene.members(other.id), await scene.members(lonely.id)], [[contactId], []]);
});

test("only segments that read what changed are asked again", async () => {
  const city = newCity();
  const contactId = await scene.addContact({ city });
  const { id } = await scene.addSegment([isFrom(city)]);
  await scene.build();
  await scene.follow();
  await scene.query("delete from segment_contacts where segment_id = $1", [id]);
  await scene.editContact(contactId, { position: "Baker" });
  await scene.follow();
  assert.deepEqual(await scene.members(id), []);
  await scene.editContact(contactId, { city: city.toUpperCase() });
  await scene.follow();
  assert.deepEqual(await scene.members(id), [contactId]);
});

test("each change of members is in one event, many contacts together", async () => {
  const city = newCity();
  for (let count = 0; count < 3; count += 1) await scene.addContact({ city });
  const { id, alias } = await scene.addSegment([isFrom(city)]);
  await scene.newEvents();
  await scene.build();
  const members = await scene.members(id);
  await remove(id, members[0] ?? 0);
  await scene.requestBuild(id);
  await scene.build();
  const told = (await scene.newEvents()).map(({ subject, payload }) => {
    const { action, contactIds, ...event } = fromBinary(SegmentMembershipChangedSchema, payload);
    return { subject, alias: event.alias, action, contactIds };
  });
  const subject = "tidings.contact.segment.membership_changed";
  assert.deepEqual(told, [
    { subject, alias, action: "added", contactIds: members },
    { subject, alias, action: "removed", contactIds: members.slice(0, 1) },
  ]);
});

test("a segment whose filters read a field that is gone keeps its members and says why", async () => {
  const city = newCity();
  const contactId = await scene.addContact({ city });
  const inner = await scene.addSegment([isFrom(city)]);
  const outer = await scene.addSegment([inSegment(inner.id)]);
  await scene.build();
  await scene.segments.deleteSegment(
    { $typeName: "tidings.contact.v1.DeleteSegmentRequest", id: inner.id },
    listCall(),
  );
  await scene.requestBuild(outer.id);
  await scene.build();
  assert.deepEqual(await scene.members(outer.id), [contactId]);
  const request = { $typeName: "tidings.contact.v1.GetSegmentBuildRequest" as const, id: outer.id };
  const { state, problem } = await scene.segments.getSegmentBuild(request, listCall());
  assert.equal(state, "failed");
  assert.match(problem ?? "", /there is no segment/);
});

describe("by hand", () => {
  const nobody: Actor = { kind: "user", id: 7, name: "Own", admin: false, permissions: {} };
  const own: Actor = {
    ...nobody,
    permissions: {
      "lead:lists": ["viewown", "create"],
      "lead:leads": ["viewown", "viewother", "editown", "editother"],
    },
  };

  test("a merged contact is the one it became part of", async () => {
    const [survivor, merged] = [await scene.addContact({}), await scene.addContact({})];
    await scene.handlers.mergeContacts(
      { $typeName: "tidings.contact.v1.MergeContactsRequest", id: survivor, mergedId: merged },
      callAs(),
    );
    const { id } = await scene.addSegment([]);
    const { contactIds } = await add(id, merged);
    assert.deepEqual(contactIds, [merged]);
    assert.deepEqual(await scene.members(id), [survivor]);
  });

  test("adding many contacts answers those that are members then", async () => {
    const contactId = await scene.addContact({});
    const { id } = await scene.addSegment([]);
    const { contactIds } = await add(id, contactId, 2_000_000_000);
    assert.deepEqual(contactIds, [contactId]);
  });

  test("an unknown contact and an unknown segment are not found, a segment of somebody else is forbidden", async () => {
    const contactId = await scene.addContact({});
    const { id } = await scene.addSegment([], { isGlobal: false });
    const codeOf = async (id: number, contact: number, actor?: Actor) => {
      try {
        await scene.segments.addSegmentContacts(request(id, contact), listCall(actor));
        return undefined;
      } catch (error) {
        return error instanceof Fault ? error.code : error;
      }
    };
    const request = (segmentId: number, contact: number) => ({
      $typeName: "tidings.contact.v1.AddSegmentContactsRequest" as const,
      id: segmentId,
      contactIds: [contact],
    });
    const missing = 2_000_000_000;
    assert.equal(await codeOf(id, missing), Code.NOT_FOUND);
    assert.equal(await codeOf(missing, contactId), Code.NOT_FOUND);
    assert.equal(await codeOf(id, contactId, own), Code.PERMISSION_DENIED);
  });
});

test("a contact that is in and out of a segment many times at once ends where it belongs", async () => {
  const city = newCity();
  const ids = await Promise.all(Array.from({ length: 10 }, () => scene.addContact({ city })));
  const { id } = await scene.addSegment([isFrom(city)]);
  await scene.follow();
  const wander = async (contactId: number, turn: number) => {
    await scene.editContact(contactId, { city: turn % 2 === 0 ? "Elsewhere" : city });
    await scene.requestBuild(id);
    await Promise.all([scene.follow(), scene.build(), scene.follow()]);
  };
  for (let turn = 0; turn < 6; turn += 1) await Promise.all(ids.map((contactId) => wander(contactId, turn)));
  await scene.follow();
  assert.deepEqual(
    await scene.members(id),
    [...ids].sort((one, other) => one - other),
  );
});

test("a category is kept by its id, answered as an object, and has to exist", async () => {
  await scene.query(
    "insert into categories (id, version, title, alias, bundle) values (5, 1, 'Letters', 'letters', 'segment')",
  );
  const categoryOf = (segment: { category?: { shown?: Uint8Array } | undefined } | undefined) =>
    segment?.category?.shown ? JSON.parse(Buffer.from(segment.category.shown).toString()) : null;
  const created = await scene.addSegment([], { category: { id: 5 } });
  assert.deepEqual(categoryOf(created), {
    createdByUser: null,
    modifiedByUser: null,
    id: 5,
    title: "Letters",
    alias: "letters",
    description: null,
    color: null,
    bundle: "segment",
  });
  const renamed = await scene.editSegment(created.id, { name: "Renamed" });
  assert.equal(categoryOf(renamed.segment)?.id, 5);
  const again = await scene.editSegment(created.id, { category: { id: 5 } });
  assert.equal(categoryOf(again.segment)?.title, "Letters");
  const cleared = await scene.editSegment(created.id, { category: { id: 0 } });
  assert.equal(categoryOf(cleared.segment), null);
  await scene.query(
    "insert into categories (id, version, title, alias, bundle) values (7, 1, 'Pages', 'pages', 'page')",
  );
  for (const id of [6, 7, -1]) {
    await assert.rejects(
      async () => scene.addSegment([], { category: { id } }),
      (error) => error instanceof Fault && error.violations[0]?.field === "category",
    );
  }
});

describe("a caller who sees only own contacts", () => {
  const own: Actor = {
    kind: "user",
    id: 77,
    name: "Own",
    admin: false,
    permissions: { "lead:lists": ["viewown", "editown", "create"] },
  };
  const list = async (search: string) => {
    const query = listQuery({ search });
    const request = { $typeName: "tidings.contact.v1.ListSegmentsRequest" as const, query };
    const { segments = [], totalSize } = await scene.segments.listSegments(request, listCall(own));
    return { ids: segments.map(({ id }) => id), totalSize };
  };

  test("sees the global ones too, which are not theirs to edit", async () => {
    const shared = await scene.addSegment([]);
    const hidden = await scene.addSegment([], { isGlobal: false });
    const mine = await scene.addSegment([], { isGlobal: false }, own);
    const ids = `ids:${shared.id},${hidden.id},${mine.id}`;
    assert.deepEqual((await list(ids)).ids.toSorted(), [shared.id, mine.id]);
    assert.equal((await list(ids)).totalSize, 2);
    assert.deepEqual(await list(`${ids} is:global`), { ids: [shared.id], totalSize: 1 });
    const codeOf = async (work: () => unknown) => {
      try {
        await work();
        return undefined;
      } catch (error) {
        return error instanceof Fault ? error.code : error;
      }
    };
    const remove = (id: number) => () =>
      scene.segments.deleteSegment(
        { $typeName: "tidings.contact.v1.DeleteSegmentRequest", id },
        listCall(own),
      );
    assert.equal(await codeOf(remove(hidden.id)), Code.NOT_FOUND);
    assert.equal(await codeOf(remove(shared.id)), Code.PERMISSION_DENIED);
  });
});

test("contacts of a company follow its name, and leave with it", async () => {
  const [old, renamed] = [newCity(), newCity()];
  const contactId = await scene.addContact({ company: old });
  const filter = { operator: "=", filter: renamed };
  const byCompany = await scene.addSegment([{ ...filter, field: "companyname", object: "company" }]);
  const byField = await scene.addSegment([{ ...filter, field: "company", object: "lead" }]);
  await scene.build();
  await scene.follow();
  const membersOfBoth = async () => [await scene.members(byCompany.id), await scene.members(byField.id)];
  assert.deepEqual(await membersOfBoth(), [[], []]);
  const [company] = await scene.query("select id from companies where companyname = $1", [old]);
  const id = Number(company?.id);
  const companies = companyHandlers(scene.services);
  await companies.updateCompany(
    {
      $typeName: "tidings.contact.v1.UpdateCompanyRequest",
      id,
      company: create(CompanySchema, { values: Buffer.from(JSON.stringify({ companyname: renamed })) }),
      allowMissing: false,
    },
    callAs(),
  );
  await scene.follow();
  assert.deepEqual(await membersOfBoth(), [[contactId], [contactId]]);
  await companies.deleteCompany({ $typeName: "tidings.contact.v1.DeleteCompanyRequest", id }, callAs());
  await scene.follow();
  await scene.build();
  assert.deepEqual(await membersOfBoth(), [[], []]);
});

test("changes by hand at the same time have one event for each actor", async () => {
  const { id } = await scene.addSegment([]);
  const contacts = [];
  for (let count = 0; count < 12; count += 1) contacts.push(await scene.addContact({ city: newCity() }));
  await scene.newEvents();
  const addAs = (actor: Actor, contactId: number) =>
    scene.segments.addSegmentContacts(
      { $typeName: "tidings.contact.v1.AddSegmentContactsRequest", id, contactIds: [contactId] },
      { ...listCall(), actor },
    );
  const actors = ["Ada", "Grace"].map((name, index): Actor => ({ ...listCall().actor, id: index + 1, name }));
  await Promise.all(contacts.map((contactId, index) => addAs(actors[index % 2] as Actor, contactId)));
  for (const contactId of contacts) assert.equal(await rowOf(id, contactId), "added by hand");
  const told = (await scene.newEvents()).filter(({ subject }) => subject.endsWith("membership_changed"));
  const lists = told.map(({ payload }) => fromBinary(SegmentMembershipChangedSchema, payload).contactIds);
  assert.deepEqual(
    lists.flat().toSorted((a, b) => a - b),
    contacts,
  );
  assert.ok(lists.length >= 2 && lists.length <= 6, `${lists.length} events`);
});
