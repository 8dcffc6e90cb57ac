import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CarryOutCommandsRequestSchema,
  type ContactCommandSchema,
  type IdentifyContactSchema,
} from "@tidings/proto/tidings/contact/v1/command";
import { ListIdentificationsRequestSchema } from "@tidings/proto/tidings/contact/v1/identification";
import type { Actor } from "@tidings/rpc/actor";
import { identificationHandlers } from "../belonging/identification.ts";
import { callAs } from "../testing/contact-scene.ts";
import { segmentScene } from "../testing/segment-scene.ts";
import { commandHandlers } from "./handlers.ts";

/** Identifications of many visitors in one call. */

const ENGINE: Actor = { kind: "service", id: null, name: "Visitors", admin: false, permissions: {} };

let scene: Awaited<ReturnType<typeof segmentScene>>;
let commands: ReturnType<typeof commandHandlers>;
before(async () => {
  scene = await segmentScene();
  commands = commandHandlers(scene.services);
});
after(() => scene.close());

type Sent = MessageInitShape<typeof ContactCommandSchema>;

async function newIds(count: number): Promise<number[]> {
  const { ids = [] } = await commands.reserveContactIds(
    { $typeName: "tidings.contact.v1.ReserveContactIdsRequest", count },
    callAs(ENGINE),
  );
  return ids;
}

async function said(
  contactId: number,
  values: Record<string, string>,
  members: MessageInitShape<typeof IdentifyContactSchema> = {},
): Promise<Sent> {
  const [newContactId = 0] = await newIds(1);
  const value = {
    values: Buffer.from(JSON.stringify(values)),
    proof: "form",
    deviceId: `device-${contactId}`,
    newContactId,
    ...members,
  };
  return { key: `test:${randomUUID()}`, contactId, effect: { case: "identify", value } };
}

async function carryOut(sent: Sent[]) {
  const request = create(CarryOutCommandsRequestSchema, { commands: sent });
  return (await commands.carryOutCommands(request, callAs(ENGINE))).outcomes ?? [];
}

async function valuesOf(id: number) {
  const [row] = await scene.query("select firstname, email from contacts where id = $1", [id]);
  return row;
}

async function identityOf(contactId: number) {
  const request = create(ListIdentificationsRequestSchema, { contactId, pageSize: 100 });
  const { identifications = [] } = await identificationHandlers(scene.services).listIdentifications(
    request,
    callAs(),
  );
  return identifications.map(({ proof, deviceId, mergedFrom }) => [proof, deviceId, mergedFrom]);
}

test("a thousand new visitors in one call are a thousand contacts, each with its values and its proof", async () => {
  const ids = await newIds(1_000);
  const sent = await Promise.all(
    ids.map((id) => said(id, { email: `new${id}@sets.example`, firstname: `N${id}` })),
  );
  const outcomes = await carryOut(sent);
  assert.deepEqual(
    outcomes.map(({ contactId, isFound }) => [contactId, isFound ?? false]),
    ids.map((id) => [id, false]),
  );
  const [last = 0] = ids.slice(-1);
  assert.deepEqual(await valuesOf(last), { firstname: `N${last}`, email: `new${last}@sets.example` });
  assert.deepEqual(await identityOf(last), [["form", `device-${last}`, undefined]]);
  const again = await carryOut(sent);
  assert.deepEqual(
    again.map(({ contactId }) => contactId),
    ids,
    "the same keys take effect once",
  );
});

test("commands about one value or one contact take effect in their order, whatever else is in the call", async () => {
  const [first = 0, second = 0, third = 0, other = 0] = await newIds(4);
  const outcomes = await carryOut([
    await said(first, { email: "same@sets.example", firstname: "One" }),
    await said(other, { firstname: "Other" }),
    await said(second, { email: "same@sets.example", firstname: "Two" }),
    await said(third, { firstname: "Three" }),
    await said(third, { firstname: "Drei" }),
  ]);
  const [one, , two] = outcomes.map(({ contactId }) => contactId ?? 0);
  assert.deepEqual([outcomes[2]?.isFound, outcomes[2]?.isApart], [true, false]);
  assert.equal(one, first);
  // A form makes the known contact a part of the tracked one.
  assert.equal(two, second);
  assert.deepEqual(await valuesOf(second), { firstname: "Two", email: "same@sets.example" });
  assert.equal(await valuesOf(first), undefined);
  assert.equal((await valuesOf(third))?.firstname, "Drei");
  assert.equal((await valuesOf(other))?.firstname, "Other");
});

