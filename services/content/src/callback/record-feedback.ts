import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { wireAddress } from "@tidings/mail/mail-address";
import type { Outbox } from "@tidings/messaging/outbox";
import { keepRefusals, type Refusal, RefusalReason } from "../send/refusals.ts";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents } from "../send/send-facts.ts";
import { eventKey } from "./event-keys.ts";
import type { Feedback, FeedbackKind } from "./feedback.ts";
import { type Found, sendFinder } from "./find-sends.ts";
import { type Sent, takeEvents } from "./take-events.ts";

/** The outcome of a callback: events of each kind, and items that changed nothing. */
export interface Recorded {
  kinds: FeedbackKind[];
  known: number;
  unmatched: number;
}

/** Both in a row, and so far apart: a mailbox that is full for a weekend is no dead one. */
const SOFT_BOUNCES_MIN = 5;
const SOFT_BOUNCE_DAYS = 7;
/** Mails of a contact that are looked at for bounces in a row. */
const LOOKED_AT_MAX = 100;
const COMMENTS_LENGTH_MAX = 200;
const LOST_MAILBOX = `${SOFT_BOUNCES_MIN} mails in a row came back over ${SOFT_BOUNCE_DAYS} days or more.`;

/**
 * A report proves that the mail went out. Whoever hands it over still, or saw the end of it and is slow to say so, has lost it: the token is
 * another one.
 */
const changeStatement = prepared(
  "sends_feedback",
  `with changes as (
     select c.*, s.id, s.state in ('started', 'unknown') as is_settled
     from unnest($1::uuid[], $2::text[], $3::float8[], $4::float8[], $5::text[], $6::smallint[], $7::boolean[], $8::boolean[])
       as c (hash, bounce, bounced_at, complained_at, reason, code, is_bounced, is_complained)
     join sends s on s.hash = c.hash
   ), changed as (
     update sends s set version = s.version + 1, bounce = c.bounce, date_bounced = to_timestamp(c.bounced_at / 1000), date_complained = to_timestamp(c.complained_at / 1000),
       reason = c.reason, code = c.code, state = case when c.is_settled then 'sent' else s.state end, lease_token = s.lease_token + c.is_settled::integer,
       date_sent = case when c.is_settled then coalesce(s.date_sent, s.started_at) else s.date_sent end
     from changes c where s.id = c.id
     returning s.*, c.is_settled, c.is_bounced, c.is_complained
   ), recounted as (
     update broadcasts b set counts = null from (select distinct broadcast_id as id from changed where is_settled) c where b.id = c.id
   ), counted as (
     update emails e set sent_count = e.sent_count + c.settled,
       variant_sent_count = e.variant_sent_count + case when e.variant_start_date is null then 0 else c.settled end
     from (select email_id, count(*)::integer as settled from changed where is_settled group by email_id order by email_id) c
     where e.id = c.email_id)
   select is_settled, is_bounced, is_complained, ${FACT_COLUMNS} from changed`,
);
const inARowStatement = prepared(
  "sends_soft_bounces",
  `select c.contact_id, r.email_id from unnest($1::integer[]) as c (contact_id)
   cross join lateral (
     select (array_agg(m.email_id order by m.id desc))[1] as email_id, count(*) as bounces, max(m.date_bounced) - min(m.date_bounced) as span
     from (
       select l.*, bool_and(l.is_soft) over (order by l.id desc) as is_in_row
       from (select id, email_id, date_bounced, coalesce(bounce, '') = 'soft' and not is_read as is_soft from sends s
             where s.contact_id = c.contact_id and s.state = 'sent' and coalesce(bounce, '') <> 'blocked' order by s.id desc limit ${LOOKED_AT_MAX}) l
     ) m where m.is_in_row) r
   where r.bounces >= ${SOFT_BOUNCES_MIN} and r.span >= interval '${SOFT_BOUNCE_DAYS} days'`,
);

/**
 * Takes the events of one callback in one transaction: each once, however often it comes, with the sends, refusals and events that
 * follow from them.
 */
export function recordFeedback(database: Database, outbox: Outbox, sent: Sent<Feedback>): Promise<Recorded> {
  const { provider } = sent;
  return database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      const { fresh, known } = await takeEvents(transaction, sent, (event) => keyOf(provider, event));
      const found = await findSends(transaction, fresh);
      const matched = fresh.flatMap((event, index) => {
        const of = found[index];
        return of ? [{ ...event, of }] : [];
      });
      await change(transaction, outbox, matched);
      await keepRefusals(transaction, [
        ...matched.flatMap((event) => refusalOf(event, provider)),
        ...(await refusalsOfLostMailboxes(transaction, matched)),
      ]);
      return { kinds: matched.map(({ kind }) => kind), known, unmatched: fresh.length - matched.length };
    },
    { byIndex: true },
  );
}

interface Matched extends Feedback {
  of: Found;
}

