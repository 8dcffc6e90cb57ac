import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ChangeContactPointsRequestSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { CreateContactRequestSchema } from "@tidings/proto/tidings/contact/v1/contact_service";
import { Code, Fault } from "@tidings/rpc/fault";
import { callAs, contactBody, contactScene } from "../testing/contact-scene.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

async function add(points: number): Promise<number> {
  const request = create(CreateContactRequestSchema, {
    contact: contactBody({ lastname: "Scored" }, { points }),
  });
  const { contact } = await scene.handlers.createContact(request, callAs());
  return contact?.id ?? 0;
}

async function change(id: number, operator: string, delta: number, names = {}) {
  const request = create(ChangeContactPointsRequestSchema, { id, operator, delta, ...names });
  return (await scene.handlers.changeContactPoints(request, callAs())).points;
}

function log(id: number) {
  const text = `select event_name, action_name, type, delta from points_log where contact_id = ${id} order by id`;
  return scene.context.database.query({ text }, [], Date.now() + 5_000);
}

for (const [operator, from, delta, to, logged] of [
  ["plus", 3, 4, 7, "4"],
  ["minus", 3, 4, -1, "-4"],
  ["times", 3, 4, 12, "4"],
  ["divide", 12, 4, 3, "4"],
] as const) {
  test(`${from} ${operator} ${delta} is ${to}, and the log says ${logged}`, async () => {
    const id = await add(from);
    assert.equal(await change(id, operator, delta), to);
    assert.deepEqual(
      (await log(id)).map((entry) => entry.delta),
      [logged],
    );
  });
}

test("500 parallel changes add up", async () => {
  const id = await add(0);
  await Promise.all(Array.from({ length: 500 }, () => change(id, "plus", 1)));
  assert.equal(await change(id, "plus", 0), 500);
  assert.equal((await log(id)).length, 500);
});

test("the log keeps the names that were given", async () => {
  const id = await add(0);
  await change(id, "plus", 1, { eventName: "Visit", actionName: "Website" });
  const [entry] = await log(id);
  assert.deepEqual({ ...entry }, { event_name: "Visit", action_name: "Website", type: "API", delta: "1" });
});

test("points that cannot be computed are refused, and nothing changes", async () => {
  const id = await add(5);
  const refused = (error: unknown) => error instanceof Fault && error.code === Code.INVALID_ARGUMENT;
  await assert.rejects(change(id, "power", 2), refused);
  await assert.rejects(change(id, "times", 2_000_000_000), refused);
  await assert.rejects(change(id, "plus", -1), refused);
  assert.equal(await change(id, "plus", 0), 5);
});

test("points of a missing contact are NOT_FOUND", async () => {
  await assert.rejects(
    change(2_000_000_000, "plus", 1),
    (error: unknown) => error instanceof Fault && error.code === Code.NOT_FOUND,
  );
});
