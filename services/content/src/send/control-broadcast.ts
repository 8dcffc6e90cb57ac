import { type Database, prepared } from "@tidings/database/database";
import { badRequest, conflict } from "@tidings/rpc/fault";
import { wakeBroadcast } from "./broadcast.ts";

const STATEMENTS = new Map(
  Object.entries({
    pause: "is_paused = true",
    resume: "is_paused = false",
    cancel: "is_paused = false, state = 'cancelling'",
  }).map(([action, change]) => [
    action,
    prepared(
      `broadcasts_${action}`,
      `update broadcasts set ${change} where id = $1::uuid and email_id = $2::integer and finished_at is null and state <> 'cancelling' returning id`,
    ),
  ]),
);

/** Pauses, resumes or cancels a broadcast. Nothing of it begins after a pause; what is begun ends. Throws ABORTED for one that is over. */
export async function controlBroadcast(
  database: Database,
  { emailId, id, action }: { emailId: number; id: string; action: string },
  deadlineMs: number,
): Promise<void> {
  const statement = STATEMENTS.get(action);
  if (!statement) throw badRequest("A broadcast can be paused, resumed and cancelled.");
  await database.transaction(deadlineMs, async (transaction) => {
    const changed = await transaction.query(statement, [id, emailId]);
    if (changed.length === 0) throw conflict("The send has ended.");
    wakeBroadcast(transaction, id);
  });
}
