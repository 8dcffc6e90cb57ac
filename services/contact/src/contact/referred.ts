import { type Database, prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { rowById } from "@tidings/resource/row-by-id";
import type { Call } from "@tidings/rpc/call";
import { denied, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { mayReach } from "../record/reach.ts";

const contactsStatement = prepared(
  "contacts_referred",
  `select asked.id as asked_id, c.id, c.owner_id from unnest((select $1::integer[])) as asked (id)
   left join contact_redirects r on r.merged_id = asked.id
   join contacts c on c.id = coalesce(r.contact_id, asked.id)`,
);

type Ask = (statement: Statement, values: unknown[]) => Promise<Row[]>;

/** The contacts by the ids they were asked for: merged ones are what they became part of. */
export async function readContacts(ask: Ask, ids: number[]): Promise<Map<number, Row>> {
  const wanted = [...new Set(ids)].filter((id) => id > 0);
  if (wanted.length === 0) return new Map();
  const rows = await ask(contactsStatement, [wanted]);
  return new Map(rows.map((row) => [Number(row.asked_id), row]));
}

async function contactsNow(database: Database, ids: number[], deadlineMs: number) {
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0)
    return readContacts((...query) => database.query(...query, deadlineMs), ids);
  const row = await rowById(database, contactsStatement, { id, idColumn: "asked_id", deadlineMs });
  return new Map(row ? [[id, row]] : []);
}

/** The same caller, as far as contacts go. The work of a process says itself how far it goes. */
export function forContacts(call: Call): Call {
  if (call.actor.kind === "service") return call;
  return { ...call, reach: (verb) => reach(call.actor, "lead:leads", verb) };
}

/**
 * The contacts that the caller reaches, by the ids they were asked for; merged ones are what they became part of. A single
 * one that is missing is NOT_FOUND, or PERMISSION_DENIED when it is only to be seen; of many they are left out.
 */
export async function reachedContacts(
  database: Database,
  ids: number[],
  call: Call,
  verb: Verb,
  missing = "Contact not found.",
): Promise<Map<number, Row>> {
  const contacts = await contactsNow(database, ids, call.deadlineMs);
  const contactCall = forContacts(call);
  const visible = [...contacts].filter(([, row]) => mayReach(contactCall, Verb.VIEW, row, "owner_id"));
  if (ids.length === 1 && visible.length === 0) throw notFound(missing);
  const reached = visible.filter(([, row]) => mayReach(contactCall, verb, row, "owner_id"));
  if (ids.length === 1 && reached.length === 0) throw denied();
  return new Map(reached);
}

/** The id of a contact, or of the one it became part of. Throws NOT_FOUND when it is not there for the caller. */
export async function visibleContact(
  database: Database,
  id: number,
  call: Call,
  missing?: string,
): Promise<number> {
  const contacts = await reachedContacts(database, [id], call, Verb.VIEW, missing);
  return Number(contacts.get(id)?.id);
}
