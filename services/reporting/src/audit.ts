import type { Bus } from "@tidings/bus/connect";
import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { consumeEvents } from "@tidings/messaging/consume-events";
import { newEvents } from "@tidings/messaging/inbox";
import { type Audited, auditedBySubject } from "./audited.ts";
import { auditing } from "./durables.ts";

const readStatement = prepared(
  "audited_read",
  `select a.kind, a.id, a.version, a.fields from audited a
   join unnest($1::text[], $2::integer[]) as asked (kind, id) on a.kind = asked.kind and a.id = asked.id for update of a`,
);
const rememberStatement = prepared(
  "audited_remember",
  `insert into audited (kind, id, version, fields)
   select * from json_to_recordset($1::json) as x (kind text, id integer, version integer, fields jsonb) order by kind, id
   on conflict (kind, id) do update set version = excluded.version, fields = excluded.fields
   where audited.version < excluded.version`,
);
const writeStatement = prepared(
  "audit_entries_write",
  `insert into audit_entries (date_added, user_id, user_name, bundle, object, object_id, action, details)
   select * from json_to_recordset($1::json) as x (date_added timestamptz, user_id integer, user_name text, bundle text,
     object text, object_id integer, action text, details jsonb)`,
);

/** Records who changed what, from the events of all services. */
export function startAuditing(database: Database, bus: Bus): { stop(): Promise<void> } {
  const consumptions = auditing.map((durable) =>
    consumeEvents({
      ...{ database, bus, durable },
      handle: (events) => audit(database, durable.name, events),
    }),
  );
  return {
    async stop() {
      await Promise.all(consumptions.map((consumption) => consumption.stop()));
    },
  };
}

type Fields = Record<string, unknown>;

interface Known {
  kind: string;
  id: number;
  version: number;
  fields: Fields;
}

/** Records a batch, each event once. The state before a change is kept beside: events carry the state after it. */
export async function audit(database: Database, consumer: string, events: Event[]): Promise<void> {
  const known = events.flatMap((event) => {
    const audited = auditedBySubject(event.subject);
    return audited ? [{ event, audited }] : [];
  });
  if (known.length === 0) return;
  await database.transaction(backgroundDeadline(), async (transaction) => {
    const ids = known.map(({ event }) => event.id);
    const isNew = await newEvents(transaction, consumer, ids);
    const fresh = known.filter(({ event }) => isNew.has(event.id));
    const rows = await transaction.query(readStatement, [
      fresh.map(({ audited }) => audited.object),
      fresh.map(({ event }) => event.aggregateId),
    ]);
    const things = new Map<string, Known>(
      rows.map(({ kind, id, version, fields }) => [
        `${kind} ${id}`,
        { kind: kind ?? "", id: Number(id), version: Number(version), fields: JSON.parse(fields ?? "{}") },
      ]),
    );
    const entries = fresh.map(({ event, audited }) => entryOf(event, audited, things));
    transaction.execute(rememberStatement, [JSON.stringify([...things.values()])]);
    transaction.execute(writeStatement, [JSON.stringify(entries)]);
  });
}

function entryOf(event: Event, audited: Audited, things: Map<string, Known>) {
  const { aggregateId: id, aggregateVersion: version } = event;
  const { object, actionIn } = audited;
  if (actionIn) return entry(event, audited, actionIn(event.payload), audited.details?.(event.payload) ?? {});
  const { action } = audited;
  const key = `${object} ${id}`;
  const before = things.get(key);
  const fields = audited.fieldsOf(event.payload);
  // A late event does not change the state that a later event set.
  if (!before || before.version < version)
    things.set(key, { kind: object, id, version, fields: action === "delete" ? {} : fields });
  const details =
    audited.details?.(event.payload) ?? difference(before?.fields ?? {}, action === "delete" ? {} : fields);
  return entry(event, audited, action, details);
}

function entry(
  { aggregateId, time, actor }: Event,
  { object, bundle }: Audited,
  action: string,
  details: object,
) {
  return {
    date_added: time,
    user_id: actor?.kind === "user" ? actor.id : null,
    user_name: actor?.name ?? null,
    ...{ bundle, object, object_id: aggregateId, action, details },
  };
}

/** Fields whose values are not the same, with both. */
function difference(before: Fields, after: Fields): Record<string, [unknown, unknown]> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, [before[name] ?? null, after[name] ?? null]]));
}
