import type { Row } from "@tidings/database/statement";
import { SmsSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { factReader } from "../visit/fact-kind.ts";
import { SMS } from "./text-channel.ts";
import { itemMembers, textFacts, textMembers } from "./text-facts.ts";

export const SMS_FACTS = textFacts({
  channel: SMS,
  schema: SmsSendsSchema,
  itemColumns: ["sms_type"],
  messageOf: (sends, items) => ({
    sends: sends.map((row) => ({
      ...textMembers(row),
      smsId: Number(row.sms_id),
      ...undeliveredMembers(row),
      ...{ providerId: row.provider_id ?? "", responseDetails: row.answer ?? "", ip: row.ip ?? "" },
    })),
    smses: items.map(sentSmsOf),
  }),
});

export function sentSmsOf(row: Row) {
  return { ...itemMembers(row), smsType: row.sms_type ?? "" };
}

/** A message that the provider took, and that did not arrive, has failed. */
function undeliveredMembers(row: Row) {
  const { text, time } = factReader(row);
  const dateUndelivered = time("date_undelivered");
  return {
    ...(row.undelivered && { undelivered: text("undelivered"), isFailed: true }),
    ...(dateUndelivered && { dateUndelivered }),
  };
}
