import { randomUUID } from "node:crypto";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Download } from "../asset/download.ts";
import type { Hit } from "../visit/hit.ts";
import type { VisitFact } from "../visit/visit-fact.ts";
import type { OpenDevice } from "./open-devices.ts";
import { recordOpensIn } from "./record-opens.ts";

/** A link of a mail that was followed: a tracked one, one to a page or a file of ours, or the one to the web view. */
export interface MailClick {
  /** A UUIDv7, and the time in it. */
  id: string;
  at: number;
  sendHash: string;
  /** The name of the link: clicks on different links have different ones. */
  target: string;
  /** The browser, where it may be known. */
  device?: OpenDevice | undefined;
  /** Recorded once it is known whether a person made it; undefined where that was done, or there is none. */
  hit?: Hit;
  download?: Download;
}

/** A click waits so long for other links of the same mail. */
export const WAIT_SECONDS = 10;
/** More clicks of one mail do not wait: no person makes as many. */
const WAITING_MAX = 50;

/** The target of clicks on the link to the web view. */
export const WEB_VIEW = "web view";

export const clickJobs = jobsOf("mail_clicks");

/** Mails that nobody has read yet. */
const unreadStatement = prepared(
  "sends_unread",
  `select hash, (select count(*) from (select from mail_clicks c where c.send_hash = s.hash limit ${WAITING_MAX}) as counted) as waiting
   from sends s where hash = any ($1::uuid[]) and not is_read`,
);
const holdStatement = prepared(
  "mail_clicks_hold",
  `insert into mail_clicks (id, send_hash, target, clicked_at, due_at, hit, download, device)
   select x.id, x.send_hash, x.target, x.clicked_at, now() + interval '${WAIT_SECONDS} seconds', x.hit, x.download, x.device
   from json_to_recordset($1::json) as x (id uuid, send_hash uuid, target text, clicked_at timestamptz, hit jsonb, download jsonb, device jsonb)
   order by x.id on conflict do nothing`,
);

/** One job a second and process: two processes do not put off each other's. */
const PROCESS = randomUUID();

/** Lets clicks in mails that nobody has read wait. Answers those that wait, those that need not, and those that are too many. */
export async function holdMailClicks<C extends MailClick>(
  transaction: Transaction,
  clicks: C[],
): Promise<{ free: C[]; tooMany: C[]; held: C[] }> {
  if (clicks.length === 0) return { free: [], tooMany: [], held: [] };
  const hashes = [...new Set(clicks.map(({ sendHash }) => sendHash))];
  const rows = await transaction.query(unreadStatement, [hashes]);
  const unread = new Map(rows.map(({ hash, waiting }) => [hash, Number(waiting)]));
  const {
    free = [],
    tooMany = [],
    held = [],
  } = Object.groupBy(clicks, ({ sendHash }) => {
    const waiting = unread.get(sendHash);
    if (waiting === undefined) return "free";
    return waiting < WAITING_MAX ? "held" : "tooMany";
  });
  if (held.length > 0) {
    const values = held.map(({ id, at, sendHash, target, hit = null, download = null, device = null }) => ({
      ...{ id, send_hash: sendHash, target, clicked_at: new Date(at).toISOString(), hit, download, device },
    }));
    transaction.execute(holdStatement, [JSON.stringify(values)]);
    const key = `${PROCESS}:${Math.floor(Date.now() / 1_000)}`;
    clickJobs.add(transaction, [{ key, delaySeconds: WAIT_SECONDS }]);
  }
  return { free, tooMany, held };
}

/** A hit or download as one of a scanner of mails: it has no visitor. */
export function scanned<F extends VisitFact>(fact: F): F {
  return { ...fact, verdict: "machine", reason: "scanner", device: undefined };
}

/** Hits that are recorded now. Those by links of unread mails wait, but for pages, whose visitors see them at once. */
export const holdClicks = clickHolder((hit: Hit) => {
  const { redirectId, pageId } = hit;
  if (redirectId !== undefined) return { target: `redirect:${redirectId}`, hit };
  return pageId === undefined ? undefined : { target: `page:${pageId}` };
});

/** Downloads that are recorded now. Those by links of unread mails wait. */
export const holdDownloads = clickHolder((download: Download) => ({
  ...{ target: `asset:${download.assetId}`, download },
}));

/** Answers those of some facts that are recorded now, and keeps the others. Clicks of machines are noted with their mails. */
function clickHolder<F extends VisitFact>(
  linkOf: (fact: F) => Pick<MailClick, "target" | "hit" | "download"> | undefined,
) {
  return async (transaction: Transaction, outbox: Outbox, facts: F[]): Promise<F[]> => {
    const clicks = facts.flatMap((source): (MailClick & { source: F })[] => {
      const { id, at, sendHash, ip } = source;
      const link = sendHash ? linkOf(source) : undefined;
      const device = source.device && { id: source.device.id, ip };
      return link && sendHash ? [{ id, at, sendHash, source, device, ...link }] : [];
    });
    if (clicks.length === 0) return facts;
    const { machines = [], others = [] } = Object.groupBy(clicks, ({ source }) =>
      source.verdict === "machine" ? "machines" : "others",
    );
    const { held, tooMany } = await holdMailClicks(transaction, others);
    const noted = (some: MailClick[], verdict: "machine" | "scanner") =>
      some.map(({ sendHash }) => ({ hash: sendHash, by: "click" as const, verdict }));
    await recordOpensIn(transaction, outbox, [...noted(machines, "machine"), ...noted(tooMany, "scanner")]);
    const waiting = new Set(held.filter(({ hit, download }) => hit ?? download).map(({ source }) => source));
    const tooManyFacts = new Set(tooMany.map(({ source }) => source));
    return facts.flatMap((fact) => {
      if (waiting.has(fact)) return [];
      return tooManyFacts.has(fact) ? scanned(fact) : fact;
    });
  };
}
