import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Result } from "@tidings/jobs/work";
import type { SendOutcome } from "../send/hand-over.ts";
import { moveOn } from "../send/move-on.ts";
import { outcomeValues, type RecordOptions, recordedRows } from "../send/record-outcomes.ts";
import { SendState } from "../send/send-tables.ts";
import { smsesOfSends, TEXT_COLUMNS, textEvents } from "./text-facts.ts";
import type { TextSend } from "./text-queue.ts";

const recordStatement = prepared(
  "text_sends_record",
  `with ${recordedRows("text_sends", ["version = s.version + 1"])}, counted as (
     update smses s set sent_count = s.sent_count + c.sent
     from (select sms_id, count(*)::integer as sent from recorded where state = 'sent' group by sms_id order by sms_id) c
     where s.id = c.sms_id
   )
   select id, ${TEXT_COLUMNS} from recorded`,
);

/** States whose sends have events: nothing becomes of them any more. */
const PUBLISHED = [SendState.SENT, SendState.FAILED, SendState.SUPPRESSED] as const;

/** Records what became of text messages, with the events of those that are decided. Those that this process lost meanwhile stay as they are. */
export async function recordTexts(
  { database, outbox, wake }: RecordOptions,
  results: Result<TextSend, SendOutcome>[],
): Promise<void> {
  await database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      const ids = results.map(({ job }) => job.smsId);
      const [rows, smses] = await Promise.all([
        transaction.query(recordStatement, outcomeValues(results)),
        smsesOfSends(transaction, ids),
      ]);
      moveOn(transaction, rows, wake);
      const became = (published: string) => rows.filter(({ state }) => state === published);
      outbox.append(
        transaction,
        PUBLISHED.flatMap((state) => textEvents(state, became(state), smses)),
      );
    },
    { byIndex: true },
  );
}
