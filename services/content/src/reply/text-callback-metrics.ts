import { Counter } from "prom-client";
import { noteItems } from "../callback/callback-metrics.ts";
import type { RecordedTexts } from "./record-text-events.ts";
import { REPORT_KINDS } from "./text-event.ts";

const feedback = new Counter({
  name: "tidings_text_feedback_total",
  help: "News of text messages from providers, each once: `taken`, `delivered`, undelivered for good (`hard`), for now (`soft`) or by a filter (`blocked`), `unsubscribe`, and replies",
  labelNames: ["provider", "kind"],
});

/** Providers of text messages have this before their names in metrics that count those of mails, too. */
export const TEXTS = "sms/";

/** Counts from zero on: a rate needs a sample from before the first event. */
export function beginCountingTexts(provider: string): void {
  for (const kind of [...REPORT_KINDS, "reply"]) feedback.inc({ provider, kind }, 0);
}

export function noteTexts(provider: string, { kinds, ...outcomes }: RecordedTexts): void {
  for (const kind of kinds) feedback.inc({ provider, kind });
  noteItems(TEXTS + provider, outcomes);
}
