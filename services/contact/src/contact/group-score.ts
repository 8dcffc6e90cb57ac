import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { GroupScoreChangedSchema } from "@tidings/proto/tidings/contact/v1/events";
import type {
  ChangeGroupScoreRequest,
  GroupScoreService,
} from "@tidings/proto/tidings/contact/v1/group_score";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { awaitRows } from "@tidings/store/await-rows";
import { prepared, type Row } from "@tidings/store/database";
import { domainEvent } from "@tidings/store/outbox";
import { editContact } from "./edit.ts";
import { checkedPoints, logPoints, OPERATORS } from "./points.ts";
import { reachedContacts, visibleContact } from "./referred.ts";
import type { ContactContext } from "./save.ts";

/** More are counted, and not shown. */
const SCORES_MAX = 1_000;

const NO_CONTACT = "Contact could not be found.";

const listStatement = prepared(
  "group_scores_list",
  `select s.score, g.id, g.name, g.description, count(*) over () as total
   from contact_group_scores s join point_groups g on g.id = s.group_id
   where s.contact_id = $1 order by g.id limit ${SCORES_MAX}`,
);
/** A group, and what a contact has in it; a change waits for one that is deleted, and a deletion for the change. */
const SCORE = `select s.score, s.version, g.id, g.name, g.description from point_groups g
  left join contact_group_scores s on s.group_id = g.id and s.contact_id = $1 where g.id = $2`;
const getStatement = prepared("group_scores_get", SCORE);
const lockStatement = prepared("group_scores_lock", `${SCORE} for key share of g`);
const setStatement = prepared(
  "group_scores_set",
  `insert into contact_group_scores (contact_id, group_id, score, version) values ($1, $2, $3, $4)
   on conflict (contact_id, group_id) do update set score = excluded.score, version = excluded.version`,
);

/** What a contact has of points that are counted for groups. */
export function groupScoreHandlers(context: ContactContext): Handlers<typeof GroupScoreService> {
  const { database } = context;
  return {
    async listGroupScores({ contactId }, call) {
      const id = await visibleContact(database, contactId, call, NO_CONTACT);
      const rows = await database.query(listStatement, [id], call.deadlineMs);
      return { scores: rows.map(scoreOf), totalSize: Number(rows[0]?.total ?? 0) };
    },

    async getGroupScore({ contactId, groupId }, call) {
      const id = await visibleContact(database, contactId, call, NO_CONTACT);
      await awaitGroup(context, groupId, call);
      const [row] = await database.query(getStatement, [id, groupId], call.deadlineMs);
      return responseOf(row);
    },

    async changeGroupScore(change, call) {
      if (!isOperator(change.operator)) throw badRequest("The requested operation is not permitted.");
      await reachedContacts(database, [change.contactId], call, Verb.EDIT, NO_CONTACT);
      await awaitGroup(context, change.groupId, call);
      return responseOf(await changeScore(context, change, call));
    },
  };
}

function isOperator(name: string): boolean {
  return name === "set" || OPERATORS.has(name);
}

/** Of a group that somebody made a moment ago we hear soon. Throws NOT_FOUND for one that the caller may not see. */
async function awaitGroup({ database }: ContactContext, groupId: number, call: Call): Promise<void> {
  if (reach(call.actor, "point:groups", Verb.VIEW) === "none") throw noGroup();
  await awaitRows(database, "point_groups", [groupId], call.deadlineMs);
}

/** The contact is locked, and so nothing else changes its scores. */
async function changeScore(
  context: ContactContext,
  { contactId, groupId, operator, value, eventName, actionName }: ChangeGroupScoreRequest,
  call: Call,
): Promise<Row | undefined> {
  let changed: Row | undefined;
  await editContact(context, contactId, call, async (contact, { transaction, now }) => {
    const id = Number(contact.id);
    const [row] = await transaction.query(lockStatement, [id, groupId]);
    if (!row) throw noGroup();
    changed = row;
    const before = Number(row.score ?? 0);
    const step = stepOf(operator, value, before);
    const isNew = operator === "set" && row.score === null;
    if (!step || (step.score === before && !isNew)) return contact;
    const score = checkedPoints(step.score);
    const version = Number(row.version ?? 0) + 1;
    changed = { ...row, score: String(score) };
    transaction.execute(setStatement, [id, groupId, score, version]);
    const names = { eventName: eventName || "Manual change", actionName };
    logPoints(transaction, { contactId: id, groupId, ...names, delta: checkedPoints(step.delta), now });
    const told = { contactId: id, groupId, oldScore: before, newScore: score };
    context.outbox.append(transaction, [
      domainEvent(
        "tidings.contact.contact.group_score_changed",
        { id, version },
        GroupScoreChangedSchema,
        told,
      ),
    ]);
    return contact;
  });
  return changed;
}

/** What the score becomes and what the log says of it; undefined for what changes nothing. */
function stepOf(name: string, value: number, before: number): { score: number; delta: number } | undefined {
  if (name === "set") return { score: value, delta: value - before };
  const operator = OPERATORS.get(name);
  if (!operator || value === 0) return undefined;
  return { score: operator.apply(before, value), delta: operator.logged(value) };
}

function responseOf(row: Row | undefined) {
  if (!row) throw noGroup();
  return row.score === null || row.score === undefined ? {} : { score: scoreOf(row) };
}

function scoreOf({ score, id, name, description }: Row) {
  const group = { id: Number(id), name: name ?? "", ...(description != null && { description }) };
  return { score: Number(score), group };
}

function noGroup() {
  return notFound("The specified point group was not found.");
}
