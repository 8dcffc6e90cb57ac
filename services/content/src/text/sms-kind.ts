import { SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { SMS_FACTS } from "./sms-facts.ts";
import { textKind } from "./text-kind.ts";

export const SMS_KIND = textKind({
  facts: SMS_FACTS,
  lane: "send_text",
  written: ["message", "language"],
  schema: SmsSchema,
});
