import { create } from "@bufbuild/protobuf";
import { compileSql } from "@tidings/database/compile-sql";
import type { Database } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import {
  type CampaignEvent,
  CampaignEventLinkSchema,
  CampaignEventSchema,
  CampaignLinkSchema,
  CampaignSchema,
  type LocatedEvent,
  LocatedEventSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { type ColumnType, columnsOf } from "@tidings/resource/columns";
import { listPage } from "@tidings/resource/list";
import { idsCommand } from "@tidings/resource/search";
import type { Call } from "@tidings/rpc/call";
import { sql } from "kysely";
import { visibleCampaigns } from "../membership/reached.ts";

const neighbour = (table: string) =>
  `json_build_object('id', ${table}.id, 'name', ${table}.name, 'type', ${table}.type, 'eventType', ${table}.event_type,
    'order', ${table}.level, 'decisionPath', ${table}.decision_path)`;

/** The event `e` of the campaign `c`: as the campaign has it, and those next to it. */
export const EVENT_SELECT =
  sql.raw(`e.id, c.id as campaign_id, c.name as campaign_name, c.description, c.is_published,
  jsonb_path_query_first(c.events, '$[*] ? (@.id == $id)', jsonb_build_object('id', e.id)) as event,
  (select ${neighbour("p")} from campaign_events p where p.id = e.parent_id) as parent,
  (select json_agg(${neighbour("k")} order by k.id) from campaign_events k where k.parent_id = e.id) as children`);

const eventsColumn = columnsOf(CampaignSchema).find(({ name }) => name === "events");

/** An event out of the columns of EVENT_SELECT. */
export function eventOf({ event, parent, children }: Row): CampaignEvent {
  const [read] = (eventsColumn?.fromText(`[${event ?? "{}"}]`) ?? []) as CampaignEvent[];
  const shown = read ?? create(CampaignEventSchema);
  if (parent) shown.parent = neighbourOf(JSON.parse(parent));
  shown.children = (JSON.parse(children ?? "[]") as Neighbour[]).map(neighbourOf);
  return shown;
}

interface Neighbour {
  decisionPath: string | null;
}

function neighbourOf({ decisionPath, ...members }: Neighbour) {
  return create(CampaignEventLinkSchema, { ...members, ...(decisionPath !== null && { decisionPath }) });
}

export function campaignOf({ campaign_id, campaign_name, description, is_published }: Row) {
  return create(CampaignLinkSchema, {
    id: Number(campaign_id),
    name: campaign_name ?? "",
    isPublished: is_published === "t",
    ...(description && { description }),
  });
}

function located(row: Row): LocatedEvent {
  return create(LocatedEventSchema, { event: eventOf(row), campaign: campaignOf(row) });
}

/** Events by their ids, of campaigns that the caller may see. */
export async function readEvents(
  database: Database,
  ids: number[],
  call: Call,
): Promise<Map<number, LocatedEvent>> {
  const { text, values } = compileSql(sql`
    select ${EVENT_SELECT} from campaign_events e join campaigns c on c.id = e.campaign_id
    where e.id = any(${ids}::integer[]) and ${visibleCampaigns(call)}`);
  const rows = await database.query({ text }, values, call.deadlineMs);
  return new Map(rows.map((row) => [Number(row.id), located(row)]));
}

const COLUMNS: [string, string, ColumnType][] = [
  ["id", "e.id", "integer"],
  ["name", "e.name", "text"],
  ["type", "e.type", "text"],
  ["eventType", "e.event_type", "text"],
  ["order", "e.level", "integer"],
  ["decisionPath", "e.decision_path", "text"],
  ["channel", "e.channel", "text"],
  ["channelId", "e.channel_id", "integer"],
  ["campaign_id", "e.campaign_id", "integer"],
];

/** The events of all campaigns that the caller may see. */
export async function listEvents(
  database: Database,
  query: ListQuery = create(ListQuerySchema),
  call: Call,
): Promise<{ events: LocatedEvent[]; totalSize: number; ids: number[] }> {
  const source = {
    from: sql`campaign_events e join campaigns c on c.id = e.campaign_id`,
    id: sql`e.id`,
    select: EVENT_SELECT,
    columns: new Map(COLUMNS.map(([name, column, type]) => [name, { sql: sql.ref(column), type }])),
    published: sql`c.is_published`,
    catchAll: [sql`e.name`],
    commands: new Map([["ids", idsCommand(sql`e.id`)]]),
    defaultOrder: [],
  };
  const page = await listPage(database, source, query, visibleCampaigns(call), call);
  return { events: page.rows.map(located), totalSize: page.totalSize, ids: page.ids };
}
