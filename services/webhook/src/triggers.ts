export type TriggerName = (typeof TRIGGERS)[number]["name"];

/** The prefix of our own trigger names. */
export const OWN_PREFIX = "svc";

/** The triggers that a webhook can subscribe to, in the order of their labels. */
const TRIGGERS = [
  {
    name: "company_post_save",
    label: "Company Create/Update Event",
    description: "Triggered when a company is created or updated.",
  },
  {
    name: "company_post_delete",
    label: "Company Deleted Event",
    description: "Triggered when a company is deleted.",
  },
  {
    name: "lead_channel_subscription_changed",
    label: "Contact Channel Subscription Change Event",
    description: "Triggered when a contact may be written to on a channel no more, or again.",
  },
  {
    name: "lead_company_change",
    label: "Contact Company Subscription Change Event",
    description: "Triggered when a company is added to a contact or removed from it.",
  },
  {
    name: "lead_post_delete",
    label: "Contact Delete Event",
    description: "Triggered when a contact is deleted.",
  },
  {
    name: "lead_points_change",
    label: "Contact Point Change (Increase / Decrease) Event",
    description: "Triggered when a contact's points are modified.",
  },
  {
    name: "lead_list_change",
    label: "Contact Segment Membership Change Event",
    description: "Triggered when a contact comes into a segment or leaves it.",
  },
  {
    name: "lead_post_save_update",
    label: "Contact Updated Event",
    description: "Triggered when a contact is updated.",
  },
  { name: "email_on_open", label: "Email Open Event", description: "" },
  { name: "email_on_send", label: "Email Send Event", description: "" },
  { name: "form_on_submit", label: "Form Submit Event", description: "" },
  {
    name: "lead_post_save_new",
    label: "New Contact Event",
    description: "Triggered when a contact is identified.",
  },
  { name: "page_on_hit", label: "Page Hit Event", description: "" },
  { name: "sms_on_send", label: "Text Send Event", description: "" },
] as const;

/** The triggers under the names that webhooks use, e.g. `svc.page_on_hit`. */
export function prefixedTriggers(prefix: string) {
  return TRIGGERS.map((trigger) => ({ ...trigger, name: prefixed(prefix, trigger.name) }));
}

/** A trigger as a webhook names it: the word before the first dot is the caller's own. */
export interface NamedTrigger {
  prefix: string;
  name: TriggerName;
}

const NAMES: ReadonlySet<string> = new Set(TRIGGERS.map(({ name }) => name));
const PREFIX = /^[A-Za-z][A-Za-z0-9_-]{0,49}$/;

/** Undefined for a name that is no trigger. */
export function parseTrigger(text: string): NamedTrigger | undefined {
  const dot = text.indexOf(".");
  if (dot < 0) return undefined;
  const [prefix, name] = [text.slice(0, dot), text.slice(dot + 1)];
  return PREFIX.test(prefix) && NAMES.has(name) ? { prefix, name: name as TriggerName } : undefined;
}

export function prefixed(prefix: string, name: TriggerName): string {
  return `${prefix}.${name}`;
}
