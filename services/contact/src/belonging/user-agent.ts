import { create } from "@bufbuild/protobuf";
import { joined, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import type { Call } from "@tidings/rpc/call";
import { LRUCache } from "lru-cache";
import UAParser from "ua-parser-js";
import type { ContactContext } from "../contact/save.ts";
import { deviceRepository } from "./device.ts";

/** Kinds of device as the API names them, by the names of the parser; an unknown device is a desktop. */
const KINDS = new Map([
  ["mobile", "smartphone"],
  ["tablet", "tablet"],
  ["smarttv", "tv"],
  ["console", "console"],
  ["wearable", "wearable"],
]);

const OS_SHORT_NAMES = new Map([
  ["Windows", "WIN"],
  ["Mac OS", "MAC"],
  ["iOS", "IOS"],
  ["Android", "AND"],
  ["Linux", "LIN"],
  ["Ubuntu", "UBT"],
  ["Debian", "DEB"],
  ["Fedora", "FED"],
  ["Chromium OS", "COS"],
]);

/** `offset 0`: the devices of each contact are looked up, and not all of them joined. */
const knownStatement = prepared(
  "devices_of_agents",
  `select x.position from json_to_recordset($1::json) as x (position integer, contact_id integer, device text, device_brand text,
     device_model text, device_os_name text, device_os_version text)
   where exists (select from devices d where d.contact_id = x.contact_id and d.device = x.device
     and d.device_brand is not distinct from x.device_brand and d.device_model is not distinct from x.device_model
     and d.device_os_name is not distinct from x.device_os_name
     and d.device_os_version is not distinct from x.device_os_version offset 0)`,
);

/** A contact, and the User-Agent of the browser that it was seen with. */
export interface SeenWith {
  contactId: number;
  userAgent: string;
}

/** Notes the devices that contacts were seen with, unless they are known, as a part of the transaction. */
export async function noteDevices(
  context: ContactContext,
  transaction: Transaction,
  seen: SeenWith[],
  call: Call,
): Promise<void> {
  const distinct = new Map(
    seen.flatMap(({ contactId, userAgent }) => {
      const device = deviceOf(userAgent);
      return device ? [[`${contactId} ${JSON.stringify(device)}`, { contactId, device }] as const] : [];
    }),
  );
  if (distinct.size === 0) return;
  const sent = [...distinct.values()];
  const rows = await transaction.query(knownStatement, [JSON.stringify(sent.map(rowOf))]);
  const known = new Set(rows.map(({ position }) => Number(position)));
  const unknown = sent.filter((_seen, index) => !known.has(index));
  if (unknown.length === 0) return;
  const devices = deviceRepository({ ...context, database: joined(context.database, transaction) });
  await devices.batchCreate(
    unknown.map(({ contactId, device }) => create(DeviceSchema, { ...device, contact: { id: contactId } })),
    call,
  );
}

function rowOf({ contactId, device: seen }: { contactId: number; device: SeenDevice }, position: number) {
  const { device, deviceBrand, deviceModel, deviceOsName, deviceOsVersion } = seen;
  return {
    position,
    contact_id: contactId,
    device,
    device_brand: deviceBrand,
    device_model: deviceModel,
    device_os_name: deviceOsName,
    device_os_version: deviceOsVersion,
  };
}

const AGENT_LENGTH_MAX = 1_000;
const KNOWN_MAX = 1_000;
/** Most visitors have one of few browsers, and reading a name tries hundreds of expressions. */
const known = new LRUCache<string, { device: SeenDevice | undefined }>({
  max: KNOWN_MAX,
  memoMethod: (agent) => ({ device: readAgent(agent) }),
});

type SeenDevice = NonNullable<ReturnType<typeof readAgent>>;

/** The kind, make and system of the device that sent this User-Agent; undefined where it names no system. */
export function deviceOf(userAgent: string): SeenDevice | undefined {
  return known.memo(userAgent.slice(0, AGENT_LENGTH_MAX)).device;
}

function readAgent(agent: string) {
  const { device, os, cpu } = UAParser(agent);
  if (!os.name) return undefined;
  const shortName = OS_SHORT_NAMES.get(os.name);
  return {
    device: KINDS.get(device.type ?? "") ?? "desktop",
    deviceOsName: os.name,
    ...(device.vendor && { deviceBrand: device.vendor }),
    ...(device.model && { deviceModel: device.model }),
    ...(shortName && { deviceOsShortName: shortName }),
    ...(os.version && { deviceOsVersion: os.version }),
    ...(cpu.architecture && { deviceOsPlatform: cpu.architecture }),
  };
}
