import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { MergeContactsRequestSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { DeviceSchema, ListDevicesRequestSchema } from "@tidings/proto/tidings/contact/v1/device";
import {
  BatchDeleteDevicesRequestSchema,
  GetDeviceRequestSchema,
  UpdateDeviceRequestSchema,
} from "@tidings/proto/tidings/contact/v1/device_service";
import type { Actor } from "@tidings/rpc/actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { belongingScene, type DeviceMembers, json, ownerOnly } from "../testing/belonging-scene.ts";
import { callAs, listQuery, parse } from "../testing/contact-scene.ts";

const ADA = 11;
const BOB = 12;
let scene: Awaited<ReturnType<typeof belongingScene>>;
before(async () => {
  scene = await belongingScene();
});
after(() => scene.close());

const getDevice = async (id: number, actor?: Actor) =>
  scene.devices.getDevice(create(GetDeviceRequestSchema, { id }), callAs(actor));

async function moveDevice(id: number, lead: number): Promise<void> {
  const request = create(UpdateDeviceRequestSchema, {
    id,
    device: create(DeviceSchema, { contact: { id: lead } }),
    updateMask: create(FieldMaskSchema, { paths: ["contact"] }),
  });
  await scene.devices.updateDevice(request, callAs());
}

function isFault(code: Code, message?: string) {
  return (error: unknown) =>
    error instanceof Fault && error.code === code && (message === undefined || error.message === message);
}

test("a device shows its contact and what was seen of it", async () => {
  const contactId = await scene.addContact(ADA);
  const clientInfo = { type: "browser", name: "Firefox" };
  const { id } = await scene.addDevice(contactId, { device: "desktop", clientInfo: json(clientInfo) });
  const device = await getDevice(id);
  assert.deepEqual([device.device, device.deviceBrand], ["desktop", undefined]);
  assert.deepEqual(parse(device.clientInfo), clientInfo);
  assert.deepEqual(Object.keys(parse(device.contact?.shown)), ["id", "points", "color", "fields"]);
});

test("a device of no contact, or of one that is not there or not visible, is refused", async () => {
  const refused = isFault(Code.INVALID_ARGUMENT, "contact ID is mandatory");
  for (const lead of [0, 2_000_000_000]) await assert.rejects(scene.addDevice(lead), refused);
  const foreign = await scene.addContact(BOB);
  await assert.rejects(scene.addDevice(foreign, {}, ownerOnly(ADA)), refused);
});

test("a text that is too long and client info that is neither list nor object are named", async () => {
  const contactId = await scene.addContact(ADA);
  const bad: [DeviceMembers, string][] = [
    [{ deviceBrand: "x".repeat(192) }, "deviceBrand"],
    [{ clientInfo: json("Firefox") }, "clientInfo"],
    [{ clientInfo: json(["x".repeat(10_000)]) }, "clientInfo"],
  ];
  for (const [members, field] of bad) {
    await assert.rejects(scene.addDevice(contactId, members), (error) => {
      assert.ok(error instanceof Fault);
      assert.deepEqual(
        error.violations.map((violation) => violation.field),
        [field],
      );
      return true;
    });
  }
});

test("the devices of others' contacts do not exist for who sees only its own", async () => {
  const ada = ownerOnly(ADA);
  const own = await scene.addDevice(await scene.addContact(ADA));
  const other = await scene.addDevice(await scene.addContact(BOB));
  await assert.rejects(getDevice(other.id, ada), isFault(Code.NOT_FOUND));
  const query = listQuery({ search: `ids:${own.id},${other.id}` });
  const listed = await scene.devices.listDevices(create(ListDevicesRequestSchema, { query }), callAs(ada));
  assert.deepEqual([listed.devices?.map(({ id }) => id), listed.totalSize], [[own.id], 1]);
  const ids = [own.id, other.id];
  const removed = await scene.devices.batchDeleteDevices(
    create(BatchDeleteDevicesRequestSchema, { ids }),
    callAs(ada),
  );
  assert.deepEqual(
    removed.statuses?.map(({ error }) => error?.code),
    [undefined, Code.NOT_FOUND],
  );
});

test("the event of a device names its contact, and the one that it was taken from", async () => {
  const [first, second] = [await scene.addContact(ADA), await scene.addContact(ADA)];
  const { id } = await scene.addDevice(first);
  await moveDevice(id, second);
  const rows = await scene.query(
    `select subject, encode(payload, 'base64') as payload from outbox
     where subject like 'tidings.contact.device.%' and aggregate_id = $1 order by id`,
    [id],
  );
  const told = rows.map(({ subject, payload }) => {
    const { contact, previousContactId } = fromBinary(DeviceSchema, Buffer.from(payload ?? "", "base64"));
    return [subject?.split(".").at(-1), contact?.id, previousContactId];
  });
  assert.deepEqual(told, [
    ["created", first, undefined],
    ["updated", second, first],
  ]);
  assert.equal((await getDevice(id)).previousContactId, undefined);
});

test("the devices of a contact are listed by it, follow a merge, and go with their contact", async () => {
  const [survivor, merged] = [await scene.addContact(ADA), await scene.addContact(ADA)];
  const { id } = await scene.addDevice(merged);
  await scene.addDevice(await scene.addContact(ADA));
  const request = create(MergeContactsRequestSchema, { id: survivor, mergedId: merged });
  await scene.handlers.mergeContacts(request, callAs());
  const asked = create(ListDevicesRequestSchema, { query: listQuery(), contactId: survivor });
  const listed = await scene.devices.listDevices(asked, callAs());
  assert.deepEqual([listed.devices?.map((device) => device.id), listed.totalSize], [[id], 1]);
  await scene.deleteContact(survivor);
  await assert.rejects(getDevice(id), isFault(Code.NOT_FOUND));
});
