import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { EmailMethodService, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import type { FindVisible } from "@tidings/resource/needs";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest } from "@tidings/rpc/fault";
import { EMAIL_REPLAYS } from "./email-replays.ts";
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
} from "./ledger-rows.ts";
import { NO_TRANSPORT } from "./mail-parts.ts";
import { requestReplay } from "./replay-sends.ts";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents } from "./send-facts.ts";
import { SendState } from "./send-tables.ts";

export interface LedgerOptions {
  database: Database;
  outbox: Outbox;
  findVisible: FindVisible;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once a send is to go out. */
  wake(): void;
}

const COLUMNS = `s.id, s.occasion, s.state, s.reason, s.email_id, s.contact_id, s.address, s.hash, s.due_at, s.started_at, s.date_sent, s.code,
  s.date_read, s.open_count, s.bounce, s.date_bounced, s.date_complained`;
const ROWS = `select ${COLUMNS} from sends`;
const IS_BEHIND = `s.id < $2::bigint and ${isOwned("emails", "email_id", "$4")}`;
const PAGE = `and ${IS_BEHIND} order by s.id desc limit $3::integer`;

/** Each state of an email, and the sends of a contact, are read backwards by an index. */
const ofEmailStatement = prepared(
  "sends_of_email",
  pageByState(ROWS, {
    isAsked: `s.email_id = $1::integer and ${IS_BEHIND}`,
    states: "$5",
    size: "$3",
  }),
);
const ofContactStatement = prepared(
  "sends_of_contact",
  `${ROWS} s where s.contact_id = $1::integer and s.state = any ($5::text[]) ${PAGE}`,
);
const unknownStatement = prepared(
  "sends_unknown",
  `${ROWS} s where $1::integer is null and s.state = 'unknown' and s.state = any ($5::text[]) ${PAGE}`,
);
const resolveStatement = prepared(
  "sends_resolve",
  `with ${resolvedRow("sends", isOwned("emails", "email_id", "$3"))}, recounted as (
     update broadcasts b set counts = null from resolved where b.id = resolved.broadcast_id
   ), counted as (
     update emails e set sent_count = e.sent_count + 1 from resolved where e.id = resolved.email_id and resolved.state = 'sent')
   select id, due_at, started_at, ${FACT_COLUMNS} from resolved`,
);
const findStatement = prepared(
  "sends_find",
  `select s.contact_id from sends s where s.id = $1::bigint and ${isOwned("emails", "email_id", "$2")}`,
);
/** The ledger as callers see it: sends of emails and contacts that they may view. */
export function ledgerMethods({
  database,
  outbox,
  findVisible,
  hasTransport,
  wake,
}: LedgerOptions): Pick<Handlers<typeof EmailMethodService>, "listSends" | "resolveSend" | "replaySends"> {
  const resolving = {
    ...{ database, findVisible, findStatement, resolveStatement, wake },
    async publish(transaction: Transaction, state: "sent" | "failed", row: Row) {
      const emails = await emailsOfSends(transaction, idsOfEmails([row]));
      outbox.append(transaction, sendEvents(state, [row], emails));
    },
  };
  return {
    async listSends({ itemId, contactId, ...asked }, call) {
      const page = readPage(asked);
      const statement = itemId ? ofEmailStatement : contactId ? ofContactStatement : unknownStatement;
      if (statement === unknownStatement && asked.state !== SendState.UNKNOWN)
        throw badRequest(
          "Sends are listed of an email (emailId), of a contact (contactId), or with state=unknown.",
        );
      const { after, size, states } = page;
      const values = [itemId || contactId || null, after, size, ownerOf(call, Verb.VIEW), states];
      const rows = await database.query(statement, values, call.deadlineMs);
      const visible = await ofVisibleContacts(rows, findVisible, call);
      const isAsked = ({ contact_id }: Row) => !contactId || Number(contact_id) === contactId;
      return { sends: visible.filter(isAsked).map(toSend), next: nextPage(rows, page) };
    },
    replaySends({ itemId, code }, call) {
      const refusal = hasTransport ? undefined : NO_TRANSPORT;
      return requestReplay(database, EMAIL_REPLAYS, { member: "emailId", itemId, code, refusal }, call);
    },
    resolveSend: async (asked, call) => toSend(await resolveRow(resolving, asked, call)),
  };
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
    ...(row.bounce && { bounce: row.bounce }),
    ...(dateBounced && { dateBounced }),
    ...(dateComplained && { dateComplained }),
  };
}
