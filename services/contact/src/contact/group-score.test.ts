import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { CreateContactRequestSchema } from "@tidings/proto/tidings/contact/v1/contact_service";
import { GroupScoreChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import {
  ChangeGroupScoreRequestSchema,
  GetGroupScoreRequestSchema,
  ListGroupScoresRequestSchema,
} from "@tidings/proto/tidings/contact/v1/group_score";
import type { Actor } from "@tidings/rpc/actor";
import { Code } from "@tidings/rpc/fault";
import { queryAsSuperuser } from "@tidings/testkit/postgres";
import { ADMINISTRATOR, callAs, contactBody, contactScene } from "../testing/contact-scene.ts";
import { groupScoreHandlers } from "./group-score.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
let handlers: ReturnType<typeof groupScoreHandlers>;
before(async () => {
  scene = await contactScene();
  handlers = groupScoreHandlers(scene.context);
  await sql(`insert into contact.point_groups (id, version, name)
    select id, 1, 'Group ' || id from generate_series(1, 20) as id`);
});
after(() => scene.close());

const sql = (text: string) => queryAsSuperuser(scene.testDatabase, text);

async function add(): Promise<number> {
  const request = create(CreateContactRequestSchema, { contact: contactBody({ lastname: "Scored" }) });
  return (await scene.handlers.createContact(request, callAs())).contact?.id ?? 0;
}

async function change(contactId: number, groupId: number, operator: string, value: number, names = {}) {
  const request = create(ChangeGroupScoreRequestSchema, { contactId, groupId, operator, value, ...names });
  return (await handlers.changeGroupScore(request, callAs())).score?.score;
}

async function get(contactId: number, groupId: number, actor: Actor = ADMINISTRATOR) {
  const request = create(GetGroupScoreRequestSchema, { contactId, groupId });
  return (await handlers.getGroupScore(request, callAs(actor))).score;
}

async function all(contactId: number) {
  const { scores = [] } = await handlers.listGroupScores(
    create(ListGroupScoresRequestSchema, { contactId }),
    callAs(),
  );
  return scores.map(({ score, group }) => [group?.id, score]);
}

const logOf = (id: number) =>
  sql(`select type, event_name, action_name, delta, group_id from contact.points_log
    where contact_id = ${id} order by id`);

test("each operator has its effect, and the log says which group it was in", async () => {
  const id = await add();
  assert.equal(await get(id, 1), undefined);
  assert.equal(await change(id, 1, "plus", 5), 5);
  assert.equal(await change(id, 1, "times", 4), 20);
  assert.equal(await change(id, 1, "minus", 30, { eventName: "Refund", actionName: "Shop" }), -10);
  assert.equal(await change(id, 1, "divide", 5), -2);
  assert.equal(await change(id, 1, "set", -7), -7);
  assert.equal((await get(id, 1))?.score, -7);
  const log = (await logOf(id)).map((entry) => Object.values(entry));
  assert.deepEqual(log, [
    ["API", "Manual change", "API", 5, 1],
    ["API", "Manual change", "API", 4, 1],
    ["API", "Refund", "Shop", -30, 1],
    ["API", "Manual change", "API", 5, 1],
    ["API", "Manual change", "API", -5, 1],
  ]);
});

test("nothing more or less changes nothing, and a score that is set to 0 is one", async () => {
  const id = await add();
  for (const operator of ["plus", "minus", "times", "divide"])
    assert.equal(await change(id, 2, operator, 0), undefined);
  assert.deepEqual(await logOf(id), []);
  assert.equal(await change(id, 2, "set", 0), 0);
  assert.deepEqual(await all(id), [[2, 0]]);
});

test("scores of groups leave the points of a contact alone, and have one event each", async () => {
  const id = await add();
  await change(id, 3, "plus", 2);
  await change(id, 3, "plus", 2);
  const [contact] = await sql(`select points from contact.contacts where id = ${id}`);
  assert.equal(contact?.points, 0);
  const events = await sql(`select aggregate_version, payload from contact.outbox
    where subject = 'tidings.contact.contact.group_score_changed' and aggregate_id = ${id} order by aggregate_version`);
  assert.deepEqual(
    events.map(({ aggregate_version, payload }) => {
      const { groupId, oldScore, newScore } = fromBinary(GroupScoreChangedSchema, payload as Buffer);
      return [Number(aggregate_version), groupId, oldScore, newScore];
    }),
    [
      [1, 3, 0, 2],
      [2, 3, 2, 4],
    ],
  );
});

test("100 parallel changes add up", async () => {
  const id = await add();
  await Promise.all(Array.from({ length: 100 }, () => change(id, 4, "plus", 1)));
  assert.deepEqual(await all(id), [[4, 100]]);
});

test("a score that does not fit its column is refused and changes nothing", async () => {
  const id = await add();
  await change(id, 5, "set", 2 ** 31 - 1);
  for (const [operator, value] of [
    ["plus", 1],
    ["times", 2 ** 31 - 1],
    ["set", -(2 ** 31 - 1)],
  ] as const)
    await assert.rejects(change(id, 5, operator, value), { code: Code.INVALID_ARGUMENT });
  await assert.rejects(change(id, 5, "constructor", 1), { code: Code.INVALID_ARGUMENT });
  assert.deepEqual(await all(id), [[5, 2 ** 31 - 1]]);
});

test("a merge adds scores up, as far as a column holds them", async () => {
  const [survivor, merged] = [await add(), await add()];
  await change(survivor, 6, "set", 3);
  await change(merged, 6, "set", 4);
  await change(merged, 7, "set", 5);
  await change(survivor, 8, "set", 2 ** 31 - 1);
  await change(merged, 8, "set", 1);
  const request = {
    $typeName: "tidings.contact.v1.MergeContactsRequest" as const,
    id: survivor,
    mergedId: merged,
  };
  await scene.handlers.mergeContacts(request, callAs());
  const expected = [
    [6, 7],
    [7, 5],
    [8, 2 ** 31 - 1],
  ];
  assert.deepEqual(await all(survivor), expected);
  assert.deepEqual(await all(merged), expected, "under its old id too");
});

test("a group that is deleted takes the scores in it along", async () => {
  const id = await add();
  await change(id, 9, "set", 3);
  await change(id, 10, "set", 3);
  await sql("delete from contact.point_groups where id = 9");
  assert.deepEqual(await all(id), [[10, 3]]);
  await assert.rejects(change(id, 9, "plus", 1), { code: Code.NOT_FOUND });
});

test("a group that the caller may not see is not there", async () => {
  const id = await add();
  const actor = { ...ADMINISTRATOR, admin: false, permissions: { "lead:leads": ["full"] } };
  await assert.rejects(get(id, 1, actor), { code: Code.NOT_FOUND });
  const seeing = { ...actor, permissions: { ...actor.permissions, "point:groups": ["view"] } };
  assert.equal(await get(id, 1, seeing), undefined);
});
