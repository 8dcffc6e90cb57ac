import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Call } from "@tidings/rpc/call";
import { badRequest } from "@tidings/rpc/fault";
import type { ContactRow } from "../rows/contact.ts";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";

export interface PointsChange {
  id: number;
  operator: string;
  delta: number;
  /** The kind of the source; "API" when absent. */
  type?: string;
  eventName: string;
  actionName: string;
}

export interface Operator {
  label: string;
  apply(points: number, delta: number): number;
  /** The delta that the log keeps: signed for changes by an amount. */
  logged(delta: number): number;
}

/** An entry of the points log. */
export interface LoggedPoints {
  contactId: number;
  /** The group whose score it is; of the points when null. */
  groupId: number | null;
  /** The kind of the source: "API", "form", "campaign". */
  type: string;
  eventName: string;
  actionName: string;
  delta: number;
  /** In the text form of a timestamptz. */
  now: string;
}

/** A map and not an object: `constructor` is a name every object knows. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["plus", { label: "add (+)", apply: (points, delta) => points + delta, logged: (delta) => delta }],
  ["minus", { label: "subtract (-)", apply: (points, delta) => points - delta, logged: (delta) => -delta }],
  ["times", { label: "multiply (x)", apply: (points, delta) => points * delta, logged: (delta) => delta }],
  [
    "divide",
    { label: "divide (/)", apply: (points, delta) => Math.round(points / delta), logged: (delta) => delta },
  ],
]);

const NAME_LENGTH_MAX = 191;

const logStatement = prepared(
  "points_log_insert",
  `insert into points_log (contact_id, type, event_name, action_name, delta, date_added, group_id)
   select * from json_to_recordset($1::json) as x (contact_id integer, type text, event_name text, action_name text,
     delta integer, date_added timestamptz, group_id integer)`,
);

/** Writes entries of the log in the transaction of the change. */
export function logPoints(transaction: Transaction, entries: LoggedPoints[]): void {
  if (entries.length === 0) return;
  const rows = entries.map(({ contactId, groupId, type, eventName, actionName, delta, now }) => ({
    contact_id: contactId,
    type,
    event_name: eventName.slice(0, NAME_LENGTH_MAX),
    action_name: (actionName || type).slice(0, NAME_LENGTH_MAX),
    delta,
    date_added: now,
    group_id: groupId,
  }));
  transaction.execute(logStatement, [JSON.stringify(rows)]);
}

/** Throws INVALID_ARGUMENT where a column holds no such number. */
export function checkedPoints(points: number): number {
  if (Math.abs(points) >= 2 ** 31) throw badRequest("The points would be too many.");
  return points;
}

/**
 * A contact with changed points, and the entry of the log. A delta of 0 changes nothing and is not logged. Throws INVALID_ARGUMENT for an
 * unknown operator, a negative delta and a result that is too large.
 */
export function applyPoints(
  row: ContactRow,
  { operator: name, delta, ...change }: Omit<PointsChange, "id">,
  now: string,
): { row: ContactRow; logged: LoggedPoints | undefined } {
  const operator = OPERATORS.get(name);
  if (!operator) throw badRequest("Invalid operator");
  if (delta < 0) throw badRequest("The points must not be negative.");
  if (delta === 0) return { row, logged: undefined };
  const points = checkedPoints(operator.apply(Number(row.points), delta));
  const logged = {
    contactId: Number(row.id),
    groupId: null,
    type: change.type ?? "API",
    eventName: change.eventName || operator.label,
    actionName: change.actionName,
    delta: operator.logged(delta),
    now,
  };
  return { row: { ...row, points: String(points) }, logged };
}

/** Changes the points of a contact and logs it. Returns the new balance. */
export async function changePoints(
  context: ContactContext,
  { id, ...change }: PointsChange,
  call: Call,
): Promise<number> {
  const row = await editContact(context, id, call, (before, { transaction, now }) => {
    const { row, logged } = applyPoints(before, change, now);
    logPoints(transaction, logged ? [logged] : []);
    return row;
  });
  return Number(row.points);
}
