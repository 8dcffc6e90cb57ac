import type { Database } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import { conflict, invalid, notFound, notOneOf } from "@tidings/rpc/fault";
import { SendState } from "./send-tables.ts";

/** A page of a ledger as callers ask for it. */
interface PageRequest {
  state: string;
  after: string;
  pageSize: number;
}

interface LedgerPage {
  states: string[];
  /** True: rows that wait for a reason; false: rows that wait without one; null: all rows. */
  isDeferred: boolean | null;
  /** The number of the last row of the page before. */
  after: string;
  size: number;
}

const STATES: string[] = Object.values(SendState).filter((state) => state !== SendState.SET_ASIDE);
/** States as callers see them, whose rows have another one. */
const SHOWN: Record<string, Pick<LedgerPage, "states" | "isDeferred">> = {
  queued: { states: [SendState.WAITING], isDeferred: false },
  deferred: { states: [SendState.WAITING], isDeferred: true },
  sending: { states: [SendState.STARTED], isDeferred: null },
};
const ASKABLE = [...Object.keys(SHOWN), ...STATES];
const PAGE_MAX = 500;
const NUMBER = /^\d{1,18}$/;
const LAST = "9223372036854775807";
const RESOLVED: Record<string, "sent" | "failed" | "waiting"> = {
  sent: SendState.SENT,
  failed: SendState.FAILED,
  again: SendState.WAITING,
};

/** Reads which page of a ledger is asked for. Throws INVALID_ARGUMENT for an unknown state, and for `after` that is no id of this ledger. */
export function readPage({ state, after, pageSize }: PageRequest, prefix = ""): LedgerPage {
  if (state !== "" && !ASKABLE.includes(state)) throw invalid([notValid("state", notOneOf(ASKABLE))]);
  const number = numberIn(after, prefix);
  if (after !== "" && number === undefined) throw invalid([notValid("after", "It is the id of a send.")]);
  return {
    ...((Object.hasOwn(SHOWN, state) && SHOWN[state]) || {
      states: state === "" ? STATES : [state],
      isDeferred: null,
    }),
    after: number ?? LAST,
    size: Math.min(PAGE_MAX, Math.max(1, pageSize)),
  };
}

/** SQL: does the row `s` wait as the parameter of `isDeferred` says? */
export function isDeferredAs(parameter: string): string {
  return `(${parameter}::boolean is null or (s.reason is not null) = ${parameter}::boolean)`;
}

/** The state of a row as callers see it. */
function shownState({ state, reason }: Row): string {
  if (state === SendState.WAITING) return reason == null ? "queued" : "deferred";
  return state === SendState.STARTED ? "sending" : (state ?? "");
}

/** The number of a row in its table; undefined for an id of another ledger. */
function numberIn(id: string, prefix = ""): string | undefined {
  const number = id.startsWith(prefix) ? id.slice(prefix.length) : "";
  return NUMBER.test(number) ? number : undefined;
}

/** The `after` of the next page; empty when these rows are the last. */
export function nextPage(rows: Row[], { size }: LedgerPage, prefix = ""): string {
  const last = rows.at(-1)?.id;
  return rows.length < size || !last ? "" : `${prefix}${last}`;
}

/** SQL: the entity that a send names is that of the user of a parameter, or everybody's are seen. */
export function isOwned(entities: string, column: string, parameter: string): string {
  return `(${parameter}::integer is null or exists (select from ${entities} e where e.id = s.${column} and e.created_by = ${parameter}::integer))`;
}

/** SQL: the query `resolved`, which decides the send `$1` of a ledger as the state `$2`, where its outcome is unknown. */
export function resolvedRow(table: string, isSeen: string): string {
  return `resolved as (
     update ${table} s set state = $2, version = version + 1, lease_token = lease_token + 1, due_at = now(),
       started_at = case when $2 = 'waiting' then null else started_at end, reason = case when $2 = 'waiting' then null else reason end,
       code = case when $2 = 'waiting' then null else code end, date_sent = case when $2 = 'sent' then started_at end
     where id = $1::bigint and state = 'unknown' and ${isSeen}
     returning s.*
   )`;
}