function keyOf(provider: string, { id, kind, hash = "", address, at }: Feedback): string {
  return id === ""
    ? eventKey(provider, "event", kind, hash, address, String(at))
    : eventKey(provider, "id", id);
}

interface Change {
  bounce: string | null;
  bouncedAt: number | null;
  complainedAt: number | null;
  reason: string | null;
  code: number | null;
  isBounced: boolean;
  isComplained: boolean;
  isChanged: boolean;
}

const findSends = sendFinder({
  table: "sends",
  address: "lower(s.address)",
  item: "email_id",
  columns: `bounce, extract(epoch from date_bounced) * 1000 as bounced_at, extract(epoch from date_complained) * 1000 as complained_at, reason, code`,
  formOf: (address) => (wireAddress(address) ?? address).toLowerCase(),
});

const number = (text: string | null | undefined) => (text == null ? null : Number(text));

/** Marks the sends of events, which come in the order of their times. */
async function change(transaction: Transaction, outbox: Outbox, matched: Matched[]): Promise<void> {
  const changes = new Map<string, Change>();
  for (const event of matched) {
    const { send } = event.of;
    if (!send?.hash) continue;
    const before = changes.get(send.hash) ?? asItIs(send);
    changes.set(send.hash, changedBy(before, event));
  }
  const changed = [...changes].filter(([, { isChanged }]) => isChanged);
  if (changed.length === 0) return;
  const column = <K extends keyof Change>(name: K) => changed.map(([, values]) => values[name]);
  const rows = await transaction.query(changeStatement, [
    changed.map(([hash]) => hash),
    column("bounce"),
    column("bouncedAt"),
    column("complainedAt"),
    column("reason"),
    column("code"),
    column("isBounced"),
    column("isComplained"),
  ]);
  const emails = await emailsOfSends(transaction, idsOfEmails(rows));
  const those = (flag: string) => rows.filter((row) => row[flag] === "t");
  outbox.append(transaction, [
    ...sendEvents("sent", those("is_settled"), emails),
    ...sendEvents("bounced", those("is_bounced"), emails),
    ...sendEvents("complained", those("is_complained"), emails),
  ]);
}

function asItIs({ state, bounce, bounced_at, complained_at, reason, code }: Row): Change {
  return {
    bounce: bounce ?? null,
    bouncedAt: number(bounced_at),
    complainedAt: number(complained_at),
    reason: reason ?? null,
    code: number(code),
    isBounced: false,
    isComplained: false,
    isChanged: state === "started" || state === "unknown",
  };
}

function changedBy(before: Change, { kind, at, code, text }: Feedback): Change {
  switch (kind) {
    case "unsubscribe":
      return before;
    case "complaint":
      return before.complainedAt === null
        ? { ...before, complainedAt: at, isComplained: true, isChanged: true }
        : before;
    case "delivered": {
      // The provider tried again; but whoever bounced for good did so after the delivery.
      const isUndone = before.bounce !== null && before.bounce !== "hard" && (before.bouncedAt ?? 0) <= at;
      const undone = { bounce: null, bouncedAt: null, reason: null, code: null, isBounced: false };
      return isUndone ? { ...before, ...undone, isChanged: true } : before;
    }
    default:
      return before.bounce === "hard" && kind !== "hard"
        ? before
        : {
            ...before,
            ...{ bounce: kind, bouncedAt: at, reason: text || kind, code: code ?? null },
            ...{ isBounced: true, isChanged: true },
          };
  }
}

function refusalOf({ kind, text, of: { contactId, send } }: Matched, provider: string): Refusal[] {
  const channelId = send ? Number(send.email_id) : undefined;
  const refusal = { contactId, channel: "email" as const, channelId };
  switch (kind) {
    case "hard": {
      const comments = (text || `Bounced (${provider}).`).slice(0, COMMENTS_LENGTH_MAX);
      return [{ ...refusal, reason: RefusalReason.BOUNCED, comments }];
    }
    case "complaint":
      return [{ ...refusal, reason: RefusalReason.UNSUBSCRIBED, comments: `Complaint (${provider}).` }];
    case "unsubscribe":
      return [{ ...refusal, reason: RefusalReason.UNSUBSCRIBED, comments: "User unsubscribed." }];
    default:
      return [];
  }
}

async function refusalsOfLostMailboxes(transaction: Transaction, matched: Matched[]): Promise<Refusal[]> {
  const soft = matched.filter(({ kind }) => kind === "soft").map(({ of }) => of.contactId);
  if (soft.length === 0) return [];
  const rows = await transaction.query(inARowStatement, [[...new Set(soft)]]);
  return rows.map(({ contact_id, email_id }) => ({
    contactId: Number(contact_id),
    channel: "email",
    reason: RefusalReason.BOUNCED,
    channelId: Number(email_id),
    comments: LOST_MAILBOX,
  }));
}
