import { isIP } from "node:net";
import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { compileSql } from "@tidings/database/compile-sql";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  type EditedEventLog,
  EditedEventLogSchema,
  type EventLogEdit,
  EventLogEditSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { parseJson } from "@tidings/resource/json-member";
import { rulesOf } from "@tidings/resource/rules";
import type { Call } from "@tidings/rpc/call";
import { badRequest, conflict, denied, Fault, invalid, notFound } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import { isoSeconds } from "@tidings/runtime/iso-seconds";
import { sql } from "kysely";
import { reachedContacts, visibleCampaigns } from "../membership/reached.ts";
import { LOG_SELECT, logOf, notMember } from "./event-logs.ts";
import { campaignOf, EVENT_SELECT, eventOf } from "./list-events.ts";

const rules = rulesOf(EventLogEditSchema);
const NOT_NAMED = "contactId and/or eventId are misssing from this item's parameters.";

const membersStatement = prepared(
  "campaign_event_members",
  `select t.event_id, t.contact_id, m.rotation, l.id as log_id, l.is_scheduled, l.date_triggered
   from unnest($1::integer[], $2::integer[]) as t (event_id, contact_id)
   join campaign_events e on e.id = t.event_id
   join campaign_contacts m on m.campaign_id = e.campaign_id and m.contact_id = t.contact_id and not m.manually_removed
   left join campaign_event_logs l on l.event_id = t.event_id and l.contact_id = t.contact_id and l.rotation = m.rotation`,
);
/** Absent members keep their values, also those that another writer set meanwhile. */
const writeStatement = prepared(
  "campaign_event_logs_edit",
  `insert into campaign_event_logs as l (event_id, campaign_id, contact_id, rotation, is_scheduled, trigger_date,
     date_triggered, ip_address, metadata, channel, channel_id, non_action_path_taken)
   select x.event_id, x.campaign_id, x.contact_id, x.rotation, x.date_triggered is null, x.trigger_date, x.date_triggered,
     x.ip_address, x.metadata, x.channel, x.channel_id, coalesce(x.non_action_path_taken, false)
   from json_to_recordset($1::json) as x (event_id integer, campaign_id integer, contact_id integer, rotation integer,
     trigger_date timestamptz, date_triggered timestamptz, ip_address text, metadata jsonb, channel text,
     channel_id integer, non_action_path_taken boolean)
   order by x.event_id, x.contact_id
   on conflict (event_id, contact_id, rotation) do update set
     is_scheduled = excluded.date_triggered is null,
     trigger_date = coalesce(excluded.trigger_date, l.trigger_date),
     date_triggered = excluded.date_triggered,
     ip_address = coalesce(excluded.ip_address, l.ip_address),
     metadata = coalesce(excluded.metadata, l.metadata),
     channel = coalesce(excluded.channel, l.channel),
     channel_id = coalesce(excluded.channel_id, l.channel_id),
     non_action_path_taken = excluded.non_action_path_taken or l.non_action_path_taken
   where l.is_scheduled
   returning l.event_id, l.contact_id, ${LOG_SELECT}`,
);

interface Decided {
  edit: EventLogEdit;
  event: Row;
  member: Row;
}

/** Schedules events for contacts, or marks them as done, each by itself: one that cannot be stops no other. */
export async function editLogs(
  database: Database,
  edits: EventLogEdit[],
  call: Call,
): Promise<EditedEventLog[]> {
  const contacts = await reachedContacts(
    database,
    edits.map(({ contactId }) => contactId),
    call,
  );
  return database.transaction(call.deadlineMs, async (transaction) => {
    const events = await readLocked(transaction, edits, call);
    const members = await transaction.query(membersStatement, [
      edits.map(({ eventId }) => eventId),
      edits.map(({ contactId }) => contactId),
    ]);
    const byKey = new Map(members.map((row) => [`${row.event_id} ${row.contact_id}`, row]));
    const named = new Set<string>();
    const decided = edits.map((edit): Decided | Fault => {
      const key = `${edit.eventId} ${edit.contactId}`;
      if (named.has(key)) return badRequest("The same event and contact are named twice.");
      named.add(key);
      return decide(edit, {
        event: events.get(edit.eventId),
        contact: contacts.get(edit.contactId),
        member: byKey.get(key),
      });
    });
    const written = await write(transaction, decided);
    return decided.map((one) => answer(one, written));
  });
}

