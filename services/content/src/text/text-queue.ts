import type { Claimed } from "@tidings/jobs/queue";
import { IS_CLOSED_SMS } from "../send/is-closed.ts";
import { refusesChannel } from "../send/refusals.ts";
import { refusesAddress } from "../send/refused-addresses.ts";
import { EVERY_GROUP, laneOf, REACHED_AT, type SendLane } from "../send/run-sends.ts";
import type { TextChannel } from "./text-channel.ts";

/** A claimed message. Its group is the entity that it was made of. */
export interface TextSend extends Claimed {
  hash: string;
  itemId: number;
  contactId: number;
  content: string;
  /** The number that was chosen for a send to segments; the contact's present one when undefined. */
  address: string | undefined;
  /** A notification to an app instead of a browser. */
  isMobile: boolean;
}

interface Part {
  /** SQL: the messages of the lane. */
  where: string;
  /** SQL, of a condition for the broadcast `b`: is it held back? */
  isStopped(condition: string): string;
}

const ALL: Part = { where: "true", isStopped: () => "false" };
/** A message that somebody asked for is never paused, and never behind those to segments. */
const DIRECT: Part = { where: "broadcast_id is null", isStopped: () => "false" };
const BULK: Part = {
  where: "broadcast_id is not null",
  isStopped: (condition) => `exists (select from broadcasts b where b.finished_at is null and ${condition})`,
};

/** The lanes of a channel: one, and another for messages to segments where it has some. */
export function textLanes(name: string, channel: TextChannel): SendLane<TextSend>[] {
  return channel.hasBroadcasts
    ? [textLane(name, channel, DIRECT), textLane(`${name}_bulk`, channel, BULK)]
    : [textLane(name, channel, ALL)];
}

function textLane(
  name: string,
  { name: channel, table, item, copied, isRefusedByNumber, countedApart = [] }: TextChannel,
  { where, isStopped }: Part,
): SendLane<TextSend> {
  const isAllowed = [
    `not ${refusesChannel(`${table}.contact_id`, channel)}`,
    ...(isRefusedByNumber ? [`not ${refusesAddress(`${table}.address`, `'${channel}'`)}`] : []),
  ].join(" and ");
  const ofSend = `(b.is_paused or b.state = 'cancelling' or ${IS_CLOSED_SMS}) and b.id = ${table}.broadcast_id`;
  return laneOf<TextSend>({
    name,
    table,
    where,
    group: item,
    columns: ["hash", item, "contact_id", "content", "address", "occasion", ...Object.keys(copied)].join(
      ", ",
    ),
    groups: `${EVERY_GROUP} and not ${isStopped(`b.is_paused and b.${item} = waiting_group.id`)}`,
    jobOf: (claimed, row) => ({
      ...claimed,
      hash: row.hash ?? "",
      itemId: Number(row[item]),
      contactId: Number(row.contact_id),
      content: row.content ?? "",
      address: row.occasion === "list" ? (row.address ?? undefined) : undefined,
      isMobile: row.is_mobile === "t",
    }),
    // A no that was said here, a pause, a cancel and the end of a publication hold at once.
    mayStart: `${isAllowed} and not ${isStopped(ofSend)}`,
    limited: { by: ["contact_id", ...countedApart], tookEffectAt: REACHED_AT },
  });
}
