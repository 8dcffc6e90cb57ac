/** A channel whose messages are kept as they were written when their contacts were chosen. Each has a ledger of its own, with the same columns. */
export interface TextChannel {
  /** As contacts refuse it, as tracked links name it, and as callers of the ledger do. */
  name: "sms" | "tweet" | "notification";
  /** A message of it in words, and several. */
  one: string;
  plural: string;
  /** Its ledger. */
  table: "text_sends" | "tweet_sends" | "notification_sends";
  /** The entities that its messages are made of, and the column of the ledger that names one. */
  items: "smses" | "tweets" | "notifications";
  item: "sms_id" | "tweet_id" | "notification_id";
  /** Columns that a send takes from its entity `i`, as SQL by name. */
  copied: Record<string, string>;
  /** Columns of the ledger by which a contact has limits of their own. */
  countedApart?: string[];
  /** Columns of the ledger that the events of this channel carry beside those of all. */
  published: string[];
  /** A no of one contact holds for its number, whoever else has it. */
  isRefusedByNumber?: true;
  /** Its entities are sent to segments, too. */
  hasBroadcasts?: true;
}

export const SMS: TextChannel = {
  ...{ name: "sms", one: "text message", plural: "text messages" },
  ...{ table: "text_sends", items: "smses", item: "sms_id" },
  ...{
    copied: {},
    published: ["undelivered", "date_undelivered", "provider_id", "answer", "ip"],
    hasBroadcasts: true,
    isRefusedByNumber: true,
  },
};
