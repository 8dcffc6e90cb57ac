import type { Call } from "@tidings/rpc/call";
import { badRequest } from "@tidings/rpc/fault";
import { prepared } from "@tidings/store/database";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";

export interface PointsChange {
  id: number;
  operator: string;
  delta: number;
  eventName: string;
  actionName: string;
}

interface Operator {
  label: string;
  apply(points: number, delta: number): number;
  /** What the log keeps: signed for changes by an amount. */
  logged(delta: number): number;
}

/** A map and not an object: `constructor` is a name every object knows. */
const OPERATORS = new Map<string, Operator>([
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
  `insert into points_log (contact_id, type, event_name, action_name, delta, date_added)
   values ($1, 'API', $2, $3, $4, $5)`,
);

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
    const points = operator.apply(Number(before.points), change.delta);
    if (Math.abs(points) >= 2 ** 31) throw badRequest("The points would be too many.");
    transaction.execute(logStatement, [
      Number(before.id),
      (change.eventName || operator.label).slice(0, NAME_LENGTH_MAX),
      (change.actionName || "API").slice(0, NAME_LENGTH_MAX),
      operator.logged(change.delta),
      now,
    ]);
    return { ...before, points: String(points) };
  });
  return Number(row.points);
}
