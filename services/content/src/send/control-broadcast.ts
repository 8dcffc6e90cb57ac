import { type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { badRequest, conflict } from "@tidings/rpc/fault";
import { type BroadcastKind, EMAIL_BROADCASTS, SMS_BROADCASTS, wakeBroadcast } from "./broadcast-kind.ts";
import { sendAction } from "./send-action.ts";

const CHANGES = {
  pause: "is_paused = true",
  resume: "is_paused = false",
  cancel: "is_paused = false, state = 'cancelling'",
};
const statementsOf = ({ item }: BroadcastKind) =>
  new Map(
    Object.entries(CHANGES).map(([action, change]) => [
      action,
      prepared(
        `broadcasts_${action}_${item}`,
        `update broadcasts set ${change} where id = $1::uuid and ${item} = $2::integer and finished_at is null and state <> 'cancelling' returning id`,
      ),
    ]),
  );
const STATEMENTS = { email: statementsOf(EMAIL_BROADCASTS), sms: statementsOf(SMS_BROADCASTS) };

function isChange(action: string): action is keyof typeof CHANGES {
  return Object.hasOwn(CHANGES, action);
}

/** Pauses, resumes or cancels a broadcast. Nothing of it begins after a pause; what is begun ends. Throws ABORTED for one that is over. */
export async function controlBroadcast(
  { database, outbox }: { database: Database; outbox: Outbox },
  kind: BroadcastKind,
  { itemId, id, action }: { itemId: number; id: string; action: string },
  deadlineMs: number,
): Promise<void> {
  const statement = isChange(action) && STATEMENTS[kind.channel].get(action);
  if (!statement) throw badRequest("A broadcast can be paused, resumed and cancelled.");
  await database.transaction(deadlineMs, async (transaction) => {
    const changed = await transaction.query(statement, [id, itemId]);
    if (changed.length === 0) throw conflict("The send has ended.");
    outbox.append(transaction, [sendAction(kind.channel, itemId, action, { send: id })]);
    wakeBroadcast(kind, transaction, id);
  });
}
