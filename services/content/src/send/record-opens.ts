import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { type OpenDevice, type OpenedFrom, recordOpenDevices } from "./open-devices.ts";
import { REPLIES_OF, replyEvents } from "./reply-events.ts";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents } from "./send-facts.ts";
import { noteOpen } from "./send-metrics.ts";

/** Somebody opened a mail, answered it, or followed a link in it. */
export interface Open {
  hash: string;
  by: "picture" | "web view" | "reply" | "click";
  /** The Message-ID of a reply, where that is known. */
  messageId?: string;
  /** The browser by which it was opened, where that is known. */
  device?: OpenDevice | undefined;
  from?: OpenedFrom | undefined;
  /**
   * `prefetch`: a proxy that loads pictures before anybody reads; `scanner`: one that follows links; `anonymous`: a person of whom nothing may be kept. Human
   * when absent.
   */
  verdict?: "human" | "machine" | "prefetch" | "scanner" | "anonymous";
}

/** The latest opens of a mail are kept with what they came from. */
const DETAILS_MAX = 20;
const AGENT_LENGTH_MAX = 200;
const DETAIL = `jsonb_build_object('datetime', to_char(now() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), 'useragent', agent, 'inBrowser', by = 'web view')`;

/**
 * An open proves that a mail of unknown outcome was sent, whoever made it. A click is an open of a mail that nobody has opened. Opens and clicks of machines
 * are counted apart, and are no change of a send.
 */
const openStatement = prepared(
  "sends_open",
  `with opens as (
     select hash, (count(*) filter (where is_human and by in ('picture', 'web view')))::integer as times, bool_or(is_human and by = 'web view') as in_browser,
       (count(*) filter (where is_human and by = 'reply'))::integer as replies, array_agg(nullif(message_id, '')) filter (where is_human and by = 'reply') as message_ids, bool_or(is_human and by = 'click') as is_clicked,
       jsonb_agg(${DETAIL}) filter (where is_human and by in ('picture', 'web view')) as details,
       jsonb_agg(${DETAIL}) filter (where is_human and by = 'click') as click_details, min(nullif(ip, '')) filter (where is_human) as ip,
       (count(*) filter (where not is_human and by not in ('click', 'nobody')))::integer as machine_opens,
       (count(*) filter (where not is_human and by = 'click'))::integer as machine_clicks
     from unnest($1::uuid[], $2::text[], $3::boolean[], $4::text[], $5::text[], $6::text[]) as o (hash, by, is_human, message_id, ip, agent) group by hash
   ), held as (
     select s.id, s.hash as send_hash, s.is_read as was_read, s.state = 'unknown' as is_unknown, s.broadcast_id, o.in_browser, o.replies, o.message_ids, o.machine_opens, o.machine_clicks,
       case when o.times = 0 and o.is_clicked and not s.is_read then 1 else o.times end as times,
       coalesce(o.details, jsonb_build_array(o.click_details -> 0)) as details, o.ip as seen_ip
     from sends s join opens o on o.hash = s.hash order by s.id + 0 for update of s
   ), opened as (
     update sends s set open_count = s.open_count + h.times, last_opened = case when h.times > 0 then now() else s.last_opened end,
       is_read = s.is_read or h.times + h.replies > 0, date_read = case when h.times + h.replies > 0 then coalesce(s.date_read, now()) else s.date_read end,
       ip = case when h.times > 0 then coalesce(s.ip, h.seen_ip) else s.ip end,
       open_details = case when h.times = 0 then s.open_details else (
         select jsonb_agg(detail order by place) from (
           select detail, place from jsonb_array_elements(coalesce(s.open_details, '[]') || h.details) with ordinality as d (detail, place)
           order by place desc limit ${DETAILS_MAX}) latest) end,
       viewed_in_browser = s.viewed_in_browser or h.in_browser,
       version = s.version + case when h.times + h.replies > 0 or h.is_unknown then 1 else 0 end,
       state = case s.state when 'unknown' then 'sent' else s.state end,
       date_sent = coalesce(s.date_sent, s.started_at),
       machine_open_count = s.machine_open_count + h.machine_opens, machine_click_count = s.machine_click_count + h.machine_clicks
     from held h
     where s.id = h.id and (h.times + h.replies + h.machine_opens + h.machine_clicks > 0 or h.is_unknown)
     returning s.*, h.times as opens, h.times + h.replies > 0 as is_opened, not h.was_read and h.times + h.replies > 0 as is_first,
       h.is_unknown as is_settled, h.message_ids
   ), replied as (
     insert into send_replies (send_hash, message_id) select hash, r.message_id from opened cross join lateral unnest(message_ids) as r (message_id)
     returning id, send_hash, message_id, date_replied
   ), recounted as (
     update broadcasts b set counts = null from held h where b.id = h.broadcast_id and h.is_unknown
   ), counted as (
     update emails e set read_count = e.read_count + c.first, sent_count = e.sent_count + c.settled,
       variant_read_count = e.variant_read_count + case when e.variant_start_date is null then 0 else c.first end,
       variant_sent_count = e.variant_sent_count + case when e.variant_start_date is null then 0 else c.settled end
     from (select email_id, (count(*) filter (where is_first))::integer as first, (count(*) filter (where is_settled))::integer as settled
       from opened where is_first or is_settled group by email_id order by email_id) c
     where e.id = c.email_id)
   select send_hash, opens, is_opened, is_settled, ${REPLIES_OF("held.send_hash")} as replies, ${FACT_COLUMNS} from held left join opened on hash = send_hash`,
);
/** Counts nowhere, and still proves that the mail arrived. */
const NOBODY = "nobody";
const TOGETHER_MAX = 500;

