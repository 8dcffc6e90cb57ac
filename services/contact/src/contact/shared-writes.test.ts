import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import type { Contact } from "@tidings/proto/tidings/contact/v1/contact";
import {
  CreateContactRequestSchema,
  UpdateContactRequestSchema,
} from "@tidings/proto/tidings/contact/v1/contact_service";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import type { Actor } from "@tidings/rpc/actor";
import { actingAs } from "@tidings/rpc/current-actor";
import { Code, toFault } from "@tidings/rpc/fault";
import { ADMINISTRATOR, callAs, contactBody, contactScene, parse } from "../testing/contact-scene.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
before(async () => {
  scene = await contactScene();
});
after(() => scene.close());

const add = async (contact: Contact) =>
  actingAs(ADMINISTRATOR, () =>
    scene.handlers.createContact(create(CreateContactRequestSchema, { contact }), callAs()),
  );
const edit = async (id: number, contact: Contact, paths: string[], actor: Actor = ADMINISTRATOR) =>
  actingAs(actor, () =>
    scene.handlers.updateContact(
      create(UpdateContactRequestSchema, { id, contact, updateMask: { paths } }),
      callAs(actor),
    ),
  );
const addSome = async (count: number, label: string) => {
  const made = Array.from({ length: count }, (_, index) =>
    add(contactBody({ firstname: `${label} ${index}` })),
  );
  return (await Promise.all(made)).map(({ contact }) => contact?.id ?? 0);
};
const query = (text: string) => scene.context.database.query({ text }, [], Date.now() + 5_000);

test("many writes at the same time are each answered with their own contact, and each has one event", async () => {
  const ids = await addSome(100, "Many");
  const answers = await Promise.all(
    ids.map((id, index) => edit(id, contactBody({}, { points: index + 1 }), ["points"])),
  );
  assert.deepEqual(
    answers.map(({ contact }) => [
      contact?.id,
      contact?.points,
      parse(contact?.fields as FormedJson).all.firstname,
    ]),
    ids.map((id, index) => [id, index + 1, `Many ${index}`]),
  );
  const told = await query(`select aggregate_id, count(*) as count from outbox
    where aggregate_id = any ('{${ids}}') group by 1`);
  assert.deepEqual(new Set(told.map(({ count }) => count)), new Set(["2"]));
  assert.equal(told.length, 100);
});

test("writes of one contact at the same time are one after the other, each with an event of its own", async () => {
  const [id = 0] = await addSome(1, "One");
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => edit(id, contactBody({}, { points: index + 1 }), ["points"])),
  );
  assert.deepEqual(
    answers.map(({ contact }) => contact?.points),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
  const versions = await query(`select aggregate_version from outbox where aggregate_id = ${id} order by id`);
  assert.deepEqual(
    versions.map(({ aggregate_version }) => Number(aggregate_version)),
    Array.from({ length: 41 }, (_, index) => index + 1),
  );
});

test("the first of concurrent creations of one address makes the contact, and the others edit it", async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      add(contactBody({ email: "same@example.com", city: `City ${index}` })),
    ),
  );
  assert.equal(new Set(answers.map(({ contact }) => contact?.id)).size, 1);
  assert.equal(answers.filter(({ created }) => created).length, 1);
  const told = await query(`select aggregate_version from outbox
    where aggregate_id = ${answers[0]?.contact?.id}`);
  assert.equal(told.length, 20);
});

test("an item that is refused or fails among concurrent writes does so alone", async () => {
  const [first = 0, second = 0] = await addSome(2, "Among");
  const results = await Promise.allSettled([
    edit(first, contactBody({ city: "Rome" }), ["values"]),
    edit(2_000_000_000, contactBody({ city: "Rome" }), ["values"]),
    // No event can carry it: this fails in the middle of the transaction.
    edit(second, contactBody({}, { points: 2_147_483_647 + 1 }), ["points"]),
    add(contactBody({ email: "not an address" })),
    add(contactBody({ email: "fine@example.com" })),
  ]);
  assert.deepEqual(
    results.map((result) => (result.status === "fulfilled" ? "done" : Code[toFault(result.reason).code])),
    ["done", "NOT_FOUND", "INTERNAL", "INVALID_ARGUMENT", "done"],
  );
});

test("a write that waits for a locked contact delays no other write", async () => {
  const ids = await addSome(30, "Held");
  const [held = 0] = ids;
  let release = () => {};
  const isHeld = Promise.withResolvers<void>();
  const holding = scene.context.database.transaction(Date.now() + 20_000, async (transaction) => {
    await transaction.query({ text: `select from contacts where id = ${held} for update` });
    isHeld.resolve();
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  await isHeld.promise;
  const order: string[] = [];
  const [waiting, ...others] = ids.map((id) =>
    edit(id, contactBody({ city: "Oslo" }), ["values"]).then(() =>
      order.push(id === held ? "held" : "other"),
    ),
  );
  await Promise.all(others);
  order.push("released");
  release();
  await Promise.all([holding, waiting]);
  assert.deepEqual(order.slice(-2), ["released", "held"]);
});

test("callers share nothing: each event names who did it", async () => {
  const ids = await addSome(40, "Two");
  const other: Actor = { ...ADMINISTRATOR, id: 2, name: "Other User" };
  await Promise.all(
    ids.map((id, index) =>
      edit(id, contactBody({}, { points: 5 }), ["points"], index % 2 === 0 ? ADMINISTRATOR : other),
    ),
  );
  const rows =
    await query(`select o.aggregate_id as id, o.actor ->> 'name' as told, c.modified_by_user as shown
    from outbox o join contacts c on c.id = o.aggregate_id
    where o.aggregate_id = any ('{${ids}}') and o.aggregate_version = 2`);
  const names = new Map(rows.map(({ id, told, shown }) => [Number(id), [told, shown]]));
  assert.deepEqual(
    ids.map((id) => names.get(id)),
    ids.map((_, index) => (index % 2 === 0 ? ["Admin User", "Admin User"] : ["Other User", "Other User"])),
  );
});
