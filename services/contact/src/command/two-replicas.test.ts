import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { openDatabase } from "@tidings/database/database";
import {
  CarryOutCommandsRequestSchema,
  type ContactCommandSchema,
} from "@tidings/proto/tidings/contact/v1/command";
import type { Actor } from "@tidings/rpc/actor";
import { createLog } from "@tidings/runtime/log";
import { fieldCatalogues } from "../field/catalogue.ts";
import { references } from "../references.ts";
import { callAs } from "../testing/contact-scene.ts";
import { segmentScene } from "../testing/segment-scene.ts";
import { commandHandlers } from "./handlers.ts";

/** Two replicas of the contact service, each with a pool of its own, carry out commands over one database. */

const ENGINE: Actor = { kind: "service", id: null, name: "Forms", admin: false, permissions: {} };
const CONTACTS = 100;
const ROUNDS = 20;

let scene: Awaited<ReturnType<typeof segmentScene>>;
let replicas: ReturnType<typeof commandHandlers>[];
let other: ReturnType<typeof openDatabase>;
let ids: number[];
before(async () => {
  scene = await segmentScene();
  other = openDatabase({ url: scene.testDatabase.url("contact"), log: createLog("test", "silent") });
  const catalogues = fieldCatalogues(other);
  const second = {
    ...scene.services,
    database: other,
    catalogues,
    references: references(other, catalogues),
  };
  replicas = [scene.services, second].map((context) => commandHandlers(context));
  ids = await Promise.all(
    Array.from({ length: CONTACTS }, (_, index) => scene.addContact({ firstname: `N${index}` })),
  );
  await scene.query("insert into point_groups (id, version, name) values (7, 1, 'Interest')");
});
after(async () => {
  await other.close();
  await scene.close();
});

type Sent = MessageInitShape<typeof ContactCommandSchema>;

async function carryOut(replica: ReturnType<typeof commandHandlers> | undefined, commands: Sent[]) {
  const request = create(CarryOutCommandsRequestSchema, { commands });
  const { outcomes = [] } = (await replica?.carryOutCommands(request, callAs(ENGINE))) ?? {};
  return outcomes.map(({ reason, contactId }) => reason || contactId);
}
const points = (key: string, contactId: number, groupId?: number): Sent => ({
  key,
  contactId,
  effect: {
    case: "points",
    value: { operator: "plus", delta: 1, type: "form", eventName: "Race", ...(groupId && { groupId }) },
  },
});
const sums = async () => {
  const [row] = await scene.query(
    `select (select sum(points) from contacts) as points, (select sum(score) from contact_group_scores) as scores,
       (select count(*) from points_log) as logged`,
  );
  return [Number(row?.points), Number(row?.scores), Number(row?.logged)];
};

test("two replicas that change the same 100 contacts in opposite orders at once carry out each command once", async () => {
  const [before = 0, scores = 0, logged = 0] = await sums();
  for (let round = 0; round < ROUNDS; round += 1) {
    const sets = [ids, ids.toReversed()].map((order, replica) =>
      order.flatMap((id) => [
        points(`race:${round}:${replica}:${id}`, id),
        points(`race:${round}:${replica}:${id}:group`, id, 7),
        {
          key: `race:${round}:${replica}:${id}:edit`,
          contactId: id,
          effect: {
            case: "edit" as const,
            value: { body: Buffer.from(JSON.stringify({ lastname: `R${round}-${replica}` })) },
          },
        },
      ]),
    );
    const outcomes = await Promise.all(sets.map((sent, replica) => carryOut(replicas[replica], sent)));
    assert.deepEqual(
      outcomes,
      sets.map((sent) => sent.map(({ contactId }) => contactId)),
    );
  }
  const added = 2 * ROUNDS * CONTACTS;
  assert.deepEqual(await sums(), [before + added, scores + added, logged + 2 * added]);
});

test("two replicas that get the same 100 commands in opposite orders at once carry out each once, and answer alike", async () => {
  const [before = 0, scores = 0] = await sums();
  for (let round = 0; round < ROUNDS; round += 1) {
    const sent = ids.map((id) => points(`same:${round}:${id}`, id));
    const [one, two] = await Promise.all([
      carryOut(replicas[0], sent),
      carryOut(replicas[1], sent.toReversed()),
    ]);
    assert.deepEqual(one, ids);
    assert.deepEqual(two, ids.toReversed());
  }
  assert.deepEqual((await sums()).slice(0, 2), [before + ROUNDS * CONTACTS, scores]);
});
