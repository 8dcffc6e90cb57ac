import type { Claimed } from "@tidings/jobs/queue";
import { refusesCategory } from "./category-choices.ts";
import { IS_CLOSED_EMAIL } from "./is-closed.ts";
import { refusesEmails } from "./refusals.ts";
import { refusesAddress } from "./refused-addresses.ts";
import { EVERY_GROUP, laneOf, REACHED_AT, type SendLane } from "./run-sends.ts";
import { Lane } from "./send-tables.ts";
import { STORED_COLUMNS, type StoredSend, storedSend } from "./stored-send.ts";

/** A claimed send. Its group is the family of its email. */
export interface Send extends Claimed, StoredSend {
  /** The address that was chosen; the contact's present one when undefined. */
  address: string | undefined;
  /** Assets in place of those of the email. */
  attachments: number[] | undefined;
}

/** SQL: is a broadcast of the family of a group paused? */
const IS_PAUSED =
  "exists (select from broadcasts b where b.is_paused and b.finished_at is null and b.family_id = waiting_group.id)";
/** SQL: was the broadcast of a send paused or cancelled, or is its email published no more? */
const IS_STOPPED = `exists (select from broadcasts b
  where (b.is_paused or b.state = 'cancelling' or ${IS_CLOSED_EMAIL}) and b.finished_at is null and b.id = sends.broadcast_id)`;

function sendLane(name: string, lane: number): SendLane<Send> {
  // A direct send is never paused: somebody waits for it.
  const isRefused = lane === Lane.BULK ? refusesCategory("sends.contact_id", "sends.email_id") : "false";
  const [isPaused, isStopped] = lane === Lane.BULK ? [IS_PAUSED, IS_STOPPED] : ["false", "false"];
  return laneOf<Send>({
    name,
    table: "sends",
    where: `lane = ${lane}`,
    group: "family_id",
    columns: `${STORED_COLUMNS}, address, attachments`,
    groups: `${EVERY_GROUP} and not ${isPaused}`,
    jobOf: (claimed, row) => ({
      ...claimed,
      ...storedSend(row),
      address: row.address ?? undefined,
      attachments: row.attachments ? idsIn(row.attachments) : undefined,
    }),
    // A no that was said here, a pause, a cancel and the end of a publication hold at once.
    mayStart: `not ${refusesEmails("sends.contact_id")} and not ${refusesAddress("sends.address", "'email'")} and not ${isRefused} and not ${isStopped}`,
    limited: { by: ["contact_id"], tookEffectAt: REACHED_AT },
  });
}

export const directLane = sendLane("send_direct", Lane.DIRECT);
export const bulkLane = sendLane("send_bulk", Lane.BULK);

/** `{1,2}`, as Postgres writes an array. */
function idsIn(array: string): number[] {
  return array.slice(1, -1).split(",").filter(Boolean).map(Number);
}
