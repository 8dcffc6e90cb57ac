import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { domainEvent, type Outbox } from "@tidings/messaging/outbox";
import { GroupScoreChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { checkedPoints, type LoggedPoints, logPoints, OPERATORS } from "./points.ts";

export interface ScoreChange {
  contactId: number;
  groupId: number;
  /** An operator of points, or `set`. */
  operator: string;
  value: number;
  type: string;
  eventName: string;
  actionName: string;
  /** In the text form of a timestamptz. */
  now: string;
}

/** The scores of contacts in groups while a transaction changes them. The contacts are locked. */
export interface Scores {
  /** Does the group exist? */
  has(contactId: number, groupId: number): boolean;
  /** The group with the present score; null where the contact has none. */
  row(contactId: number, groupId: number): Row | undefined;
  /** Throws INVALID_ARGUMENT where the score would be too large. */
  change(change: ScoreChange): void;
  /** Writes changed scores, their log and their events. */
  write(outbox: Outbox): void;
}

/** A group that is deleted at the same time waits for the change, and the change for the deletion. */
const lockStatement = prepared(
  "group_scores_lock",
  `select asked.contact_id, s.score, s.version, g.id, g.name, g.description
   from unnest((select $1::integer[]), (select $2::integer[])) as asked (contact_id, group_id)
   join point_groups g on g.id = asked.group_id
   left join contact_group_scores s on s.group_id = g.id and s.contact_id = asked.contact_id
   order by g.id for key share of g`,
);
const setStatement = prepared(
  "group_scores_set",
  `insert into contact_group_scores (contact_id, group_id, score, version)
   select * from json_to_recordset($1::json) as x (contact_id integer, group_id integer, score integer, version integer)
   order by contact_id, group_id
   on conflict (contact_id, group_id) do update set score = excluded.score, version = excluded.version`,
);

export async function lockScores(
  transaction: Transaction,
  pairs: { contactId: number; groupId: number }[],
): Promise<Scores> {
  const keyOf = (contactId: number, groupId: number) => `${contactId} ${groupId}`;
  const distinct = [...new Map(pairs.map((pair) => [keyOf(pair.contactId, pair.groupId), pair])).values()];
  const found =
    distinct.length === 0
      ? []
      : await transaction.query(lockStatement, [
          distinct.map(({ contactId }) => contactId),
          distinct.map(({ groupId }) => groupId),
        ]);
  const rows = new Map(found.map((row) => [keyOf(Number(row.contact_id), Number(row.id)), row]));
  const before = new Map(rows);
  const logged: LoggedPoints[] = [];
  return {
    has: (contactId, groupId) => rows.has(keyOf(contactId, groupId)),
    row: (contactId, groupId) => rows.get(keyOf(contactId, groupId)),
    change({ contactId, groupId, operator, value, ...entry }) {
      const key = keyOf(contactId, groupId);
      const row = rows.get(key);
      if (!row) return;
      const score = Number(row.score ?? 0);
      const step = stepOf(operator, value, score);
      const isNew = operator === "set" && row.score === null;
      if (!step || (step.score === score && !isNew)) return;
      const delta = checkedPoints(step.delta);
      rows.set(key, { ...row, score: String(checkedPoints(step.score)) });
      logged.push({ contactId, groupId, delta, ...entry });
    },
    write(outbox) {
      const changed = [...rows].flatMap(([key, row]) => {
        const old = before.get(key);
        if (!old || old === row) return [];
        const [contactId, groupId] = [Number(row.contact_id), Number(row.id)];
        return [{ contactId, groupId, old, score: Number(row.score), version: Number(row.version ?? 0) + 1 }];
      });
      if (changed.length === 0) return;
      const written = changed.map(({ contactId, groupId, score, version }) => ({
        contact_id: contactId,
        group_id: groupId,
        score,
        version,
      }));
      transaction.execute(setStatement, [JSON.stringify(written)]);
      logPoints(transaction, logged);
      outbox.append(transaction, changed.map(scoreChanged));
    },
  };
}

interface ChangedScore {
  contactId: number;
  groupId: number;
  old: Row;
  score: number;
  version: number;
}

function scoreChanged({ contactId, groupId, old, score, version }: ChangedScore) {
  return domainEvent(
    "tidings.contact.contact.group_score_changed",
    { id: contactId, version },
    GroupScoreChangedSchema,
    { contactId, groupId, oldScore: Number(old.score ?? 0), newScore: score },
  );
}

/** The new score and the difference that is logged; undefined when nothing changes. */
function stepOf(name: string, value: number, before: number): { score: number; delta: number } | undefined {
  if (name === "set") return { score: value, delta: value - before };
  const operator = OPERATORS.get(name);
  if (!operator || value === 0) return undefined;
  return { score: operator.apply(before, value), delta: operator.logged(value) };
}