/** Says whether there is such a send. */
export type RecordOpen = (open: Open) => Promise<boolean>;

/** Opens that come at the same time are committed together. One of an unknown send is nothing. */
export function openRecorder(database: Database, outbox: Outbox): RecordOpen {
  const record = coalesce(
    (opens: Open[]) =>
      database.transaction(backgroundDeadline(), (transaction) => recordOpensIn(transaction, outbox, opens), {
        byIndex: true,
      }),
    { itemsMax: TOGETHER_MAX },
  );
  return async (open) => (await record("opens", open)).has(open.hash);
}

/** Records opens as a part of a transaction, with their events. Answers the hashes of the sends that are there. */
export async function recordOpensIn(
  transaction: Transaction,
  outbox: Outbox,
  opens: Open[],
): Promise<ReadonlySet<string>> {
  if (opens.length === 0) return new Set();
  const isHuman = ({ verdict = "human" }: Open) => verdict === "human";
  const values = [
    opens.map(({ hash }) => hash),
    opens.map(({ by, verdict }) => (verdict === "anonymous" ? NOBODY : by)),
    opens.map(isHuman),
    opens.map(({ messageId = "" }) => messageId),
    opens.map(({ from }) => from?.ip ?? ""),
    opens.map(({ from }) => from?.agent.slice(0, AGENT_LENGTH_MAX) ?? ""),
  ];
  const rows = await transaction.query(openStatement, values);
  const settled = rows.filter(({ is_settled }) => is_settled === "t");
  const opened = rows.filter(({ is_opened }) => is_opened === "t");
  const emails = await emailsOfSends(transaction, idsOfEmails([...settled, ...opened]));
  outbox.append(transaction, [
    ...sendEvents("sent", settled, emails),
    ...sendEvents("opened", opened, emails),
    ...replyEvents(opened, emails),
  ]);
  await recordOpenDevices(transaction, outbox, devicesOf(opens.filter(isHuman), opened));
  transaction.afterCommit(() => {
    for (const { by, verdict = "human" } of opens) noteOpen(by, verdict);
  });
  return new Set(rows.map(({ send_hash }) => send_hash ?? ""));
}

/** The devices of opens: of each picture and web view, and of the click that is the open of a mail whose pictures nobody saw. */
function devicesOf(opens: Open[], opened: Row[]): { hash: string; device: OpenDevice }[] {
  const withOpens = new Set(
    opened.filter(({ opens }) => Number(opens) > 0).map(({ send_hash }) => send_hash),
  );
  const byMail = Map.groupBy(
    opens.filter(({ hash, by }) => withOpens.has(hash) && by !== "reply"),
    ({ hash }) => hash,
  );
  return [...byMail.values()].flatMap((ofMail) => {
    const seen = ofMail.filter(({ by }) => by !== "click");
    return (seen.length > 0 ? seen : ofMail.slice(0, 1)).flatMap(({ hash, device }) =>
      device ? [{ hash, device }] : [],
    );
  });
}
