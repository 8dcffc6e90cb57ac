import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Result } from "@tidings/jobs/work";
import { domainEvent, type Outbox } from "@tidings/messaging/outbox";
import { EmailSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { slices } from "@tidings/runtime/slices";
import type { SendOutcome } from "./hand-over.ts";
import { outcomeValues, recordedRows } from "./record-outcomes.ts";
import { keepRefusal, type Refusal, RefusalReason } from "./refusals.ts";
import type { Send } from "./send-queue.ts";
import { SendState } from "./send-tables.ts";

/** The columns of a send that its fact carries. */
export const FACT_COLUMNS =
  "hash, version, contact_id, email_id, date_queued, date_sent, date_read, open_count";
const FACTS_MAX = 500;

const recordStatement = prepared(
  "sends_record",
  `with ${recordedRows("sends", "version = s.version + 1")}, counted as (
     update emails e set sent_count = e.sent_count + c.sent,
       variant_sent_count = e.variant_sent_count + case when e.variant_start_date is null then 0 else c.sent end
     from (select email_id, count(*)::integer as sent from recorded where state = 'sent' group by email_id order by email_id) c
     where e.id = c.email_id
   )
   select id, state, ${FACT_COLUMNS} from recorded`,
);

/** Records what became of sends, with the events of those that went out. Those that this process lost meanwhile stay as they are. */
export async function recordSends(
  database: Database,
  outbox: Outbox,
  results: Result<Send, SendOutcome>[],
): Promise<void> {
  await database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      const rows = await transaction.query(recordStatement, outcomeValues(results));
      const recorded = new Set(rows.map(({ id }) => id ?? ""));
      for (const { job, outcome } of results)
        if (outcome.isBadAddress && recorded.has(job.id)) keepRefusal(transaction, bounceOf(job, outcome));
      outbox.append(
        transaction,
        sendEvents(
          "sent",
          rows.filter(({ state }) => state === SendState.SENT),
        ),
      );
    },
    { byIndex: true },
  );
}

const COMMENTS_LENGTH_MAX = 200;

/** The contact is not written to again until its address is another one (engines.md 6.3). */
function bounceOf({ contactId, emailId }: Send, { reason = "" }: SendOutcome): Refusal {
  const comments = reason.slice(0, COMMENTS_LENGTH_MAX);
  return { contactId, channel: "email", reason: RefusalReason.BOUNCED, channelId: emailId, comments };
}

/** Events of sends that changed, each with up to 500 of them. */
export function sendEvents(verb: "queued" | "sent" | "opened", rows: Row[]) {
  return [...slices(rows, FACTS_MAX)].map((slice) =>
    domainEvent(
      `tidings.content.email.${verb}`,
      { id: Number(slice[0]?.email_id), version: 1 },
      EmailSendsSchema,
      sendsOf(slice),
    ),
  );
}

/** Sends as their event carries them. */
export function sendsOf(rows: Row[]) {
  return {
    sends: rows.map((row) => ({
      id: row.hash ?? "",
      version: Number(row.version),
      contactId: Number(row.contact_id),
      emailId: Number(row.email_id),
      ...timeIn("dateQueued", row.date_queued),
      ...timeIn("dateSent", row.date_sent),
      ...timeIn("dateRead", row.date_read),
      readCount: Number(row.open_count),
    })),
  };
}

function timeIn(name: string, value: string | null | undefined) {
  return value ? { [name]: timestampFromText(value) } : {};
}
