import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { EmailMethodService, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import type { Handlers } from "@tidings/rpc/definition";
import { channelLedger, type LedgerOptions } from "./channel-ledger.ts";
import { EMAIL_REPLAYS } from "./email-replays.ts";
import { ledgerMembers } from "./ledger-rows.ts";
import { NO_TRANSPORT } from "./mail-parts.ts";
import { emailsOfSends, FACT_COLUMNS, sendEvents } from "./send-facts.ts";

const ledgerOf = channelLedger({
  ...{ name: "email", table: "sends", items: "emails", item: "email_id", hasBroadcasts: true, prefix: "" },
  columns: ["date_read", "open_count", "bounce", "date_bounced", "date_complained", "ip", "open_details"],
  toSend,
  facts: { columns: FACT_COLUMNS, itemsOf: emailsOfSends, events: sendEvents },
  replays: EMAIL_REPLAYS,
  refusals: {
    list: "Sends are listed of an email (emailId), of a contact (contactId), or with state=unknown.",
    replay: NO_TRANSPORT,
  },
});

/** The ledger of mails as callers see it. */
export function ledgerMethods(
  options: LedgerOptions,
): Pick<Handlers<typeof EmailMethodService>, "listSends" | "resolveSend" | "replaySends"> {
  const { list, resolve, replay } = ledgerOf(options);
  return { listSends: list, resolveSend: resolve, replaySends: replay };
}

function toSend(row: Row): MessageInitShape<typeof SendSchema> {
  const time = (name: string) => (row[name] ? timestampFromText(row[name]) : undefined);
  const [dateRead, dateBounced, dateComplained] = ["date_read", "date_bounced", "date_complained"].map(time);
  return {
    ...ledgerMembers(row),
    id: row.id ?? "",
    channel: "email",
    emailId: Number(row.email_id),
    contactId: Number(row.contact_id),
    ...(dateRead && { dateRead }),
    openCount: Number(row.open_count),
    ...(row.ip && { ip: row.ip }),
    openDetails: Buffer.from(row.open_details ?? "[]"),
    ...(row.code && row.reason && { text: row.reason }),
    ...(row.bounce && { bounce: row.bounce }),
    ...(dateBounced && { dateBounced }),
    ...(dateComplained && { dateComplained }),
  };
}
