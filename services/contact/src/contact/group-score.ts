import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type {
  ChangeGroupScoreRequest,
  GroupScoreService,
} from "@tidings/proto/tidings/contact/v1/group_score";
import { awaitRows } from "@tidings/resource/await-rows";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, notFound } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { editContact } from "./edit.ts";
import { OPERATORS } from "./points.ts";
import { reachedContacts, visibleContact } from "./referred.ts";
import type { ContactContext } from "./save.ts";
import { lockScores } from "./scores.ts";

/** More are counted, and not shown. */
const SCORES_MAX = 1_000;

const NO_CONTACT = "Contact could not be found.";

const listStatement = prepared(
  "group_scores_list",
  `select s.score, g.id, g.name, g.description, count(*) over () as total
   from contact_group_scores s join point_groups g on g.id = s.group_id
   where s.contact_id = $1 order by g.id limit ${SCORES_MAX}`,
);
const getStatement = prepared(
  "group_scores_get",
  `select s.score, s.version, g.id, g.name, g.description from point_groups g
   left join contact_group_scores s on s.group_id = g.id and s.contact_id = $1 where g.id = $2`,
);

/** Scores of contacts in groups. */
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

/** Waits for the replica of a group that was made a moment ago. Throws NOT_FOUND for one that the caller may not see. */
async function awaitGroup({ database }: ContactContext, groupId: number, call: Call): Promise<void> {
  if (reach(call.actor, "point:groups", Verb.VIEW) === "none") throw noGroup();
  await awaitRows(database, "point_groups", [groupId], call.deadlineMs);
}

/** The contact is locked, so nothing else changes its scores. */
async function changeScore(
  context: ContactContext,
  { contactId, groupId, operator, value, eventName, actionName }: ChangeGroupScoreRequest,
  call: Call,
): Promise<Row | undefined> {
  let changed: Row | undefined;
  await editContact(context, contactId, call, async (contact, { transaction, now }) => {
    const id = Number(contact.id);
    const scores = await lockScores(transaction, [{ contactId: id, groupId }]);
    if (!scores.has(id, groupId)) throw noGroup();
    const names = { type: "API", eventName: eventName || "Manual change", actionName };
    scores.change({ contactId: id, groupId, operator, value, ...names, now });
    scores.write(context.outbox);
    changed = scores.row(id, groupId);
    return contact;
  });
  return changed;
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
