/** A channel whose messages are kept as they were written when their contacts were chosen. Each has a ledger of its own, with the same columns. */
export interface TextChannel {
  /** As contacts refuse it, and as callers of the ledger name it. */
  name: "sms";
  /** Its ledger. */
  table: "text_sends";
  /** The entities that its messages are made of, and the column of the ledger that names one. */
  items: "smses";
  item: "sms_id";
}

export const SMS: TextChannel = { name: "sms", table: "text_sends", items: "smses", item: "sms_id" };
