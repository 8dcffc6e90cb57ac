import { SMS_FACTS } from "./sms-facts.ts";
import { textKind } from "./text-kind.ts";

export const SMS_KIND = textKind({ facts: SMS_FACTS, lane: "send_text", written: ["message", "language"] });
