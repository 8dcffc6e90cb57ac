import type { IncomingMessage } from "node:http";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { visitOf } from "./visit.ts";
import type { VisitSettings } from "./visit-settings.ts";
import { HAS_PROOF } from "./withheld-proofs.ts";

const provenStatement = prepared(
  "visitor_devices_proven",
  `select d.contact_id from visitor_devices d where d.id = $1 and ${HAS_PROOF}`,
);

/** The contact that a visitor has proven to be, by the cookie of an earlier visit. */
export async function provenContact(
  database: Database,
  request: IncomingMessage,
  settings: VisitSettings,
): Promise<number | undefined> {
  const { device } = visitOf(request, new Map(), settings);
  return device && !device.isNew ? provenContactOf(database, device.id) : undefined;
}

/** The contact that the visitor of a device has proven to be. */
export async function provenContactOf(database: Database, deviceId: string): Promise<number | undefined> {
  const [row] = await database.query(provenStatement, [deviceId], backgroundDeadline());
  return row ? Number(row.contact_id) : undefined;
}
