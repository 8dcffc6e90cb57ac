import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { awaitRows } from "@tidings/resource/await-rows";
import type { Call } from "@tidings/rpc/call";
import { notFound } from "@tidings/rpc/fault";
import { type ContactRow, STAGE_JSON } from "../rows/contact.ts";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";

const stagesStatement = prepared(
  "stages_of_changes",
  `select s.id, ${STAGE_JSON} as value, s.name from stages s where s.id = any (array(select unnest($1::integer[])))`,
);
const logStatement = prepared(
  "stages_log_insert",
  `insert into stages_log (contact_id, stage_id, event_name, action_name, date_added)
   select * from json_to_recordset($1::json) as x (contact_id integer, stage_id integer, event_name text, action_name text,
     date_added timestamptz)`,
);

export interface StageChange {
  id: number;
  stageId: number;
  /** True to leave the present stage. The log names the given stage. */
  isRemoved: boolean;
}

/** Rows of `id`, `value` (JSON as the API shows it) and `name`, by id. */
export async function readStages(transaction: Transaction, ids: number[]): Promise<Map<number, Row>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.query(stagesStatement, [[...new Set(ids)]]);
  return new Map(rows.map((row) => [Number(row.id), row]));
}

/** An entry of the log of stages. */
export interface LoggedStage {
  contactId: number;
  stage: Row;
  isRemoved: boolean;
  /** In the text form of a timestamptz. */
  now: string;
}

/** Writes entries of the log in the transaction of the change. */
export function logStages(transaction: Transaction, entries: LoggedStage[]): void {
  if (entries.length === 0) return;
  const rows = entries.map(({ contactId, stage, isRemoved, now }) => ({
    contact_id: contactId,
    stage_id: Number(stage.id),
    event_name: `${stage.id}: ${stage.name}`,
    action_name: isRemoved ? "Manually Removed" : "Manually Added",
    date_added: now,
  }));
  transaction.execute(logStatement, [JSON.stringify(rows)]);
}

/** A contact that entered a stage; without a stage, one that left it. */
export function applyStage(row: ContactRow, stage: Row | undefined): ContactRow {
  return { ...row, stage_id: stage?.id ?? null, stage: stage?.value ?? null };
}

/** Puts a contact into a stage, or takes it out of its stage, and logs it. Throws NOT_FOUND for an unknown stage. */
export async function setContactStage(
  context: ContactContext,
  { id, stageId, isRemoved }: StageChange,
  call: Call,
): Promise<void> {
  await awaitRows(context.database, "stages", [stageId], call.deadlineMs);
  await editContact(context, id, call, async (row, { transaction, now }) => {
    const stage = (await readStages(transaction, [stageId])).get(stageId);
    if (!stage) throw notFound();
    logStages(transaction, [{ contactId: Number(row.id), stage, isRemoved, now }]);
    return applyStage(row, isRemoved ? undefined : stage);
  });
}
