import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { SmsMethodService, TextSendSchema } from "@tidings/proto/tidings/content/v1/sms";
import type { FindVisible } from "@tidings/resource/needs";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest } from "@tidings/rpc/fault";
import {
  isOwned,
  ledgerMembers,
  nextPage,
  ofVisibleContacts,
  ownerOf,
  pageByState,
  readPage,
  resolvedRow,
  resolveRow,
} from "../send/ledger-rows.ts";
import { SendState } from "../send/send-tables.ts";
import { idsOfSmses, smsesOfSends, TEXT_COLUMNS, textEvents } from "./text-facts.ts";

export interface TextLedgerOptions {
  database: Database;
  outbox: Outbox;
  findVisible: FindVisible;
  /** Called once a send is to go out. */
  wake(): void;
}

/** Ids of text messages in the ledger begin with this: an id is that of one channel alone. */
const PREFIX = "sms-";
const COLUMNS =
  "s.id, s.occasion, s.state, s.reason, s.sms_id, s.contact_id, s.address, s.hash, s.due_at, s.started_at, s.date_sent, s.code, s.content";
const ROWS = `select ${COLUMNS} from text_sends`;
const IS_BEHIND = `s.id < $3::bigint and ${isOwned("smses", "sms_id", "$5")}`;
const PAGE = `and ${IS_BEHIND} order by s.id desc limit $4::integer`;

/** Each state of a text message, and the sends of a contact, are read backwards by an index. */
const ofSmsStatement = prepared(
  "text_sends_of_sms",
  pageByState(ROWS, {
    isAsked: `s.sms_id = $1::integer and $2::integer is null and ${IS_BEHIND}`,
    states: "$6",
    size: "$4",
  }),
);
const ofContactStatement = prepared(
  "text_sends_of_contact",
  `${ROWS} s
   where s.contact_id = $2::integer and ($1::integer is null or s.sms_id = $1::integer) and s.state = any ($6::text[]) ${PAGE}`,
);
const unknownStatement = prepared(
  "text_sends_unknown",
  `${ROWS} s
   where $1::integer is null and $2::integer is null and s.state = 'unknown' and s.state = any ($6::text[]) ${PAGE}`,
);
/** A marketing message stays where it is, whatever is decided: its send of unknown outcome has ended it. */
const resolveStatement = prepared(
  "text_sends_resolve",
  `with ${resolvedRow("text_sends", isOwned("smses", "sms_id", "$3"))}, counted as (
     update smses m set sent_count = m.sent_count + 1 from resolved where m.id = resolved.sms_id and resolved.state = 'sent')
   select id, due_at, started_at, ${TEXT_COLUMNS} from resolved`,
);
const findStatement = prepared(
  "text_sends_find",
  `select s.contact_id from text_sends s where s.id = $1::bigint and ${isOwned("smses", "sms_id", "$2")}`,
);

/** The ledger of text messages as callers see it: sends of text messages and contacts that they may view. */
export function textLedgerMethods({
  database,
  outbox,
  findVisible,
  wake,
}: TextLedgerOptions): Pick<Handlers<typeof SmsMethodService>, "listSmsSends" | "resolveSmsSend"> {
  const resolving = {
    ...{ database, findVisible, prefix: PREFIX, findStatement, resolveStatement, wake },
    async publish(transaction: Transaction, state: "sent" | "failed", row: Row) {
      const smses = await smsesOfSends(transaction, idsOfSmses([row]));
      outbox.append(transaction, textEvents(state, [row], smses));
    },
  };
  return {
    async listSmsSends({ smsId, contactId, ...asked }, call) {
      const page = readPage(asked, PREFIX);
      const statement = contactId ? ofContactStatement : smsId ? ofSmsStatement : unknownStatement;
      if (statement === unknownStatement && asked.state !== SendState.UNKNOWN)
        throw badRequest(
          "Sends of text messages are listed of a text message (smsId), of a contact (contactId), or with state=unknown.",
        );
      const { after, size, states } = page;
      const values = [smsId || null, contactId || null, after, size, ownerOf(call, Verb.VIEW), states];
      const rows = await database.query(statement, values, call.deadlineMs);
      const visible = await ofVisibleContacts(rows, findVisible, call);
      return { sends: visible.map(toTextSend), next: nextPage(rows, page, PREFIX) };
    },
    resolveSmsSend: async (asked, call) => toTextSend(await resolveRow(resolving, asked, call)),
  };
}

function toTextSend(row: Row): MessageInitShape<typeof TextSendSchema> {
  return {
    ...ledgerMembers(row),
    id: `${PREFIX}${row.id}`,
    channel: "sms",
    smsId: Number(row.sms_id),
    contactId: Number(row.contact_id),
    text: row.content ?? "",
  };
}
