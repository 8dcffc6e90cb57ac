import type { Call } from "@tidings/rpc/call";
import { badRequest } from "@tidings/rpc/fault";
import { prepared, type Transaction } from "@tidings/store/database";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";

export interface PointsChange {
  id: number;
  operator: string;
  delta: number;
  eventName: string;
  actionName: string;
}

export interface Operator {
  label: string;
  apply(points: number, delta: number): number;
  /** What the log keeps: signed for changes by an amount. */
  logged(delta: number): number;
}

/** One line of the log. */
export interface LoggedPoints {
  contactId: number;
  /** The group whose score it is; of all points when there is none. */
  groupId: number | null;
  eventName: string;
  actionName: string;
  delta: number;
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
   values ($1, 'API', $2, $3, $4, $5, $6)`,
);

/** Writes down, in the transaction of the change, who says what it was for. */
export function logPoints(transaction: Transaction, logged: LoggedPoints): void {
  transaction.execute(logStatement, [
    logged.contactId,
    logged.eventName.slice(0, NAME_LENGTH_MAX),
    (logged.actionName || "API").slice(0, NAME_LENGTH_MAX),
    logged.delta,
    logged.now,
    logged.groupId,
  ]);
}

/** Throws INVALID_ARGUMENT where a column holds no such number. */
export function checkedPoints(points: number): number {
  if (Math.abs(points) >= 2 ** 31) throw badRequest("The points would be too many.");
  return points;
}

/** Changes a contact's points and logs it; answers the new balance. A delta of 0 changes nothing. */
export async function changePoints(
  context: ContactContext,
  change: PointsChange,
  call: Call,
): Promise<number> {
  const operator = OPERATORS.get(change.operator);
  if (!operator) throw badRequest("Invalid operator");
  if (change.delta < 0) throw badRequest("The points must not be negative.");
  const row = await editContact(context, change.id, call, (before, { transaction, now }) => {
    if (change.delta === 0) return before;
    const points = checkedPoints(operator.apply(Number(before.points), change.delta));
    logPoints(transaction, {
      contactId: Number(before.id),
      groupId: null,
      eventName: change.eventName || operator.label,
      actionName: change.actionName,
      delta: operator.logged(change.delta),
      now,
    });
    return { ...before, points: String(points) };
  });
  return Number(row.points);
}
