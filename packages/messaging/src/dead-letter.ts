import type { DeadLetter } from "@tidings/bus/handle-batch";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { toFault } from "@tidings/rpc/fault";
import { Counter } from "prom-client";

const kept = new Counter({
  name: "tidings_dead_letters_total",
  help: "Events that were tried often enough and are kept as dead letters, by what was wrong",
  labelNames: ["durable", "reason"],
});

const insertDeadLetter = prepared(
  "dead_letter_insert",
  `insert into dead_letter (consumer, event_id, subject, payload, headers, error, attempts)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (consumer, event_id) do update
   set error = excluded.error, attempts = excluded.attempts, retry_at = null`,
);

/** Keeps an event that could not be handled or published, with what went wrong, for an operator to look at. */
export async function keepDeadLetter(
  database: Database,
  consumer: string,
  letter: DeadLetter,
): Promise<void> {
  const { text, reason } = whatWentWrong(letter.error);
  await database.query(
    insertDeadLetter,
    [
      consumer,
      letter.id,
      letter.subject,
      Buffer.from(letter.payload),
      JSON.stringify(letter.headers),
      text,
      letter.attempts,
    ],
    backgroundDeadline(),
  );
  kept.inc({ durable: consumer, reason });
}

/** For an operator: with the cause, which no caller sees. */
export function whatWentWrong(error: unknown): { text: string; reason: string } {
  const { cause, message, reason } = toFault(error);
  return { text: cause instanceof Error ? `${message} ${cause.message}` : message, reason };
}
