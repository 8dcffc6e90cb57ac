import { type Database, prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Log } from "@tidings/runtime/log";
import type { Download } from "../asset/download.ts";
import { recordShownIn, type Shown } from "../slot/record-shown.ts";
import type { ContactIds } from "../visit/contact-ids.ts";
import type { Hit } from "../visit/hit.ts";
import { recordJudgedHitsIn } from "../visit/record-hits.ts";
import type { VisitFact } from "../visit/visit-fact.ts";
import { clickJobs, scanned, WAIT_SECONDS, WEB_VIEW } from "./hold-clicks.ts";
import { type Open, recordOpensIn } from "./record-opens.ts";

/** No person follows two links of a mail, whose pictures they did not see, within so short a time. */
const SCAN_SECONDS = 5;
const MAILS_MAX = 100;

/** One process at a time judges: all clicks of a mail are judged together. */
const lock = advisoryLock("mail_clicks");
/**
 * Takes the clicks of mails whose first one has waited long enough, with the visits to which they led. A scanner follows different links in quick
 * succession, with no picture seen before; what it does just afterwards is a scanner's, too. A visit without a click in the set was led there by one that
 * was judged before: in a mail that is still unread that one was a machine's.
 */
const judgeStatement = prepared(
  "mail_clicks_judge",
  `with due as (
     select send_hash from mail_clicks where due_at <= now() group by send_hash order by min(due_at) limit ${MAILS_MAX}
   ), taken as (
     delete from mail_clicks c using due where c.send_hash = due.send_hash
     returning c.id, c.send_hash, c.target, c.clicked_at, c.hit, c.download, c.device, c.opened_from
   ), followed as (
     select *, lag(target) over earlier <> target and clicked_at - lag(clicked_at) over earlier < interval '${SCAN_SECONDS} seconds' as is_hasty
     from taken where target is not null window earlier as (partition by send_hash order by clicked_at, id)
   ), mails as (
     select send_hash, coalesce(bool_or(is_hasty), false) as is_hasty, min(clicked_at) as first_at from followed group by send_hash
   ), scanned as (
     update sends s set last_scanned = now() from mails m
     where s.hash = m.send_hash and coalesce(s.date_read > m.first_at, true)
       and (m.is_hasty or s.last_scanned > m.first_at - interval '${WAIT_SECONDS} seconds')
     returning s.hash)
   select send_hash, target, hit, download, device, opened_from,
     send_hash in (select hash from scanned)
       or send_hash not in (select send_hash from mails) and exists (select from sends s where s.hash = send_hash and not s.is_read) as is_scanned
   from taken order by id`,
);
/** Clicks for which no other job will come. */
const leftStatement = prepared(
  "mail_clicks_left",
  `select greatest(0, extract(epoch from min(due_at) - now())) as seconds from mail_clicks
   where not exists (select from jobs where kind = '${clickJobs.kind}' and state = 'waiting' and id <> $1)`,
);

/** A hit with the dynamic contents that its visitor saw while it waited. */
type HeldHit = Hit & { shown?: Shown[] };

interface JudgeOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  ids: ContactIds;
  recordDownloads(transaction: Transaction, downloads: Download[]): Promise<unknown>;
}

/** Decides whether clicks in mails that nobody had read are a person's, and records them. */
export function clickJudgement({ database, outbox, log, ids, recordDownloads }: JudgeOptions): JobOptions {
  return {
    database,
    log,
    jobs: clickJobs,
    async work(transaction, { id, payload }) {
      lock.exclusive(transaction);
      const rows = await transaction.query(judgeStatement, []);
      const hits = rows.flatMap(({ hit, is_scanned }) => judged<HeldHit>(hit, is_scanned));
      if (hits.length > 0) await recordJudgedHitsIn(transaction, { database, outbox, ids }, hits);
      const people = hits.filter(({ verdict }) => verdict !== "machine");
      await recordShownIn(
        transaction,
        outbox,
        people.flatMap(({ shown = [] }) => shown),
      );
      await recordDownloads(
        transaction,
        rows.flatMap(({ download, is_scanned }) => judged<Download>(download, is_scanned)),
      );
      await recordOpensIn(transaction, outbox, rows.filter(({ target }) => target !== null).map(openOf));
      const [left] = await transaction.query(leftStatement, [id]);
      if (left?.seconds == null) return { state: "done" };
      return { state: "again", payload, delaySeconds: Number(left.seconds) };
    },
  };
}

function openOf({ send_hash, target, device, opened_from, is_scanned }: Row): Open {
  return {
    hash: send_hash ?? "",
    by: target === WEB_VIEW ? "web view" : "click",
    verdict: is_scanned === "t" ? "scanner" : "human",
    ...(device && { device: JSON.parse(device) }),
    ...(opened_from && { from: JSON.parse(opened_from) }),
  };
}

/** A fact that waited, with its verdict. */
function judged<F extends VisitFact>(json: Row[string] | undefined, isScanned: Row[string] | undefined): F[] {
  if (!json) return [];
  const fact = JSON.parse(json) as F;
  return [isScanned === "t" ? scanned(fact) : fact];
}
