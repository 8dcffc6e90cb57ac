import type { Outcome } from "@tidings/commands/once";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { dateTimeText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import type { CompanyCommand, PointsCommand, StageCommand } from "@tidings/proto/tidings/contact/v1/command";
import type { Call } from "@tidings/rpc/call";
import { badRequest, Fault, notFound } from "@tidings/rpc/fault";
import { stampEdited } from "../contact/apply.ts";
import { withCompany, withoutCompany, writeCompanyLinks } from "../contact/company-link.ts";
import { contactSaved } from "../contact/events.ts";
import { applyPoints, checkedPoints, type LoggedPoints, logPoints } from "../contact/points.ts";
import type { ContactContext } from "../contact/save.ts";
import { lockScores, type Scores } from "../contact/scores.ts";
import { applyStage, type LoggedStage, logStages, readStages } from "../contact/stage.ts";
import { assertCurrent, type FieldCatalogue } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { companySaved } from "../record/company-events.ts";
import { edited, writeChanges } from "../record/write.ts";
import { companyTable } from "../rows/company.ts";
import { type ContactRow, contactTable } from "../rows/contact.ts";

/** A command that changes the row of a contact, or what is locked with it. */
export interface RowCommand {
  contactId: number;
  effect:
    | { case: "points"; value: PointsCommand }
    | { case: "stage"; value: StageCommand }
    | { case: "company"; value: CompanyCommand };
}

/** Rows that commands name, looked up for all of them at once, and what they change besides the contact. */
interface Editing {
  stages: ReadonlyMap<number, Row>;
  companies: Map<number, Row>;
  scores: Scores;
  points: LoggedPoints[];
  stageLog: LoggedStage[];
  /** In the text form of a timestamptz. */
  now: string;
}

export interface EditRows {
  context: ContactContext;
  catalogue: FieldCatalogue;
  transaction: Transaction;
  call: Call;
}

/**
 * Carries out commands in their order, each on the row that those before it made, with one look-up and one write for all of them.
 * Contacts and companies that are gone are NOT_FOUND.
 */
export async function editRows(
  { context, catalogue, transaction, call }: EditRows,
  commands: RowCommand[],
): Promise<Outcome<number>[]> {
  if (commands.length === 0) return [];
  const set = catalogue.contact;
  const ids = [...new Set(commands.map(({ contactId }) => contactId))];
  const locked = await contactTable.lock(transaction, ids, []);
  assertCurrent(catalogue, locked);
  const before = new Map(locked.map((row) => [Number(row.id), withCustomValues(row, set)]));
  const rows = new Map(before);
  const editing = await lookUp(transaction, commands);
  const outcomes = commands.map(({ contactId, effect }): Outcome<number> => {
    const row = rows.get(contactId);
    if (!row) return { fault: notFound() };
    return outcomeOf(contactId, () => rows.set(contactId, applyEffect(row, effect, editing)));
  });
  const changes = [...before].flatMap(([id, old]) => {
    const row = stampEdited(old, rows.get(id) ?? old, call.actor, editing.now);
    return row === "unchanged" ? [] : [{ before: old, row }];
  });
  writeChanges(transaction, contactTable, set, changes);
  writeCompanyLinks(transaction, changes);
  context.outbox.append(
    transaction,
    changes.map((change) => contactSaved(change, set)),
  );
  logPoints(transaction, editing.points);
  logStages(transaction, editing.stageLog);
  editing.scores.write(context.outbox);
  return outcomes;
}

/** A command fails alone. */
function outcomeOf(contactId: number, carryOut: () => void): Outcome<number> {
  try {
    carryOut();
    return { value: contactId };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fault: error };
  }
}

async function lookUp(transaction: Transaction, commands: RowCommand[]): Promise<Editing> {
  const named = commands.flatMap(({ contactId, effect }) =>
    effect.case === "points" && effect.value.groupId !== undefined
      ? [{ contactId, groupId: effect.value.groupId }]
      : [],
  );
  const stageIds = commands.flatMap(({ effect }) =>
    effect.case === "stage" ? (effect.value.stageId ?? []) : [],
  );
  const companyIds = commands.flatMap(({ effect }) =>
    effect.case === "company" && effect.value.action !== "score" ? effect.value.companyId : [],
  );
  const [scores, stages, companies] = await Promise.all([
    lockScores(transaction, named),
    readStages(transaction, stageIds),
    readCompanies(transaction, companyIds),
  ]);
  return { scores, stages, companies, points: [], stageLog: [], now: dateTimeText(Date.now()) };
}

