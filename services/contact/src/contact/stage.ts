import type { Call } from "@tidings/rpc/call";
import { notFound } from "@tidings/rpc/fault";
import { awaitRows } from "@tidings/store/await-rows";
import { prepared } from "@tidings/store/database";
import { STAGE_JSON } from "../rows/contact.ts";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";

const getStatement = prepared(
  "stages_get",
  `select ${STAGE_JSON} as value, s.name from stages s where s.id = $1`,
);
const logStatement = prepared(
  "stages_log_insert",
  `insert into stages_log (contact_id, stage_id, event_name, action_name, date_added) values ($1, $2, $3, $4, $5)`,
);

export interface StageChange {
  id: number;
  stageId: number;
  /** Out of whatever stage the contact is in; the log has the one that was named. */
  isRemoved: boolean;
}

/** Puts a contact into a stage, or out of the one it is in, and logs it. Throws NOT_FOUND for an unknown stage. */
export async function setContactStage(
  context: ContactContext,
  { id, stageId, isRemoved }: StageChange,
  call: Call,
): Promise<void> {
  await awaitRows(context.database, "stages", [stageId], call.deadlineMs);
  await editContact(context, id, call, async (row, { transaction, now }) => {
    const [stage] = await transaction.query(getStatement, [stageId]);
    if (!stage?.value) throw notFound();
    const event = `${stageId}: ${stage.name}`;
    const action = isRemoved ? "Manually Removed" : "Manually Added";
    transaction.execute(logStatement, [Number(row.id), stageId, event, action, now]);
    if (isRemoved) return { ...row, stage_id: null, stage: null };
    return { ...row, stage_id: String(stageId), stage: stage.value };
  });
}
