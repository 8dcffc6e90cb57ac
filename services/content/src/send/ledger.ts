import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { EmailMethodService, SendSchema } from "@tidings/proto/tidings/content/v1/email";
import { notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import type { Handlers } from "@tidings/rpc/definition";
import { badRequest, conflict, invalid, notFound, notOneOf } from "@tidings/rpc/fault";
import { NO_TRANSPORT } from "./mail-parts.ts";
import { planReplay } from "./replay-sends.ts";
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

const STATES = Object.values(SendState).filter((state) => state !== SendState.SET_ASIDE);
const PAGE_MAX = 500;
const COLUMNS = `s.id, s.occasion, s.state, s.reason, s.email_id, s.contact_id, s.address, s.hash, s.due_at, s.started_at, s.date_sent, s.code,
  s.date_read, s.open_count, s.bounce, s.date_bounced, s.date_complained`;
/** `$4`: the user whose emails alone are seen; everybody's when null. */
const SEEN =
  "($4::integer is null or exists (select from emails e where e.id = s.email_id and e.created_by = $4::integer))";
const PAGE = `and s.id < $2::bigint and ${SEEN} order by s.id desc limit $3::integer`;

/** Each state of an email, and the sends of a contact, are read backwards by an index. */
const ofEmailStatement = prepared(
  "sends_of_email",
  `select s.* from unnest($5::text[]) as t (state) cross join lateral (
     select ${COLUMNS} from sends s where s.email_id = $1::integer and s.state = t.state ${PAGE}) s
   order by s.id desc limit $3::integer`,
);
const ofContactStatement = prepared(
  "sends_of_contact",
  `select ${COLUMNS} from sends s where s.contact_id = $1::integer and s.state = any ($5::text[]) ${PAGE}`,
);
const unknownStatement = prepared(
  "sends_unknown",
  `select ${COLUMNS} from sends s where $1::integer is null and s.state = 'unknown' and s.state = any ($5::text[]) ${PAGE}`,
);
const resolveStatement = prepared(
  "sends_resolve",
  `with resolved as (
     update sends s set state = $2, version = version + 1, lease_token = lease_token + 1, due_at = now(),
       started_at = case when $2 = 'waiting' then null else started_at end, date_sent = case when $2 = 'sent' then started_at end
     where id = $1::bigint and state = 'unknown' and ($3::integer is null or exists (select from emails e where e.id = s.email_id and e.created_by = $3::integer))
     returning s.*
   ), recounted as (
     update broadcasts b set counts = null from resolved where b.id = resolved.broadcast_id
   ), counted as (
     update emails e set sent_count = e.sent_count + 1 from resolved where e.id = resolved.email_id and resolved.state = 'sent')
   select id, due_at, started_at, ${FACT_COLUMNS} from resolved`,
);
const findStatement = prepared(
  "sends_find",
  `select s.contact_id from sends s where s.id = $1::bigint
     and ($2::integer is null or exists (select from emails e where e.id = s.email_id and e.created_by = $2::integer))`,
);
/** The highest reply code (RFC 5321, 4.2). */
const CODE_MAX = 599;
const ID = /^\d{1,18}$/;
const LAST = "9223372036854775807";
const RESOLVED: Record<string, "sent" | "failed" | "waiting"> = {
  sent: SendState.SENT,
  failed: SendState.FAILED,
  again: SendState.WAITING,
};

/** The ledger as callers see it: sends of emails and contacts that they may view. */
export function ledgerMethods({
  database,
  outbox,
  findVisible,
  hasTransport,
  wake,
}: LedgerOptions): Pick<Handlers<typeof EmailMethodService>, "listSends" | "resolveSend" | "replaySends"> {
  return {
    async listSends({ emailId, contactId, state, after, pageSize }, call) {
      if (state !== "" && !(STATES as string[]).includes(state))
        throw invalid([notValid("state", notOneOf(STATES))]);
      if (after !== "" && !ID.test(after)) throw invalid([notValid("after", "It is the id of a send.")]);
      const statement = emailId ? ofEmailStatement : contactId ? ofContactStatement : unknownStatement;
      if (statement === unknownStatement && state !== SendState.UNKNOWN)
        throw badRequest(
          "Sends are listed of an email (emailId), of a contact (contactId), or with state=unknown.",
        );
      const size = Math.min(PAGE_MAX, Math.max(1, pageSize));
      const ownerId = ownerOf(call, Verb.VIEW);
      const states = state === "" ? STATES : [state];
      const values = [emailId || contactId || null, after || LAST, size, ownerId, states];
      const rows = await database.query(statement, values, call.deadlineMs);
      const ids = [...new Set(rows.map(({ contact_id }) => Number(contact_id)))];
      const visible = ids.length > 0 ? await findVisible(ContactSchema, ids, call) : new Set<number>();
      const isAsked = ({ contact_id }: Row) =>
        visible.has(Number(contact_id)) && (!contactId || Number(contact_id) === contactId);
      return {
        sends: rows.filter(isAsked).map(toSend),
        next: rows.length < size ? "" : (rows.at(-1)?.id ?? ""),
      };
    },
    async replaySends({ emailId, code }, call) {
      if (emailId === 0) throw invalid([notValid("emailId", "The id of an email is required.")]);
      if (code > CODE_MAX)
        throw invalid([notValid("code", `It is a code of a mail server, to ${CODE_MAX}.`)]);
      if (!hasTransport) throw conflict(NO_TRANSPORT);
      const asked = { emailId, code: code || null, ownerId: ownerOf(call, Verb.EDIT) };
      const jobId = await database.transaction(call.deadlineMs, (transaction) =>
        planReplay(transaction, asked),
      );
      if (jobId === undefined) throw notFound();
      return { jobId };
    },
    async resolveSend({ id, as }, call) {
      const state = Object.hasOwn(RESOLVED, as) && RESOLVED[as];
      if (!state) throw invalid([notValid("as", notOneOf(Object.keys(RESOLVED)))]);
      if (!ID.test(id)) throw notFound();
      const ownerId = ownerOf(call, Verb.EDIT);
      const [found] = await database.query(findStatement, [id, ownerId], call.deadlineMs);
      const contactId = Number(found?.contact_id);
      if (!found || !(await findVisible(ContactSchema, [contactId], call)).has(contactId)) throw notFound();
      return database.transaction(call.deadlineMs, async (transaction) => {
        const [row] = await transaction.query(resolveStatement, [id, state, ownerId]);
        if (!row) throw conflict("The outcome of this send is known.");
        const emails = await emailsOfSends(transaction, idsOfEmails([row]));
        if (state !== SendState.WAITING) outbox.append(transaction, sendEvents(state, [row], emails));
        transaction.afterCommit(wake);
        return toSend(row);
      });
    },
  };
}

/** The user whose emails alone the caller reaches; everybody's when null. */
function ownerOf(call: Call, verb: Verb): number | null {
  return call.reach(verb) === "all" ? null : call.actor.id;
}

function toSend(row: Row): MessageInitShape<typeof SendSchema> {
  const time = (name: string) => (row[name] ? timestampFromText(row[name]) : undefined);
  const [dueAt, startedAt, dateSent, dateRead] = ["due_at", "started_at", "date_sent", "date_read"].map(time);
  const [dateBounced, dateComplained] = ["date_bounced", "date_complained"].map(time);
  return {
    id: row.id ?? "",
    channel: "email",
    occasion: row.occasion ?? "",
    state: row.state ?? "",
    ...(row.reason && { reason: row.reason }),
    emailId: Number(row.email_id),
    contactId: Number(row.contact_id),
    ...(row.address && { address: row.address }),
    hash: row.hash ?? "",
    ...(dueAt && { dueAt }),
    ...(startedAt && { startedAt }),
    ...(dateSent && { dateSent }),
    ...(row.code && { code: Number(row.code) }),
    ...(dateRead && { dateRead }),
    openCount: Number(row.open_count),
    ...(row.bounce && { bounce: row.bounce }),
    ...(dateBounced && { dateBounced }),
    ...(dateComplained && { dateComplained }),
  };
}
