import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { CHANGED, tellMemberships } from "./membership-events.ts";
import { unschedule } from "./unschedule.ts";

/** SQL: has the contact been in the campaign before, of which nothing but the log is left? */
export const hasHistory = (campaign: string, contact: string) => `exists (select from campaign_event_logs l
  where l.campaign_id = ${campaign} and l.contact_id = ${contact} and l.rotation = 1)`;

/** SQL: is a contact gone? One that was made a moment ago may not be known yet. */
export const isGone = (contact: string) => `exists (select from projected_versions v
  where v.kind = 'contacts' and v.id = ${contact} and not exists (select from contacts k where k.id = v.id))`;

/** The campaign is held, so that nobody comes in while it is deleted. */
const addStatement = prepared(
  "campaign_contacts_add",
  `insert into campaign_contacts as m
     (campaign_id, contact_id, version, date_added, manually_added, manually_removed, rotation)
   select c.id, k.id, 1, now(), true, false, case when ${hasHistory("c.id", "k.id")} then 2 else 1 end
   from campaigns c cross join unnest((select $2::integer[])::integer[]) as k (id)
   where c.id = $1 and c.date_deleted is null and not ${isGone("k.id")} order by k.id for key share of c
   on conflict (campaign_id, contact_id) do update set version = m.version + 1, date_added = now(),
     manually_added = true, manually_removed = false, rotation = m.rotation + 1
   where m.manually_removed or (select c.allow_restart from campaigns c where c.id = m.campaign_id)
   returning ${CHANGED}`,
);

/** Puts contacts into a campaign by hand. A present member begins anew where the campaign allows that, and stays as it is where not. */
export async function addByHand(
  transaction: Transaction,
  outbox: Outbox,
  { campaignId, contactIds }: { campaignId: number; contactIds: number[] },
): Promise<void> {
  tellMemberships(transaction, outbox, await transaction.query(addStatement, [campaignId, contactIds]));
}

/** `$3`: the removal is an exit, after which a campaign with restarts takes the contact again by itself. */
const removeStatement = prepared(
  "campaign_contacts_remove",
  `with held as materialized (
     select campaign_id, contact_id, manually_removed from campaign_contacts
     where campaign_id = $1 and contact_id = any((select $2::integer[])::integer[]) order by contact_id for update)
   update campaign_contacts m set manually_removed = true, manually_added = false,
     date_last_exited = case when $3::boolean then now() end,
     version = m.version + case when h.manually_removed then 0 else 1 end
   from held h where m.campaign_id = h.campaign_id and m.contact_id = h.contact_id
   returning ${CHANGED}, m.rotation, h.manually_removed as was_removed`,
);

/** Takes contacts out of a campaign; what was to be done with them there is not done any more. */
export async function removeByHand(
  transaction: Transaction,
  outbox: Outbox,
  { campaignId, contactIds, isExit }: { campaignId: number; contactIds: number[]; isExit: boolean },
): Promise<void> {
  const rows = await transaction.query(removeStatement, [campaignId, contactIds, isExit]);
  const removed = rows.filter(({ was_removed }) => was_removed === "f");
  unschedule(transaction, removed);
  tellMemberships(transaction, outbox, removed);
}
