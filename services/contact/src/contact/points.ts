import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { badRequest, denied, notFound } from "@tidings/rpc/fault";
import { prepared } from "@tidings/store/database";
import { dateTimeText } from "../field/value.ts";
import { withCustomValues } from "../field/values.ts";
import { mayReach } from "../record/reach.ts";
import { contactEvents } from "./events.ts";
import { CONTACT_SELECT } from "./row.ts";
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
  /** The new balance, from `c.points` and the delta `$2`. */
  sql: string;
  /** What the log keeps: signed for changes by an amount. */
  logged(delta: number): number;
}

/** Maps and not objects: `constructor` is a name every object knows. */
const OPERATORS = new Map<string, Operator>([
  ["plus", { label: "add (+)", sql: "c.points + $2::integer", logged: (delta) => delta }],
  ["minus", { label: "subtract (-)", sql: "c.points - $2::integer", logged: (delta) => -delta }],
  ["times", { label: "multiply (x)", sql: "c.points * $2::integer", logged: (delta) => delta }],
  [
    "divide",
    {
      label: "divide (/)",
      sql: "round(c.points::numeric / $2::integer)::integer",
      logged: (delta) => delta,
    },
  ],
]);

const NAME_LENGTH_MAX = 191;

/** The balance changes where it stands, in one statement: parallel changes add up. */
const changeStatements = new Map(
  [...OPERATORS].map(([name, operator]) => [
    name,
    prepared(
      `contacts_points_${name}`,
      `with old as (select id, points, version, date_modified from contacts where id = $1 for update)
       update contacts c set points = ${operator.sql}, version = c.version + 1,
         date_modified = $3::timestamptz, modified_by = $4::integer, modified_by_user = $5
       from old where c.id = old.id
       returning ${CONTACT_SELECT}, old.points as old_points`,
    ),
  ]),
);

const getStatement = prepared(
  "contacts_points_get",
  `select ${CONTACT_SELECT} from contacts c where c.id = $1`,
);

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
  const statement = changeStatements.get(change.operator);
  if (!operator || !statement) throw badRequest("Invalid operator");
  if (change.delta < 0) throw badRequest("The points must not be negative.");
  const now = dateTimeText(Date.now());
  const { contact: set } = await context.catalogues.current();
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const isChange = change.delta !== 0;
    const [row] = isChange
      ? await transaction.query(statement, [change.id, change.delta, now, call.actor.id, call.actor.name])
      : await transaction.query(getStatement, [change.id]);
    if (!row || !mayReach(call, Verb.VIEW, row, "owner_id")) throw notFound();
    if (!mayReach(call, Verb.EDIT, row, "owner_id")) throw denied();
    if (!isChange) return Number(row.points);
    const { old_points: oldPoints = null, ...after } = withCustomValues(row, set);
    const before = { ...after, points: oldPoints };
    transaction.execute(logStatement, [
      change.id,
      (change.eventName || operator.label).slice(0, NAME_LENGTH_MAX),
      (change.actionName || "API").slice(0, NAME_LENGTH_MAX),
      operator.logged(change.delta),
      now,
    ]);
    context.outbox.append(transaction, contactEvents({ before, row: after }, set));
    return Number(after.points);
  });
}
