import { create } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import {
  type Campaign,
  CampaignLinkSchema,
  CampaignMembershipSchema,
  ContactLogSchema,
  type EventLog,
  EventLogSchema,
  EventWithLogsSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { ColumnType } from "@tidings/resource/columns";
import { listPage } from "@tidings/resource/list";
import type { Call } from "@tidings/rpc/call";
import { conflict, type Fault } from "@tidings/rpc/fault";
import { sql } from "kysely";
import { visibleCampaigns } from "../membership/reached.ts";
import { campaignOf, EVENT_SELECT, eventOf } from "./list-events.ts";

/** SQL: the members of a log row of the table `l`. */
export const LOG_SELECT = `l.rotation, l.is_scheduled, l.trigger_date, l.date_triggered, l.ip_address, l.metadata,
  l.channel as log_channel, l.channel_id as log_channel_id, l.non_action_path_taken`;

export function logOf(row: Row): EventLog {
  return create(EventLogSchema, {
    rotation: Number(row.rotation),
    isScheduled: row.is_scheduled === "t",
    nonActionPathTaken: row.non_action_path_taken === "t",
    ...(row.trigger_date && { triggerDate: timestampFromText(row.trigger_date) }),
    ...(row.date_triggered && { dateTriggered: timestampFromText(row.date_triggered) }),
    ...(row.ip_address && { ipAddress: row.ip_address }),
    ...(row.metadata && { metadata: Buffer.from(row.metadata) }),
    ...(row.log_channel && { channel: row.log_channel }),
    ...(row.log_channel_id && { channelId: Number(row.log_channel_id) }),
  });
}

const COLUMNS: [string, string, ColumnType][] = [
  ["id", "l.id", "double"],
  ["event_id", "l.event_id", "integer"],
  ["campaign_id", "l.campaign_id", "integer"],
  ["rotation", "l.rotation", "integer"],
  ["isScheduled", "l.is_scheduled", "boolean"],
  ["triggerDate", "l.trigger_date", "timestamp"],
  ["dateTriggered", "l.date_triggered", "timestamp"],
];

/** All that happened to a contact in campaigns that the caller may see; the caller may see the contact. */
export async function logsOfContact(
  database: Database,
  { contactId, query = create(ListQuerySchema) }: { contactId: number; query: ListQuery | undefined },
  call: Call,
) {
  const source = {
    from: sql`campaign_event_logs l join campaign_events e on e.id = l.event_id join campaigns c on c.id = l.campaign_id`,
    id: sql`l.id`,
    select: sql.join([EVENT_SELECT, sql.raw(LOG_SELECT)]),
    columns: new Map(COLUMNS.map(([name, column, type]) => [name, { sql: sql.ref(column), type }])),
    published: sql`c.is_published`,
    catchAll: [sql`e.name`],
    commands: new Map(),
    defaultOrder: [],
  };
  const visible = sql`l.contact_id = ${contactId}::integer and ${visibleCampaigns(call)}`;
  const { rows, totalSize } = await listPage(database, source, query, visible, call);
  const logs = rows.map((row) =>
    create(ContactLogSchema, {
      event: { event: eventOf(row), campaign: campaignOf(row) },
      log: logOf(row),
    }),
  );
  return { logs, totalSize };
}

const memberStatement = prepared(
  "campaign_member",
  `select date_added, date_last_exited, manually_added, manually_removed, rotation from campaign_contacts
   where campaign_id = $1 and contact_id = $2`,
);
const logsStatement = prepared(
  "campaign_member_logs",
  `select l.event_id, ${LOG_SELECT} from campaign_event_logs l
   where l.campaign_id = $1 and l.contact_id = $2 order by l.rotation desc, l.id limit 5000`,
);

/** The events of a campaign with what became of each for a contact. Throws FAILED_PRECONDITION for one that was never in it. */
export async function eventsOfMember(database: Database, campaign: Campaign, contactId: number, call: Call) {
  const [[member], logs] = await Promise.all([
    database.query(memberStatement, [campaign.id, contactId], call.deadlineMs),
    database.query(logsStatement, [campaign.id, contactId], call.deadlineMs),
  ]);
  if (!member) throw notMember(contactId, campaign.id);
  const byEvent = Map.groupBy(logs, ({ event_id }) => Number(event_id));
  return {
    events: campaign.events.map((event) =>
      create(EventWithLogsSchema, { event, logs: (byEvent.get(event.id) ?? []).map(logOf) }),
    ),
    campaign: create(CampaignLinkSchema, {
      id: campaign.id,
      name: campaign.name,
      isPublished: campaign.isPublished === true,
      ...(campaign.description && { description: campaign.description }),
    }),
    membership: create(CampaignMembershipSchema, {
      manuallyAdded: member.manually_added === "t",
      manuallyRemoved: member.manually_removed === "t",
      rotation: Number(member.rotation),
      ...(member.date_added && { dateAdded: timestampFromText(member.date_added) }),
      ...(member.date_last_exited && { dateLastExited: timestampFromText(member.date_last_exited) }),
    }),
  };
}

export function notMember(contactId: number, campaignId: number): Fault {
  return conflict(`The contact ${contactId} is not in the campaign ${campaignId}.`);
}
