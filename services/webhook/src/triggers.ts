export type TriggerName =
  | "lead_post_delete"
  | "lead_points_change"
  | "lead_post_save_update"
  | "lead_post_save_new"
  | "email_on_open"
  | "form_on_submit"
  | "page_on_hit";

interface Trigger {
  name: TriggerName;
  label: string;
  description: string;
}

/** What a webhook can be told of, in the order of their labels. */
const TRIGGERS: Trigger[] = [
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
    name: "lead_post_save_update",
    label: "Contact Updated Event",
    description: "Triggered when a contact is updated.",
  },
  { name: "email_on_open", label: "Email Open Event", description: "" },
  { name: "form_on_submit", label: "Form Submit Event", description: "" },
  {
    name: "lead_post_save_new",
    label: "New Contact Event",
    description: "Triggered when a contact is identified.",
  },
  { name: "page_on_hit", label: "Page Hit Event", description: "" },
];

/** The triggers under the names that webhooks use, e.g. `svc.page_on_hit`. */
export function prefixedTriggers(prefix: string) {
  return TRIGGERS.map((trigger) => ({ ...trigger, name: prefixed(prefix, trigger.name) }));
}

export function prefixed(prefix: string, name: TriggerName): string {
  return `${prefix}.${name}`;
}
