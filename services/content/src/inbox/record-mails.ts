import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { noteRecorded } from "../callback/callback-metrics.ts";
import { eventKey, takeNew } from "../callback/event-keys.ts";
import { recordFeedback } from "../callback/record-feedback.ts";
import { recordOpensIn } from "../send/record-opens.ts";
import type { Answer, ReadMail } from "./inbox-feedback.ts";
import { INBOX } from "./inbox-metrics.ts";

/** Records mails that were read: each once, however often it is read. Answers the hashes of sends that were answered. */
export async function recordMails(
  database: Database,
  outbox: Outbox,
  mails: ReadMail[],
): Promise<ReadonlySet<string>> {
  const feedback = mails.flatMap((mail) => mail.feedback);
  if (feedback.length > 0)
    noteRecorded(INBOX, await recordFeedback(database, outbox, { provider: INBOX, events: feedback }));
  const answers = mails.flatMap(({ answer }) => answer ?? []);
  return answers.length > 0 ? recordAnswers(database, outbox, answers) : new Set();
}

const sendsStatement = prepared("sends_answered", "select hash from sends where hash = any($1::uuid[])");

async function recordAnswers(
  database: Database,
  outbox: Outbox,
  answers: Answer[],
): Promise<ReadonlySet<string>> {
  const keyed = new Map(
    answers.map((answer) => [eventKey(INBOX, "reply", answer.hash, answer.messageId), answer]),
  );
  return database.transaction(backgroundDeadline(), async (transaction) => {
    const hashes = answers.map(({ hash }) => hash);
    const known = new Set((await transaction.query(sendsStatement, [hashes])).map(({ hash }) => hash ?? ""));
    const ours = [...keyed].filter(([, { hash }]) => known.has(hash)).map(([key]) => key);
    const fresh = (await takeNew(transaction, ours)).flatMap((key) => keyed.get(key) ?? []);
    await recordOpensIn(
      transaction,
      outbox,
      fresh.map((answer) => ({ ...answer, by: "reply" })),
    );
    return known;
  });
}
