import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Result } from "@tidings/jobs/work";
import type { SendOutcome } from "../send/hand-over.ts";
import { moveOn } from "../send/move-on.ts";
import { eventsOfDecided, outcomeValues, type RecordOptions, recordedRows } from "../send/record-outcomes.ts";
import { providerIdIn } from "./provider-id.ts";
import type { TextFacts } from "./text-facts.ts";
import type { TextSend } from "./text-queue.ts";

/** Records what became of messages, with the events of those that are decided. Those that this process lost meanwhile stay as they are. */
export type RecordTexts = (options: RecordOptions, results: Result<TextSend, SendOutcome>[]) => Promise<void>;

export function textRecorder({
  channel: { table, items, item },
  columns,
  itemsOf,
  events,
}: TextFacts): RecordTexts {
  const statement = prepared(
    `${table}_record`,
    `with answered as (
       select * from unnest($1::bigint[], $9::text[], $10::text[]) as a (id, provider_id, answer)
     ), ${recordedRows(table, ["version = s.version + 1", answered("provider_id"), answered("answer")])}, counted as (
       update ${items} i set sent_count = i.sent_count + c.sent
       from (select ${item}, count(*)::integer as sent from recorded where state = 'sent' group by ${item} order by ${item}) c
       where i.id = c.${item}
     )
     select id, ${columns} from recorded`,
  );
  return ({ database, outbox, wake }, results) =>
    database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        const ids = results.map(({ job }) => job.itemId);
        const [rows, named] = await Promise.all([
          transaction.query(statement, [...outcomeValues(results), ...answerValues(results)]),
          itemsOf(transaction, ids),
        ]);
        moveOn(transaction, rows, wake);
        outbox.append(
          transaction,
          eventsOfDecided(rows, (state, decided) => events(state, decided, named)),
        );
      },
      { byIndex: true },
    );
}

function answered(column: string): string {
  return `${column} = (select a.${column} from answered a where a.id = s.id)`;
}

function answerValues(results: Result<TextSend, SendOutcome>[]): (string | null)[][] {
  const answers = results.map(({ outcome }) => outcome.answer || null);
  return [answers.map((answer) => (answer === null ? null : providerIdIn(answer))), answers];
}
