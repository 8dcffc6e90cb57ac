import type { Event } from "@tidings/bus/event";
import type { DurablePlace } from "@tidings/bus/streams";
import { contactOccurrences } from "./contact-occurrences.ts";
import type { Occurrence } from "./occurrence.ts";
import { openOccurrences, sendOccurrences, textOccurrences } from "./send-occurrences.ts";
import type { TriggerName } from "./triggers.ts";
import { hitOccurrences, submissionOccurrences } from "./visit-occurrences.ts";

const PAGE_HIT = "tidings.content.page.hit";
const FORM_SUBMITTED = "tidings.content.form.submitted";
const EMAIL_SENT = "tidings.content.email.sent";
const EMAIL_OPENED = "tidings.content.email.opened";
const SMS_SENT = "tidings.content.sms.sent";

/** Subjects whose events fire a single trigger. Visitors and mails cause many of them, so none is decoded without a subscriber. */
const ONLY_TRIGGERS = new Map<string, TriggerName>([
  [PAGE_HIT, "page_on_hit"],
  [FORM_SUBMITTED, "form_on_submit"],
  [EMAIL_SENT, "email_on_send"],
  [EMAIL_OPENED, "email_on_open"],
  [SMS_SENT, "sms_on_send"],
]);

/** False when no webhook names the only trigger of the event's subject. `named` has the triggers that webhooks name. */
export function mayNotify({ subject }: Event, named: ReadonlyMap<TriggerName, unknown>): boolean {
  const trigger = ONLY_TRIGGERS.get(subject);
  return trigger === undefined || named.has(trigger);
}

/** The occurrences of an event by its subject. */
const READERS: Record<string, ((event: Event) => Occurrence[]) | undefined> = {
  ...contactOccurrences,
  [PAGE_HIT]: hitOccurrences,
  [FORM_SUBMITTED]: submissionOccurrences,
  [EMAIL_SENT]: sendOccurrences,
  [EMAIL_OPENED]: openOccurrences,
  [SMS_SENT]: textOccurrences,
};

/** Empty for events that no trigger is for. */
export function occurrencesOf(event: Event): Occurrence[] {
  return READERS[event.subject]?.(event) ?? [];
}

/** The subjects of a durable's stream that a trigger is for. */
export function subjectsIn({ stream }: DurablePlace): string[] {
  const prefix = `tidings.${stream.name.toLowerCase()}.`;
  return Object.keys(READERS).filter((subject) => subject.startsWith(prefix));
}
