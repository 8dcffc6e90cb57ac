import { create } from "@bufbuild/protobuf";
import { compileSql } from "@tidings/database/compile-sql";
import type { Database } from "@tidings/database/database";
import { timestampFromText } from "@tidings/database/timestamp";
import {
  type CampaignContact,
  CampaignContactSchema,
  ContactCampaignSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { ColumnType } from "@tidings/resource/columns";
import { listPage } from "@tidings/resource/list";
import type { Call } from "@tidings/rpc/call";
import { sql } from "kysely";
import { visibleCampaigns, visibleContacts } from "./reached.ts";

const COLUMNS: [string, string, ColumnType][] = [
  ["campaign_id", "campaign_id", "integer"],
  ["lead_id", "contact_id", "integer"],
  ["contact_id", "contact_id", "integer"],
  ["date_added", "date_added", "timestamp"],
  ["date_last_exited", "date_last_exited", "timestamp"],
  ["manually_added", "manually_added", "boolean"],
  ["manually_removed", "manually_removed", "boolean"],
  ["rotation", "rotation", "integer"],
];
const time = (column: string) =>
  sql.raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as ${column}`);
const flag = (column: string) => sql.raw(`${column}::integer as ${column}`);

/** The members of a campaign that the caller may view. */
export async function listMembers(
  database: Database,
  { id, query = create(ListQuerySchema) }: { id: number; query: ListQuery | undefined },
  call: Call,
): Promise<{ contacts: CampaignContact[]; totalSize: number; ids: number[] }> {
  const source = {
    from: sql`campaign_contacts`,
    id: sql`id`,
    select: sql.join([
      sql`campaign_id, contact_id, rotation`,
      time("date_added"),
      time("date_last_exited"),
      flag("manually_added"),
      flag("manually_removed"),
    ]),
    columns: new Map(COLUMNS.map(([name, column, type]) => [name, { sql: sql.ref(column), type }])),
    published: undefined,
    catchAll: [],
    commands: new Map(),
    defaultOrder: [],
  };
  const visible = sql`campaign_id = ${id}::integer and not manually_removed
    and ${visibleContacts(call, sql.ref("contact_id"))}`;
  const { rows, totalSize, ids } = await listPage(database, source, query, visible, call);
  const contacts = rows.map((row) =>
    create(CampaignContactSchema, {
      campaignId: row.campaign_id ?? "",
      leadId: row.contact_id ?? "",
      dateAdded: row.date_added ?? "",
      manuallyRemoved: row.manually_removed ?? "",
      manuallyAdded: row.manually_added ?? "",
      rotation: row.rotation ?? "",
      ...(row.date_last_exited && { dateLastExited: row.date_last_exited }),
    }),
  );
  return { contacts, totalSize, ids };
}

const CAMPAIGNS_MAX = 10_000;

/** The campaigns that a contact is in, as far as the caller sees them. */
export async function listCampaignsOf(database: Database, contactId: number, call: Call) {
  const { text, values } = compileSql(sql`
    select c.id, c.name, m.date_added, m.manually_added, m.manually_removed, (
      select json_agg(cs.segment_id order by cs.segment_id) from campaign_segments cs
      join segment_contacts sc on sc.segment_id = cs.segment_id and sc.contact_id = m.contact_id
      where cs.campaign_id = c.id) as segment_ids
    from campaign_contacts m join campaigns c on c.id = m.campaign_id
    where m.contact_id = ${contactId}::integer and not m.manually_removed and ${visibleCampaigns(call)}
    order by c.id limit ${CAMPAIGNS_MAX}::bigint`);
  const rows = await database.query({ text }, values, call.deadlineMs);
  return rows.map((row) =>
    create(ContactCampaignSchema, {
      id: Number(row.id),
      name: row.name ?? "",
      ...(row.date_added && { dateAdded: timestampFromText(row.date_added) }),
      manuallyAdded: row.manually_added === "t",
      manuallyRemoved: row.manually_removed === "t",
      listMembership: JSON.parse(row.segment_ids ?? "[]"),
    }),
  );
}
