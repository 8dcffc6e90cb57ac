import { create } from "@bufbuild/protobuf";
import { joined, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { DeviceSchema } from "@tidings/proto/tidings/contact/v1/device";
import type { Call } from "@tidings/rpc/call";
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

const knownStatement = prepared(
  "device_of_agent",
  `select 1 from devices where contact_id = $1 and device = $2 and device_brand is not distinct from $3
     and device_model is not distinct from $4 and device_os_name is not distinct from $5
     and device_os_version is not distinct from $6 limit 1`,
);

/** Notes what a contact was seen with, unless that is known, as a part of the transaction. */
export async function noteDevice(
  context: ContactContext,
  transaction: Transaction,
  { contactId, userAgent }: { contactId: number; userAgent: string },
  call: Call,
): Promise<void> {
  const seen = deviceOf(userAgent);
  if (!seen) return;
  const { device, deviceBrand, deviceModel, deviceOsName, deviceOsVersion } = seen;
  const known = [device, deviceBrand, deviceModel, deviceOsName, deviceOsVersion].map((text) => text ?? null);
  const rows = await transaction.query(knownStatement, [contactId, ...known]);
  if (rows.length > 0) return;
  const devices = deviceRepository({ ...context, database: joined(context.database, transaction) });
  await devices.create(create(DeviceSchema, { ...seen, contact: { id: contactId } }), call);
}

/** The kind, make and system of the device that sent this User-Agent; undefined where it names no system. */
export function deviceOf(userAgent: string) {
  const { device, os, cpu } = UAParser(userAgent);
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
