import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { SmsMethodService, TextSendSchema } from "@tidings/proto/tidings/content/v1/sms";
import type { Handlers } from "@tidings/rpc/definition";
import type { LedgerOptions } from "../send/channel-ledger.ts";
import { SMS_KIND } from "./sms-kind.ts";
import { SMS } from "./text-channel.ts";
import { listedMembers, textLedger } from "./text-ledger.ts";

const ledgerOf = textLedger(SMS_KIND, {
  columns: ["undelivered", "date_undelivered", "date_delivered"],
  toSend: toTextSend,
});

/** The ledger of text messages as callers see it. */
export function smsLedgerMethods(
  options: LedgerOptions,
): Pick<Handlers<typeof SmsMethodService>, "listSmsSends" | "resolveSmsSend" | "replaySmsSends"> {
  const { list, resolve, replay } = ledgerOf(options);
  return { listSmsSends: list, resolveSmsSend: resolve, replaySmsSends: replay };
}

function toTextSend(row: Row): MessageInitShape<typeof TextSendSchema> {
  const time = (name: string) => (row[name] ? timestampFromText(row[name]) : undefined);
  const [dateUndelivered, dateDelivered] = ["date_undelivered", "date_delivered"].map(time);
  return {
    ...listedMembers(SMS, row),
    smsId: Number(row.sms_id),
    ...(row.undelivered && { undelivered: row.undelivered }),
    ...(dateUndelivered && { dateUndelivered }),
    ...(dateDelivered && { dateDelivered }),
  };
}