const companiesStatement = prepared(
  "companies_of_commands",
  `select co.id, co.companyname from companies co
   where co.id = any (array(select unnest($1::integer[]))) order by co.id for share`,
);

async function readCompanies(transaction: Transaction, ids: number[]): Promise<Map<number, Row>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.query(companiesStatement, [[...new Set(ids)]]);
  return new Map(rows.map((row) => [Number(row.id), row]));
}

function applyEffect(row: ContactRow, effect: RowCommand["effect"], editing: Editing): ContactRow {
  switch (effect.case) {
    case "points":
      return changePoints(row, effect.value, editing);
    case "stage":
      return changeStage(row, effect.value, editing);
    case "company":
      return changeCompany(row, effect.value, editing);
  }
}

function changePoints(row: ContactRow, command: PointsCommand, { scores, points, now }: Editing): ContactRow {
  const { operator, delta, groupId, type, eventName, actionName } = command;
  if (groupId === undefined) {
    const { row: changed, logged } = applyPoints(row, { operator, delta, type, eventName, actionName }, now);
    if (logged) points.push(logged);
    return changed;
  }
  const contactId = Number(row.id);
  if (!scores.has(contactId, groupId)) throw notFound("The specified point group was not found.");
  scores.change({ contactId, groupId, operator, value: delta, type, eventName, actionName, now });
  return row;
}

function changeStage(
  row: ContactRow,
  { stageId }: StageCommand,
  { stages, stageLog, now }: Editing,
): ContactRow {
  if (stageId === undefined) return applyStage(row, undefined);
  const stage = stages.get(stageId);
  if (!stage) throw notFound("The stage was not found.");
  stageLog.push({ contactId: Number(row.id), stage, isRemoved: false, now });
  return applyStage(row, stage);
}

function changeCompany(row: ContactRow, command: CompanyCommand, { companies }: Editing): ContactRow {
  const { companyId: id, action } = command;
  if (action === "unlink") return withoutCompany(row, id);
  const company = companies.get(id);
  if (!company) throw notFound("The company was not found.");
  if (action !== "link" && action !== "make_primary") throw badRequest("Invalid action");
  return withCompany(row, { id, name: company.companyname ?? "" }, action === "make_primary");
}

const companiesOfStatement = prepared(
  "companies_of_scored_contacts",
  "select contact_id, company_id from company_contacts where contact_id = any ((select $1::integer[])::integer[])",
);

/** The ids of the companies that each of these contacts belongs to. */
export async function companiesOfContacts(
  transaction: Transaction,
  contactIds: number[],
): Promise<Map<number, number[]>> {
  if (contactIds.length === 0) return new Map();
  const rows = await transaction.query(companiesOfStatement, [contactIds]);
  const byContact = Map.groupBy(rows, ({ contact_id }) => Number(contact_id));
  return new Map(
    [...byContact].map(([id, links]) => [id, links.map(({ company_id }) => Number(company_id))]),
  );
}

/** Adds to the scores of companies, in one set. Companies that are gone are NOT_FOUND. */
export async function addCompanyScores(
  { context, catalogue, transaction, call }: EditRows,
  commands: { contactId: number; companyId: number; score: number }[],
): Promise<Outcome<number>[]> {
  if (commands.length === 0) return [];
  const set = catalogue.company;
  const ids = [...new Set(commands.map(({ companyId }) => companyId))];
  const locked = await companyTable.lock(transaction, ids, []);
  assertCurrent(catalogue, locked);
  const before = new Map(locked.map((row) => [Number(row.id), withCustomValues(row, set)]));
  const scores = new Map([...before].map(([id, row]) => [id, Number(row.score)]));
  const outcomes = commands.map(({ contactId, companyId, score }): Outcome<number> => {
    const present = scores.get(companyId);
    if (present === undefined) return { fault: notFound("The company was not found.") };
    return outcomeOf(contactId, () => scores.set(companyId, checkedPoints(present + score)));
  });
  const now = dateTimeText(Date.now());
  const changes = [...before].flatMap(([id, old]) => {
    const score = String(scores.get(id));
    return score === old.score ? [] : [{ before: old, row: edited({ ...old, score }, call.actor, now) }];
  });
  writeChanges(transaction, companyTable, set, changes);
  context.outbox.append(
    transaction,
    changes.map((change) => companySaved(change, set)),
  );
  return outcomes;
}
