import type { Call } from "@tidings/rpc/call";
import { notFound } from "@tidings/rpc/fault";
import { awaitRows } from "@tidings/store/await-rows";
import { prepared } from "@tidings/store/database";
import { STAGE_JSON } from "../rows/contact.ts";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";

const getStatement = prepared("stages_get", `select ${STAGE_JSON} as value from stages s where s.id = $1`);

/** Puts a contact into a stage, or out of whatever stage it is in. Throws NOT_FOUND for an unknown stage. */
export async function setContactStage(
  context: ContactContext,
  { id, stageId }: { id: number; stageId: number | undefined },
  call: Call,
): Promise<void> {
  if (stageId !== undefined) await awaitRows(context.database, "stages", [stageId], call.deadlineMs);
  await editContact(context, id, call, async (row, { transaction }) => {
    if (stageId === undefined) return { ...row, stage_id: null, stage: null };
    const [stage] = await transaction.query(getStatement, [stageId]);
    if (!stage?.value) throw notFound();
    return { ...row, stage_id: String(stageId), stage: stage.value };
  });
}
