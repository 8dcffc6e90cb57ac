import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { addressOf } from "./page-hit.ts";
import type { Parameters } from "./parameters.ts";
import { withoutProofs } from "./proofs.ts";

const lastStatement = prepared(
  "visitor_devices_last_hit",
  "select last_hit_id as id from visitor_devices where id = $1",
);
/** The latest hits of the contact that are looked at: a browser shows no more pages at a time. */
const LOOKED_AT = 100;
const sameAddressStatement = prepared(
  "page_hits_same_address",
  `select h.id from visitor_devices d cross join lateral (
     select id, tracking_id, url, date_left from page_hits
     where contact_id = d.contact_id and date_hit > now() - interval '2 days' order by date_hit desc limit ${LOOKED_AT}) h
   where d.id = $1 and h.tracking_id = d.id and h.url = $2 and h.date_left is null order by h.id desc limit 1`,
);

/** The hit of a browser that its visitor leaves: the latest at the address that the report names, or the latest of all where it names none. */
export async function hitLeft(
  database: Database,
  deviceId: string,
  parameters: Parameters,
  prefix: string,
): Promise<string | undefined> {
  const url = withoutProofs(addressOf(parameters.get("page_url") ?? ""), prefix);
  const [row] = url
    ? await database.query(sameAddressStatement, [deviceId, url], backgroundDeadline())
    : await database.query(lastStatement, [deviceId], backgroundDeadline());
  return row?.id ?? undefined;
}