/** The events that are asked for, with whether the caller may edit their campaigns. */
async function readLocked(
  transaction: Transaction,
  edits: EventLogEdit[],
  call: Call,
): Promise<Map<number, Row>> {
  const reached = call.reach(Verb.EDIT);
  const isEditable =
    reached === "all"
      ? sql`true`
      : sql`coalesce(c.created_by = ${reached === "own" ? call.actor.id : null}::integer, false)`;
  const ids = edits.map(({ eventId }) => eventId);
  const { text, values } = compileSql(sql`
    select ${EVENT_SELECT}, e.event_type, ${isEditable} as is_editable
    from campaign_events e join campaigns c on c.id = e.campaign_id
    where e.id = any(${ids}::integer[]) and ${visibleCampaigns(call)}`);
  return new Map((await transaction.query({ text }, values)).map((row) => [Number(row.id), row]));
}

interface Found {
  event: Row | undefined;
  contact: { mayEdit: boolean } | undefined;
  member: Row | undefined;
}

function decide(edit: EventLogEdit, { event, contact, member }: Found): Decided | Fault {
  if (edit.eventId === 0 || edit.contactId === 0) return notFound(NOT_NAMED);
  if (!event) return notFound();
  if (!contact) return notFound("Contact not found.");
  if (event.is_editable !== "t" || !contact.mayEdit) return denied();
  const { eventId, contactId } = edit;
  const campaignId = Number(event.campaign_id);
  const violations = rules.lengths(edit, undefined);
  if (edit.ipAddress && isIP(edit.ipAddress) === 0)
    violations.push({ field: "ipAddress", message: "This is not an address of the internet." });
  if (violations.length > 0) return invalid(violations);
  if (!member) return notMember(contactId, campaignId);
  if (member.log_id && member.is_scheduled === "f") return executed(edit, campaignId, member.date_triggered);
  if (!member.log_id && !edit.dateTriggered && !edit.triggerDate)
    return conflict(
      `The event ${eventId} in the campaign ${campaignId} must be scheduled or marked as complete as the contact ${contactId} does not have a log entry yet.`,
    );
  if (edit.triggerDate && event.event_type === "decision")
    return conflict(
      `A decision type event cannot be scheduled. Event: ${eventId}, campaign: ${campaignId}, contact: ${contactId}.`,
    );
  return { edit, event, member };
}

function executed(
  { eventId, contactId }: EventLogEdit,
  campaignId: number,
  at: string | null | undefined,
): Fault {
  const time = at ? isoSeconds(timestampDate(timestampFromText(at))) : "";
  return conflict(
    `The event ${eventId} in the campaign ${campaignId} has already been executed at ${time} for the contact ${contactId}.`,
  );
}

/** The written rows by event and contact. */
async function write(transaction: Transaction, decided: (Decided | Fault)[]): Promise<Map<string, Row>> {
  const rows = decided.flatMap((one) => (one instanceof Fault ? [] : [rowOf(one)]));
  if (rows.length === 0) return new Map();
  const written = await transaction.query(writeStatement, [JSON.stringify(rows)]);
  return new Map(written.map((row) => [`${row.event_id} ${row.contact_id}`, row]));
}

function rowOf({ edit, event, member }: Decided) {
  return {
    event_id: edit.eventId,
    campaign_id: Number(event.campaign_id),
    contact_id: edit.contactId,
    rotation: Number(member.rotation),
    trigger_date: edit.triggerDate ? isoSeconds(timestampDate(edit.triggerDate)) : null,
    date_triggered: edit.dateTriggered ? isoSeconds(timestampDate(edit.dateTriggered)) : null,
    ip_address: edit.ipAddress || null,
    metadata: edit.metadata ? parseJson(edit.metadata) : null,
    channel: edit.channel || null,
    channel_id: edit.channelId ?? null,
    non_action_path_taken: edit.nonActionPathTaken ?? null,
  };
}

function answer(one: Decided | Fault, written: Map<string, Row>): EditedEventLog {
  if (one instanceof Fault) return create(EditedEventLogSchema, { status: itemStatus({ fault: one }) });
  const { edit, event, member } = one;
  const row = written.get(`${edit.eventId} ${edit.contactId}`);
  if (!row) {
    const fault = executed(edit, Number(event.campaign_id), undefined);
    return create(EditedEventLogSchema, { status: itemStatus({ fault }) });
  }
  return create(EditedEventLogSchema, {
    event: { event: eventOf(event), logs: [logOf(row)] },
    campaign: campaignOf(event),
    status: itemStatus({ created: !member.log_id }),
  });
}
