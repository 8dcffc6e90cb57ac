import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Result } from "@tidings/jobs/work";
import { type AttachedMail, recordAttached } from "../asset/record-attached.ts";
import type { SendOutcome } from "./hand-over.ts";
import { keepMailValues } from "./mail-values.ts";
import { moveOn } from "./move-on.ts";
import { eventsOfDecided, outcomeValues, type RecordOptions, recordedRows } from "./record-outcomes.ts";
import { keepRefusals, type Refusal, RefusalReason } from "./refusals.ts";
import { emailsOfSends, FACT_COLUMNS, sendEvents } from "./send-facts.ts";
import type { Send } from "./send-queue.ts";
import { SendState } from "./send-tables.ts";

const recordStatement = prepared(
  "sends_record",
  `with ${recordedRows("sends", ["version = s.version + 1"])}, counted as (
     update emails e set sent_count = e.sent_count + c.sent,
       variant_sent_count = e.variant_sent_count + case when e.variant_start_date is null then 0 else c.sent end
     from (select email_id, count(*)::integer as sent from recorded where state = 'sent' group by email_id order by email_id) c
     where e.id = c.email_id
   )
   select id, ${FACT_COLUMNS} from recorded`,
);

/** Records what became of sends, with the events of those that are decided. Those that this process lost meanwhile stay as they are. */
export async function recordSends(
  { database, outbox, wake }: RecordOptions,
  results: Result<Send, SendOutcome>[],
): Promise<void> {
  await database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      const [rows, emails] = await Promise.all([
        transaction.query(recordStatement, outcomeValues(results)),
        emailsOfSends(
          transaction,
          results.map(({ job }) => job.emailId),
        ),
      ]);
      const recorded = new Set(rows.map(({ id }) => id ?? ""));
      const bounced = results.filter(({ job, outcome }) => outcome.isBadAddress && recorded.has(job.id));
      await keepRefusals(
        transaction,
        bounced.map(({ job, outcome }) => bounceOf(job, outcome)),
      );
      keepMailValues(transaction, leftWithValues(results, rows));
      await recordAttached(transaction, outbox, leftWithAssets(results, rows));
      moveOn(transaction, rows, wake);
      outbox.append(
        transaction,
        eventsOfDecided(rows, (state, decided) => sendEvents(state, decided, emails)),
      );
    },
    { byIndex: true },
  );
}

/** Values of mails that went out, or may have. */
function leftWithValues(
  results: Result<Send, SendOutcome>[],
  rows: Row[],
): { hash: string; values: string }[] {
  const hashes = new Map(rows.map(({ id, hash }) => [id, hash]));
  return results.flatMap(({ job, outcome: { state, mailValues: values } }) => {
    const hash = hashes.get(job.id);
    const mayHaveLeft = state === SendState.SENT || state === SendState.UNKNOWN;
    return hash && values !== undefined && mayHaveLeft ? [{ hash, values }] : [];
  });
}

/** Mails that went out with assets. */
function leftWithAssets(results: Result<Send, SendOutcome>[], rows: Row[]): AttachedMail[] {
  const sent = new Map(rows.flatMap((row) => (row.state === SendState.SENT ? [[row.id, row]] : [])));
  return results.flatMap(({ job, outcome: { assetIds = [] } }) => {
    const row = sent.get(job.id);
    return row && assetIds.length > 0
      ? { contactId: Number(row.contact_id), emailId: Number(row.email_id), assetIds }
      : [];
  });
}

const COMMENTS_LENGTH_MAX = 200;

/** The contact is not written to again until its address is another one (engines.md 6.3). */
function bounceOf({ contactId, emailId }: Send, { reason = "" }: SendOutcome): Refusal {
  const comments = reason.slice(0, COMMENTS_LENGTH_MAX);
  return { contactId, channel: "email", reason: RefusalReason.BOUNCED, channelId: emailId, comments };
}
