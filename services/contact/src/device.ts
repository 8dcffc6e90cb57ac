import {
  type Device,
  DeviceSchema,
  type DeviceService,
  type UpdateDeviceRequest,
} from "@tidings/proto/tidings/contact/v1/device";
import type { Handlers } from "@tidings/rpc/definition";
import type { Violation } from "@tidings/rpc/fault";
import type { BatchResult, Saved, Update } from "@tidings/store/repository";
import { belongings } from "./belonging/belongings.ts";
import { parseJson } from "./record/body.ts";
import type { RecordContext } from "./record/save.ts";

const TEXTS = [
  "device",
  "deviceBrand",
  "deviceModel",
  "deviceOsName",
  "deviceOsShortName",
  "deviceOsVersion",
  "deviceOsPlatform",
] as const;
const TEXT_LENGTH_MAX = 191;
const CLIENT_INFO_LENGTH_MAX = 10_000;

/** Where devices are kept, and what is looked into for a plain term. */
export const DEVICES = {
  table: "devices",
  events: "tidings.contact.device",
  search: ["device", "device_brand", "device_model", "device_os_name"],
  order: [{ column: "date_added", descending: true }],
};

export function deviceHandlers(context: RecordContext): Handlers<typeof DeviceService> {
  const devices = belongings<Device>(context, DeviceSchema, {
    ...DEVICES,
    missing: "contact ID is mandatory",
    prepare: prepareDevice,
  });
  return {
    getDevice: ({ id }, call) => devices.get(id, call),
    listDevices: async ({ query, contactId }, call) => {
      const { items, totalSize, ids } = await devices.list(query, contactId, call);
      return { devices: items, totalSize, ids };
    },
    createDevice: async ({ device }, call) => savedOf(await devices.create(device, call)),
    updateDevice: async (request, call) => savedOf(await devices.update(updateOf(request), call)),
    deleteDevice: ({ id }, call) => devices.delete(id, call),
    batchCreateDevices: async ({ requests }, call) => {
      const wanted = requests.map(({ device }) => device);
      return batchOf(await devices.batchCreate(wanted, call));
    },
    batchUpdateDevices: async ({ requests }, call) =>
      batchOf(await devices.batchUpdate(requests.map(updateOf), call)),
    batchDeleteDevices: async ({ ids }, call) => batchOf(await devices.batchDelete(ids, call)),
  };
}

function prepareDevice(draft: Device, before: Device | undefined): Violation[] {
  // What is told of the change concerns both contacts.
  if (before && before.contactId !== draft.contactId) draft.previousContactId ??= before.contactId;
  const violations: Violation[] = [];
  for (const name of TEXTS) {
    if ((draft[name] ?? "").length > TEXT_LENGTH_MAX)
      violations.push({ field: name, message: `A text may have ${TEXT_LENGTH_MAX} characters.` });
  }
  const problem = draft.clientInfo && clientInfoProblem(draft.clientInfo);
  if (problem) violations.push({ field: "clientInfo", message: problem });
  return violations;
}

function clientInfoProblem(json: Uint8Array): string | undefined {
  if (json.length > CLIENT_INFO_LENGTH_MAX) return `It may have ${CLIENT_INFO_LENGTH_MAX} characters.`;
  return typeof parseJson(json) === "object" ? undefined : "It is a list or an object.";
}

function updateOf({ id, device, updateMask, allowMissing }: UpdateDeviceRequest): Update<Device> {
  return { id, message: device, updateMask, allowMissing };
}

function savedOf({ item, created }: Saved<Device>) {
  return { device: item, created };
}

function batchOf({ items, statuses }: BatchResult<Device>) {
  return { devices: items, statuses };
}