test("in one call a known contact is found, a contradiction is another contact, and nobody else is held up", async () => {
  const known = await scene.addContact({ email: "known@sets.example" });
  const contradicting = await scene.addContact({ email: "a@sets.example" });
  const [visitor = 0, plain = 0] = await newIds(2);
  const outcomes = await carryOut([
    await said(visitor, { email: "known@sets.example" }, { isPublic: false, isNew: true }),
    await said(contradicting, { email: "b@sets.example" }),
    await said(plain, { firstname: "Plain" }),
  ]);
  const [found, another, alone] = outcomes;
  assert.deepEqual([found?.contactId, found?.isFound, found?.isApart], [known, true, true]);
  assert.ok(another?.contactId && another.contactId !== contradicting);
  assert.equal(alone?.contactId, plain);
  assert.deepEqual(await identityOf(known), [
    ["form", `device-${visitor}`, undefined],
    ["api", undefined, undefined],
  ]);
});

test("a known value stays where the visitor has not proven to be that contact", async () => {
  const [first, second] = [
    await scene.addContact({ firstname: "Ada" }),
    await scene.addContact({ firstname: "Bob" }),
  ];
  await carryOut([
    await said(first, { firstname: "Eve", lastname: "New" }, { keepsKnownValues: true }),
    await said(second, { firstname: "Mallory" }, { keepsKnownValues: true, isProven: true }),
  ]);
  assert.equal((await valuesOf(first))?.firstname, "Ada");
  assert.equal((await valuesOf(second))?.firstname, "Mallory");
});

test("values that are public are those of companies too, and a field is public from the moment on that it was made so", async () => {
  const [closed = 0, open = 0] = await newIds(2);
  const company = {
    companyValues: Buffer.from(JSON.stringify({ companyname: "Sets Inc." })),
    isPublic: true,
  };
  const companyOf = async (id: number) => {
    const [row] = await scene.query("select company from contacts where id = $1", [id]);
    return row?.company;
  };
  await carryOut([await said(closed, {}, company)]);
  assert.equal(await companyOf(closed), null, "the field of the name is not publicly updatable");
  await scene.query("update fields set is_publicly_updatable = true where alias = 'companyname'");
  await scene.query("update field_revision set revision = revision + 1");
  await carryOut([await said(open, {}, company)]);
  assert.equal(await companyOf(open), "Sets Inc.");
});

test("a contact that a device was given, but that is not written yet, becomes a part of the one that it turned out to be", async () => {
  const known = await scene.addContact({ email: "linked@sets.example" });
  const [given = 0] = await newIds(1);
  await carryOut([await said(known, {}, { mergedId: given, proof: "link" })]);
  assert.deepEqual((await identityOf(known))[0], ["link", `device-${known}`, given]);
  const outcomes = await carryOut([await said(given, { firstname: "Later" })]);
  assert.equal(outcomes[0]?.contactId, known);
  assert.equal((await valuesOf(known))?.firstname, "Later");
});

test("a thousand strangers who type one address leave a bounded list of proofs, read in pages", async () => {
  const id = await scene.addContact({ email: "typed@sets.example" });
  await scene.query(
    `insert into contact_identifications (contact_id, date_added, proof, device_id)
     select $1, now() - interval '1 day', 'query', 'stranger-' || n from generate_series(1, 1000) n`,
    [id],
  );
  for (let index = 0; index < 3; index += 1)
    await carryOut([await said(id, { email: "typed@sets.example" }, { deviceId: `latest-${index}` })]);
  const handlers = identificationHandlers(scene.services);
  const page = (skip: number) =>
    handlers.listIdentifications(
      create(ListIdentificationsRequestSchema, { contactId: id, skip, pageSize: 2 }),
      callAs(),
    );
  const [{ totalSize, identifications = [] }, next] = [await page(0), await page(2)];
  assert.equal(totalSize, 1_001, "1,000 proofs, and that it was made by the API");
  const devices = [...identifications, ...(next.identifications ?? [])].map(({ deviceId }) => deviceId);
  assert.equal(new Set(devices).size, 4);
  assert.deepEqual(devices.filter((device = "") => device.startsWith("latest")).length, 3);
  await assert.rejects(
    async () =>
      handlers.listIdentifications(
        create(ListIdentificationsRequestSchema, { contactId: 2_000_000_000, pageSize: 1 }),
        callAs(),
      ),
    { reason: "NOT_FOUND" },
  );
});
