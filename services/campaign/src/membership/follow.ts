import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { hasHistory } from "./by-hand.ts";
import { CHANGED, tellMemberships } from "./membership-events.ts";
import { unschedule } from "./unschedule.ts";

/** SQL: may a campaign `c` do anything now? */
export const IS_RUNNING = `c.is_published and c.date_deleted is null
  and (c.publish_up is null or c.publish_up <= now()) and (c.publish_down is null or c.publish_down > now())`;

/** Which memberships are looked at: of campaigns $1, of these contacts. */
type Scope = (contact: string) => string;

const running = `running as materialized (
  select c.id, c.allow_restart from campaigns c where c.id = any((select $1::integer[])::integer[]) and ${IS_RUNNING})`;

/** Contacts in a published segment of a running campaign. */
const wanted = (inScope: Scope) => `wanted as materialized (
  select distinct r.id as campaign_id, sc.contact_id, r.allow_restart
  from running r join campaign_segments cs on cs.campaign_id = r.id
  join segments s on s.id = cs.segment_id and s.is_published
  join segment_contacts sc on sc.segment_id = cs.segment_id
  where ${inScope("sc.contact_id")})`;

/** Exits members that came by a segment and are in none of the campaign's segments any more. Looks each member up by the index. */
const exitText = (inScope: Scope) => `with ${running}
  update campaign_contacts m set manually_removed = true, date_last_exited = now(), version = m.version + 1
  from running r where m.campaign_id = r.id and ${inScope("m.contact_id")}
    and not m.manually_removed and not m.manually_added
    and not exists (
      select from campaign_segments cs join segments s on s.id = cs.segment_id and s.is_published
      join segment_contacts sc on sc.segment_id = cs.segment_id and sc.contact_id = m.contact_id
      where cs.campaign_id = m.campaign_id)
  returning ${CHANGED}, m.rotation`;

/**
 * Adds contacts that were never in the campaign, and contacts that exited if the campaign allows restarts. Never adds contacts that
 * were removed by hand nor, without restarts, contacts with an entry in the log.
 */
const enterText = (inScope: Scope) => `with ${running}, ${wanted(inScope)}
  insert into campaign_contacts as m
    (campaign_id, contact_id, version, date_added, manually_added, manually_removed, rotation)
  select n.campaign_id, n.contact_id, 1, now(), false, false, case when n.has_history then 2 else 1 end
  from (
    select w.*, ${hasHistory("w.campaign_id", "w.contact_id")} as has_history from wanted w
    left join lateral (
      select m.campaign_id, m.manually_removed, m.date_last_exited from campaign_contacts m
      where m.campaign_id = w.campaign_id and m.contact_id = w.contact_id limit 1) k on true
    where k.campaign_id is null or (w.allow_restart and k.manually_removed and k.date_last_exited is not null)) n
  where n.allow_restart or not n.has_history
  order by n.contact_id, n.campaign_id
  on conflict (campaign_id, contact_id) do update set version = m.version + 1, date_added = now(),
    manually_added = false, manually_removed = false, rotation = m.rotation + 1
  where m.manually_removed and m.date_last_exited is not null
    and (select r.allow_restart from running r where r.id = m.campaign_id)
  returning ${CHANGED}`;

const amongContacts: Scope = (contact) => `${contact} = any((select $2::integer[])::integer[])`;
const inRange: Scope = (contact) => `${contact} > $2::integer and ${contact} <= $3::integer`;

const ofContacts = {
  exit: prepared("campaign_contacts_exit", exitText(amongContacts)),
  enter: prepared("campaign_contacts_enter", enterText(amongContacts)),
};
const ofRange = {
  exit: prepared("campaign_contacts_exit_range", exitText(inRange)),
  enter: prepared("campaign_contacts_enter_range", enterText(inRange)),
};

/** Brings the memberships of contacts in step with the segments of campaigns that run. To be called in its turn. */
export function followContacts(
  transaction: Transaction,
  outbox: Outbox,
  { campaignIds, contactIds }: { campaignIds: number[]; contactIds: number[] },
): Promise<number> {
  return follow(transaction, outbox, ofContacts, [campaignIds, contactIds]);
}

/** The same for all contacts whose ids are after `after` and not after `until`. */
export function followRange(
  transaction: Transaction,
  outbox: Outbox,
  { campaignId, after, until }: { campaignId: number; after: number; until: number },
): Promise<number> {
  return follow(transaction, outbox, ofRange, [[campaignId], after, until]);
}

/** Answers how many memberships changed. */
async function follow(
  transaction: Transaction,
  outbox: Outbox,
  { exit, enter }: typeof ofContacts,
  values: unknown[],
): Promise<number> {
  const exited = await transaction.query(exit, values);
  unschedule(transaction, exited);
  const entered = await transaction.query(enter, values);
  tellMemberships(transaction, outbox, [...exited, ...entered]);
  return exited.length + entered.length;
}
