import { SmsSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { SMS } from "./text-channel.ts";
import { itemMembers, textFacts, textMembers } from "./text-facts.ts";

export const SMS_FACTS = textFacts({
  channel: SMS,
  schema: SmsSendsSchema,
  itemColumns: ["sms_type"],
  messageOf: (sends, items) => ({
    sends: sends.map((row) => ({ ...textMembers(row), smsId: Number(row.sms_id) })),
    smses: items.map((row) => ({ ...itemMembers(row), smsType: row.sms_type ?? "" })),
  }),
});
