import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { timeOfId } from "./hit.ts";

const deviceStatement = prepared(
  "page_hits_device",
  `select tracking_id from page_hits where id = $1 and date_hit = $2
   union all select device ->> 'id' from mail_clicks where id = $1`,
);

/** The browser of a hit; undefined for one that may not be known. */
export async function deviceOfHit(database: Database, hitId: string): Promise<string | undefined> {
  const values = [hitId, timeOfId(hitId).toISOString()];
  const [row] = await database.query(deviceStatement, values, backgroundDeadline());
  return row?.tracking_id ?? undefined;
}