/** SQL: the query `recounted`, which has the broadcasts of changed sends counted anew. */
export function recounted(changed: string): string {
  return `recounted as (
    update broadcasts b set counts = null from (select distinct broadcast_id as id from ${changed}) c where b.id = c.id),`;
}

/**
 * SQL: the next rows in each of the states `states`, backwards, and of these a page. A range of one state, in place of an equality, has the planner read the
 * index that ends with state and id: that of the id alone is as long as the table.
 */
export function pageByState(
  rows: string,
  { isAsked, states, size }: { isAsked: string; states: string; size: string },
): string {
  return `select s.* from unnest(${states}::text[]) as t (state) cross join lateral (
     ${rows} s where s.state between t.state and t.state and ${isAsked} order by s.state desc, s.id desc limit ${size}::integer) s
   order by s.id desc limit ${size}::integer`;
}

/** The user whose emails or text messages alone the caller reaches; everybody's when null. */
export function ownerOf(call: Call, verb: Verb): number | null {
  return call.reach(verb) === "all" ? null : call.actor.id;
}

/** The sends whose contact the caller may view. */
export async function ofVisibleContacts(rows: Row[], findVisible: FindVisible, call: Call): Promise<Row[]> {
  const ids = [...new Set(rows.map(({ contact_id }) => Number(contact_id)))];
  const visible = ids.length > 0 ? await findVisible(ContactSchema, ids, call) : new Set<number>();
  return rows.filter(({ contact_id }) => visible.has(Number(contact_id)));
}

interface Resolving {
  database: Database;
  findVisible: FindVisible;
  /** Ids of the ledger begin with it. */
  prefix?: string;
  /** Finds the contact of the send `$1`, for the owner `$2`. */
  findStatement: Statement;
  /** Decides the send `$1` as the state `$2`, for the owner `$3`. No row where its outcome is known. */
  resolveStatement: Statement;
  /** Publishes what became of the send. */
  publish(transaction: Transaction, state: "sent" | "failed", row: Row): Promise<void>;
  /** Notes for the audit how the caller decided. */
  note(transaction: Transaction, as: string, row: Row): void;
  /** Called once a send is to go out. */
  wake(): void;
}

/**
 * Decides a send whose outcome nobody knows. Throws INVALID_ARGUMENT for another word than `sent`, `failed` and `again`, NOT_FOUND for a send that is not
 * there and for one whose contact the caller may not view, and FAILED_PRECONDITION where the outcome is known.
 */
export async function resolveRow(
  { database, findVisible, prefix, findStatement, resolveStatement, publish, note, wake }: Resolving,
  { id, as }: { id: string; as: string },
  call: Call,
): Promise<Row> {
  const state = Object.hasOwn(RESOLVED, as) && RESOLVED[as];
  if (!state) throw invalid([notValid("as", notOneOf(Object.keys(RESOLVED)))]);
  const number = numberIn(id, prefix);
  if (number === undefined) throw notFound();
  const ownerId = ownerOf(call, Verb.EDIT);
  const found = await database.query(findStatement, [number, ownerId], call.deadlineMs);
  if ((await ofVisibleContacts(found, findVisible, call)).length === 0) throw notFound();
  return database.transaction(call.deadlineMs, async (transaction) => {
    const [row] = await transaction.query(resolveStatement, [number, state, ownerId]);
    if (!row) throw conflict("The outcome of this send is known.");
    if (state !== SendState.WAITING) await publish(transaction, state, row);
    note(transaction, as, row);
    transaction.afterCommit(wake);
    return row;
  });
}

/** The members that rows of every ledger have. */
export function ledgerMembers(row: Row) {
  const time = (name: string) => (row[name] ? timestampFromText(row[name]) : undefined);
  const [dueAt, startedAt, dateSent] = ["due_at", "started_at", "date_sent"].map(time);
  return {
    occasion: row.occasion ?? "",
    state: shownState(row),
    ...(row.reason && { reason: row.reason }),
    ...(row.address && { address: row.address }),
    hash: row.hash ?? "",
    ...(dueAt && { dueAt }),
    ...(startedAt && { startedAt }),
    ...(dateSent && { dateSent }),
    ...(row.code && { code: Number(row.code) }),
  };
}
