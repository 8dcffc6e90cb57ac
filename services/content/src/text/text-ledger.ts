import type { Row } from "@tidings/database/statement";
import { channelLedger, type Ledger, type LedgerOptions } from "../send/channel-ledger.ts";
import { ledgerMembers } from "../send/ledger-rows.ts";
import type { TextChannel } from "./text-channel.ts";
import type { TextKind } from "./text-kind.ts";

/** The ledger of a channel whose messages are kept. `columns` are those that its sends have beside others. */
export function textLedger<S>(
  { facts, replays }: Pick<TextKind, "facts" | "replays">,
  { columns, toSend }: { columns: string[]; toSend(row: Row): S },
): (options: LedgerOptions) => Ledger<S> {
  const { name, one, plural } = facts.channel;
  return channelLedger({
    ...facts.channel,
    ...{ prefix: `${name}-`, columns: ["content", ...columns], toSend, facts, replays },
    refusals: {
      list: `Sends of ${plural} are listed of a ${one} (${name}Id), of a contact (contactId), or with state=unknown.`,
      replay: `No transport of ${plural} is set up.`,
    },
  });
}

/** The members of a listed send that all such channels have. */
export function listedMembers({ name }: TextChannel, row: Row) {
  return {
    ...ledgerMembers(row),
    id: `${name}-${row.id}`,
    channel: name,
    contactId: Number(row.contact_id),
    text: row.content ?? "",
  };
}
