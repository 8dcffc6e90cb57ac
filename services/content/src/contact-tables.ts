import type { SetOfContact } from "@tidings/projection/contact-fate-jobs";

/** Tables of facts and devices: their rows move with a merge of their contact, and go with its deletion. */
export const TABLES_OF_CONTACTS = [
  "visitor_devices",
  "page_hits",
  "asset_downloads",
  "focus_stats",
  "video_hits",
  "email_send_devices",
  "sends",
  "notices",
  "text_sends",
  "tweet_sends",
  "notification_sends",
  "push_ids",
  "text_replies",
  "message_sends",
];

/** Tables whose rows of a contact differ in some columns. */
export const SETS_OF_CONTACTS: SetOfContact[] = [
  { table: "first_visits", columns: ["target"] },
  {
    table: "form_action_outcomes",
    columns: ["submission_key", "action_id"],
    others: ["form_id", "type", "state", "reason", "date_added"],
  },
  { table: "category_subscriptions", columns: ["category_id"], others: ["is_subscribed", "version"] },
  { table: "send_refusals", columns: ["channel"], others: ["reason", "date_added"] },
  { table: "refused_addresses", columns: ["channel", "address_hash"], others: ["reason", "date_added"] },
  // The content that was put there for the survivor stays.
  {
    table: "dynamic_content_lead_data",
    columns: ["slot"],
    others: ["id", "dynamic_content_id", "date_added"],
  },
  {
    table: "dynamic_content_stats",
    columns: ["dynamic_content_id", "source"],
    others: ["id", "date_sent", "last_sent", "sent_count", "sent_details", "tokens"],
    joined: `date_sent = least(t.date_sent, excluded.date_sent), last_sent = greatest(t.last_sent, excluded.last_sent),
      sent_count = t.sent_count + excluded.sent_count`,
  },
];
