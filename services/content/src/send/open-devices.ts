import type { IncomingMessage } from "node:http";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { Outbox } from "@tidings/messaging/outbox";
import { contactsByFate } from "@tidings/projection/contact-fates";
import { type EmailOpenDeviceSchema, EmailOpenDevicesSchema } from "@tidings/proto/tidings/content/v1/events";
import { v7 } from "uuid";
import { type FactKind, type FactRow, factReader } from "../visit/fact-kind.ts";
import { factTable } from "../visit/fact-table.ts";
import { readParameters } from "../visit/parameters.ts";
import { visitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";

/** The address that an open came from, as it is kept, and its browser or program. */
export interface OpenedFrom {
  ip: string;
  agent: string;
}

/** A browser by which a mail was opened, and its address as it is kept. */
export interface OpenDevice {
  id: string;
  ip: string;
}

const COLUMNS = {
  id: "uuid",
  send_hash: "uuid",
  /** The contact of the device, with whom the row goes. */
  contact_id: "integer",
  device_id: "text",
  ip: "text",
  date_opened: "timestamptz",
} as const;

/** SQL of a migration: known devices by which mails were opened (`email_stats_devices` of engines.md 6.5). */
export const OPEN_DEVICE_TABLES = [
  ...factTable("email_send_devices", COLUMNS, "date_opened"),
  "create index email_send_devices_of_send on email_send_devices (send_hash)",
  // Clicks that wait for their verdict may turn out to be opens.
  "alter table mail_clicks add column device jsonb",
];

/** The opens of mails by known devices, as events carry them. */
export const OPEN_DEVICES: FactKind<typeof EmailOpenDevicesSchema> = {
  schema: EmailOpenDevicesSchema,
  table: "email_send_devices",
  columns: COLUMNS,
  messageOf: (rows) => ({ devices: rows.map(eventOf) }),
};

function eventOf(row: FactRow): MessageInitShape<typeof EmailOpenDeviceSchema> {
  const { text, number, time } = factReader(row);
  const dateOpened = time("date_opened");
  return {
    ...{ id: text("id"), sendId: text("send_hash"), contactId: number("contact_id") },
    ...{ deviceId: text("device_id"), ip: text("ip") },
    ...(dateOpened && { dateOpened }),
  };
}

/** Reads where a request comes from: its address and program, and the device, unless that is new, is a machine's, or may not be known. */
export async function sourceOfOpen(
  request: IncomingMessage,
  settings: VisitSettings,
): Promise<{ device: OpenDevice | undefined; from: OpenedFrom }> {
  const { device, ip, userAgent: agent } = visitOf(request, await readParameters(request), settings);
  return { device: device && !device.isNew ? { id: device.id, ip } : undefined, from: { ip, agent } };
}

/** Devices that belong to no contact, for they were made up or their contact was erased, leave no row. */
const insertStatement = prepared(
  "email_send_devices_insert",
  `insert into email_send_devices (${Object.keys(COLUMNS).join(", ")})
   select s.id, s.send_hash, ${contactsByFate.contactId}, s.device_id, s.ip, now() from (
     select x.id, x.send_hash, d.contact_id, x.device_id, nullif(x.ip, '') as ip
     from json_to_recordset($1::json) as x (id uuid, send_hash uuid, device_id text, ip text)
     join sends on sends.hash = x.send_hash join visitor_devices d on d.id = x.device_id) s ${contactsByFate.join}
   returning ${Object.keys(COLUMNS).join(", ")}`,
);

/** Keeps by which devices mails were opened, with the opens themselves. */
export async function recordOpenDevices(
  transaction: Transaction,
  outbox: Outbox,
  opens: { hash: string; device: OpenDevice }[],
): Promise<void> {
  if (opens.length === 0) return;
  contactsByFate.hold(transaction, []);
  const sent = opens.map(({ hash, device }) => ({
    ...{ id: v7(), send_hash: hash, device_id: device.id, ip: device.ip },
  }));
  const rows = await transaction.query(insertStatement, [JSON.stringify(sent)]);
  const { schema, messageOf } = OPEN_DEVICES;
  outbox.append(transaction, factEvents("tidings.content.email_device.opened", schema, rows, messageOf));
}
