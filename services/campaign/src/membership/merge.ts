import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { CHANGED, tellMemberships } from "./membership-events.ts";

/** SQL: who is in is stronger than who is out, and what was done by hand than what came by itself. */
const strength = (m: string) =>
  `(case when not ${m}.manually_removed then 2 else 0 end
    + case when ${m}.manually_added or (${m}.manually_removed and ${m}.date_last_exited is null) then 1 else 0 end)`;

const moveStatement = prepared(
  "campaign_contacts_move",
  `insert into campaign_contacts as m (campaign_id, contact_id, version, date_added, date_last_exited, manually_added,
     manually_removed, rotation)
   select campaign_id, $2, version + 1, date_added, date_last_exited, manually_added, manually_removed, rotation
   from campaign_contacts where contact_id = $1 order by campaign_id
   on conflict (campaign_id, contact_id) do update set version = greatest(m.version, excluded.version) + 1,
     date_added = excluded.date_added, date_last_exited = excluded.date_last_exited,
     manually_added = excluded.manually_added, manually_removed = excluded.manually_removed,
     rotation = greatest(m.rotation, excluded.rotation)
   where ${strength("excluded")} > ${strength("m")}
   returning ${CHANGED}`,
);
const moveLogsStatement = prepared(
  "campaign_event_logs_move",
  `update campaign_event_logs l set contact_id = $2 where contact_id = $1 and not exists (
     select from campaign_event_logs k where k.event_id = l.event_id and k.contact_id = $2 and k.rotation = l.rotation)`,
);
const movedLeaveStatement = prepared(
  "campaign_contacts_moved",
  "delete from campaign_contacts where contact_id = $1",
);

/** Gives the memberships of a contact to the one it became part of, who keeps the stronger of two; its log moves, too. */
export async function moveMemberships(
  transaction: Transaction,
  outbox: Outbox,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const moved = await transaction.query(moveStatement, [from, to]);
  transaction.execute(moveLogsStatement, [from, to]);
  transaction.execute(movedLeaveStatement, [from]);
  tellMemberships(transaction, outbox, moved);
}
