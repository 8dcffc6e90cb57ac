import { Counter } from "prom-client";
import type { RefusalOfCallback } from "./check.ts";
import { FEEDBACK_KINDS } from "./feedback.ts";
import type { Recorded } from "./record-feedback.ts";

const feedback = new Counter({
  name: "tidings_mail_feedback_total",
  help: "What providers, and servers that sent mails back to the `inbox`, reported of our mails, each event once: hard, soft and blocked bounces, complaints, unsubscribes, deliveries",
  labelNames: ["provider", "kind"],
});
const items = new Counter({
  name: "tidings_callback_items_total",
  help: "Items of callbacks and of reports in the `inbox`; `known`: came before, `ignored`: changes no send, `unmatched`: of no send of ours, or of several, `set_aside`: malformed, or older than events are remembered",
  labelNames: ["provider", "outcome"],
});
const refused = new Counter({
  name: "tidings_callbacks_refused_total",
  help: "Callbacks of which nothing was read; `signature`: missing or forged, `stale`: signed long ago, `body`: not of the provider's form, `size`: too long, `busy`: too many at a time",
  labelNames: ["provider", "reason"],
});

export type RefusedFor = RefusalOfCallback | "size" | "busy";

const REASONS: RefusedFor[] = ["signature", "stale", "body", "size", "busy"];

/** Counts from zero on: a rate needs a sample from before the first event. */
export function beginCountingFeedback(provider: string): void {
  for (const kind of FEEDBACK_KINDS) feedback.inc({ provider, kind }, 0);
}

export function beginRefusing(provider: string): void {
  for (const reason of REASONS) refused.inc({ provider, reason }, 0);
}

export function noteRefused(provider: string, reason: RefusedFor): void {
  refused.inc({ provider, reason });
}

export function noteRecorded(provider: string, { kinds, ...outcomes }: Recorded): void {
  for (const kind of kinds) feedback.inc({ provider, kind });
  noteItems(provider, outcomes);
}

export function noteItems(provider: string, outcomes: Record<string, number>): void {
  for (const [outcome, count] of Object.entries(outcomes)) items.inc({ provider, outcome }, count);
}
