import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { NoticeSchema, NoticeService } from "@tidings/proto/tidings/content/v1/notice";
import type { Handlers } from "@tidings/rpc/definition";
import { filterValues, isFiltered, readFilter } from "../send/ledger-filter.ts";
import { isDeferredAs, ledgerMembers, nextPage, pageByState, readPage } from "../send/ledger-rows.ts";

/** Ids of notices in the ledger begin with this: an id is that of one channel alone. */
const PREFIX = "notice-";
/** `source_id` is the form then, in place of the email. */
const OF_FORM = "s.occasion like 'form:%'";
const COLUMNS = `s.id, s.occasion, s.state, s.reason, case when not ${OF_FORM} then s.source_id end as email_id, s.contact_id, s.address, s.hash,
  s.due_at, s.started_at, s.date_sent, s.code`;

const ROWS = `select ${COLUMNS} from notices`;

const IS_BEHIND = `s.id < $3::bigint and ${isDeferredAs("$6")} and ${isFiltered(7)}`;
const byState = (isAsked: string) =>
  pageByState(ROWS, { isAsked: `${isAsked} and ${IS_BEHIND}`, states: "$5", size: "$4" });
const allStatement = prepared("notices_all", byState("$1::integer is null and $2::integer is null"));
const ofEmailStatement = prepared(
  "notices_of_email",
  byState(`s.source_id = $1::integer and not ${OF_FORM} and $2::integer is null`),
);
/** A contact has few. */
const ofContactStatement = prepared(
  "notices_of_contact",
  `${ROWS} s
   where s.contact_id = $2::integer and ($1::integer is null or (s.source_id = $1::integer and not ${OF_FORM}))
     and s.state = any ($5::text[]) and ${IS_BEHIND}
   order by s.id desc limit $4::integer`,
);

/** Lists mails to users and addresses. */
export function noticeMethods(database: Database): Handlers<typeof NoticeService> {
  return {
    async listNotices({ itemId, contactId, ...asked }, { deadlineMs }) {
      const page = readPage(asked, PREFIX);
      const statement = contactId ? ofContactStatement : itemId ? ofEmailStatement : allStatement;
      const { after, size, states, isDeferred } = page;
      const values = [
        ...[itemId || null, contactId || null, after, size, states, isDeferred],
        ...filterValues(readFilter(asked)),
      ];
      const rows = await database.query(statement, values, deadlineMs);
      return { notices: rows.map(toNotice), next: nextPage(rows, page, PREFIX) };
    },
  };
}

function toNotice(row: Row): MessageInitShape<typeof NoticeSchema> {
  return {
    ...ledgerMembers(row),
    id: `${PREFIX}${row.id}`,
    channel: "notice",
    ...(row.email_id && { emailId: Number(row.email_id) }),
    ...(row.contact_id && { contactId: Number(row.contact_id) }),
  };
}
