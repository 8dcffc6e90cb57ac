import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { eventKey } from "../callback/event-keys.ts";
import { type Sent, takeEvents } from "../callback/take-events.ts";
import { keepRefusals } from "../send/refusals.ts";
import { recordReplies } from "./record-replies.ts";
import { recordReports } from "./record-reports.ts";
import type { TextEvent, TextReply, TextReport } from "./text-event.ts";

export interface TextEventOptions {
  database: Database;
  outbox: Outbox;
  /** Numbers without a code of a country belong to this one. */
  country: string;
}

/** The outcome of a callback: events of each kind, and those that changed nothing. */
export interface RecordedTexts {
  kinds: TextEvent["kind"][];
  known: number;
  unmatched: number;
}

/**
 * Takes the events of one callback in one transaction: each once, however often it comes, with the sends, replies, refusals and events that
 * follow from them.
 */
export function recordTextEvents(
  { database, outbox, country }: TextEventOptions,
  sent: Sent<TextEvent>,
): Promise<RecordedTexts> {
  const { provider } = sent;
  return database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      const keyOf = (event: TextEvent) => keyOfEvent(provider, event);
      const { fresh, known } = await takeEvents(transaction, sent, keyOf);
      const recording = { transaction, outbox, provider };
      const reported = await recordReports(recording, fresh.filter(isReport));
      const replied = await recordReplies(
        recording,
        fresh.filter(isReply).map((reply) => ({ ...reply, key: keyOf(reply) })),
        country,
      );
      await keepRefusals(transaction, [...reported.refusals, ...replied.refusals]);
      const kinds = [...reported.kinds, ...replied.kinds];
      return { kinds, known, unmatched: fresh.length - kinds.length };
    },
    { byIndex: true },
  );
}

function isReply(event: TextEvent): event is TextReply {
  return event.kind === "reply";
}

function isReport(event: TextEvent): event is TextReport {
  return !isReply(event);
}

/** Texts and their mails are different events, whatever a provider calls both. */
function keyOfEvent(provider: string, event: TextEvent): string {
  const { id, kind, address, at, text } = event;
  if (id !== "") return eventKey("sms", provider, "id", id);
  const of = isReply(event) ? text : (event.hash ?? "");
  return eventKey("sms", provider, "event", kind, address, of, String(at));
}
