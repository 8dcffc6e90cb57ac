import { type Sms, SmsMethodService } from "@tidings/proto/tidings/content/v1/sms";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { smsBroadcastMethods } from "./sms-broadcast-methods.ts";
import { SMS_FACTS } from "./sms-facts.ts";
import { smsLedgerMethods } from "./sms-ledger.ts";
import { textMethods } from "./text-methods.ts";
import type { TextSending } from "./text-sending.ts";

interface Texts {
  rows: Repository<Sms>;
  findVisible: FindVisible;
  mail: MailParts;
  sending: TextSending;
}

/** The methods about text messages, and what became of them. */
export function openTexts(
  { database, outbox }: Foundation<ContentConfig>,
  { rows, findVisible, mail: { wake }, sending }: Texts,
): Required<Pick<Parts, "facts" | "services">> {
  const hasTransport = sending.way !== undefined;
  const methods = textMethods({ database, outbox, rows, findVisible, sending, wake });
  return {
    services: [
      implement(SmsMethodService, {
        ...methods,
        ...smsBroadcastMethods({ database, outbox, rows, hasTransport, wake }),
        ...smsLedgerMethods({ database, outbox, findVisible, hasTransport, wake }),
      }),
    ],
    facts: [SMS_FACTS.source(database)],
  };
}
