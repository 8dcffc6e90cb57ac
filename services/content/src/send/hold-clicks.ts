import { randomUUID } from "node:crypto";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { Download } from "../asset/download.ts";
import { type Hold, heldProofs, waitingVisitor } from "../visit/held-visits.ts";
import type { Hit } from "../visit/hit.ts";
import type { VisitFact } from "../visit/visit-fact.ts";
import type { OpenDevice, OpenedFrom } from "./open-devices.ts";
import { recordOpensIn } from "./record-opens.ts";

/** A link of a mail that was followed: a tracked one, one to a page or a file of ours, or the one to the web view. Or a visit to which one led. */
export interface MailClick {
  /** A UUIDv7, and the time in it. */
  id: string;
  at: number;
  sendHash: string;
  /** The name of the link: clicks on different links have different ones. Undefined for a visit: it is no click. */
  target: string | undefined;
  /** The browser, where it may be known. */
  device?: OpenDevice | undefined;
  from?: OpenedFrom | undefined;
  /** Recorded once it is known whether a person made it; undefined where there is none. */
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

/** Mails, with their readers and what waits of them. */
const mailsStatement = prepared(
  "sends_clicked",
  `select hash, contact_id, is_read, (select count(*) from (select from mail_clicks c where c.send_hash = s.hash limit ${WAITING_MAX}) as counted) as waiting
   from sends s where hash = any ($1::uuid[])`,
);
const holdStatement = prepared(
  "mail_clicks_hold",
  `insert into mail_clicks (id, send_hash, target, clicked_at, due_at, hit, download, device, opened_from)
   select x.id, x.send_hash, x.target, x.clicked_at, now() + interval '${WAIT_SECONDS} seconds', x.hit, x.download, x.device, x.opened_from
   from json_to_recordset($1::json) as x (id uuid, send_hash uuid, target text, clicked_at timestamptz, hit jsonb, download jsonb, device jsonb, opened_from jsonb)
   order by x.id on conflict do nothing`,
);

/** One job a second and process: two processes do not put off each other's. */
const PROCESS = randomUUID();

/**
 * Lets clicks in mails that nobody has read wait, and visits as long as any click of their mail does. Answers those that wait, those that need not, those
 * that are too many, and the contacts that the mails went to.
 */
export async function holdMailClicks<C extends MailClick>(
  transaction: Transaction,
  clicks: C[],
): Promise<{ free: C[]; tooMany: C[]; held: C[]; readers: ReadonlyMap<string, number> }> {
  if (clicks.length === 0) return { free: [], tooMany: [], held: [], readers: new Map() };
  const hashes = [...new Set(clicks.map(({ sendHash }) => sendHash))];
  const rows = await transaction.query(mailsStatement, [hashes]);
  const mails = new Map(
    rows.map((row) => [row.hash, { isRead: row.is_read === "t", waiting: Number(row.waiting) }]),
  );
  const readers = new Map(rows.map(({ hash, contact_id }) => [hash ?? "", Number(contact_id)]));
  const {
    free = [],
    tooMany = [],
    held = [],
  } = Object.groupBy(clicks, ({ sendHash, target }) => {
    const { isRead, waiting } = mails.get(sendHash) ?? { isRead: true, waiting: 0 };
    if (isRead && (target !== undefined || waiting === 0)) return "free";
    return waiting < WAITING_MAX ? "held" : "tooMany";
  });
  if (held.length > 0) {
    const values = held.map(
      ({ id, at, sendHash, target = null, hit = null, download = null, device = null, from = null }) => ({
        ...{ id, send_hash: sendHash, target, clicked_at: new Date(at).toISOString(), hit, download, device },
        opened_from: from,
      }),
    );
    transaction.execute(holdStatement, [JSON.stringify(values)]);
    const key = `${PROCESS}:${Math.floor(Date.now() / 1_000)}`;
    clickJobs.add(transaction, [{ key, delaySeconds: WAIT_SECONDS }]);
  }
  return { free, tooMany, held, readers };
}

/** A hit or download as one of a scanner of mails: it has no visitor. */
export function scanned<F extends VisitFact>(fact: F): F {
  return { ...fact, verdict: "machine", reason: "scanner", device: undefined };
}

/** Keeps hits by links of unread mails, and those to which such a link led. */
export const holdClicks = clickHolder((hit: Hit) => ({ target: linkOf(hit), hit }));

/** The link of a mail that was followed; undefined where another link led there. */
function linkOf({ emailId, redirectId, pageId, code }: Hit): string | undefined {
  if (emailId === undefined) return undefined;
  if (redirectId !== undefined) return `redirect:${redirectId}`;
  if (pageId !== undefined) return `page:${pageId}`;
  // A page that is gone has no script that could have reported this.
  return code === 404 ? "no page" : undefined;
}

/** Keeps downloads by links of unread mails, and those to which such a link led. */
export const holdDownloads = clickHolder((download: Download) => ({
  target: download.emailId === undefined ? undefined : `asset:${download.assetId}`,
  download,
}));

/** Sorts facts. Clicks of machines are noted with their mails. */
function clickHolder<F extends VisitFact>(
  heldAs: (fact: F) => Pick<MailClick, "target" | "hit" | "download">,
): Hold<F> {
  return async (transaction, outbox, facts) => {
    const clicks = await clicksAmong(transaction, facts, heldAs);
    if (clicks.length === 0) return { judged: facts, waiting: new Map() };
    const { machines = [], others = [] } = Object.groupBy(clicks, ({ source }) =>
      source.verdict === "machine" ? "machines" : "others",
    );
    const { held, tooMany, readers } = await holdMailClicks(transaction, others);
    const noted = (some: MailClick[], verdict: "machine" | "scanner") =>
      some.flatMap(({ sendHash, target }) =>
        target === undefined ? [] : { hash: sendHash, by: "click" as const, verdict },
      );
    await recordOpensIn(transaction, outbox, [...noted(machines, "machine"), ...noted(tooMany, "scanner")]);
    const heldFacts = new Set(held.map(({ source }) => source));
    const tooManyFacts = new Set(tooMany.map(({ source }) => source));
    return {
      judged: facts.flatMap((fact) => {
        if (heldFacts.has(fact)) return [];
        return tooManyFacts.has(fact) ? scanned(fact) : fact;
      }),
      waiting: new Map(
        held.flatMap(({ source, sendHash, isOfReader }) => {
          const contactId = readers.get(sendHash);
          const isKnown = isOfReader && source.device !== undefined && contactId !== undefined;
          return isKnown ? [[source, waitingVisitor(contactId)] as const] : [];
        }),
      ),
    };
  };
}

/** Facts by links of mails, and of browsers that followed one which waits for its verdict. */
async function clicksAmong<F extends VisitFact>(
  transaction: Transaction,
  facts: F[],
  heldAs: (fact: F) => Pick<MailClick, "target" | "hit" | "download">,
) {
  const known = facts.flatMap(({ sendHash, device }) =>
    !sendHash && device && !device.isNew ? device.id : [],
  );
  const proofs = await heldProofs(transaction, [...new Set(known)]);
  return facts.flatMap((source): (MailClick & { source: F; isOfReader: boolean })[] => {
    const { id, at, ip, userAgent: agent, provenContactId } = source;
    const proof = source.sendHash ? undefined : proofs.get(source.device?.id ?? "");
    const sendHash = source.sendHash ?? proof?.sendHash;
    if (!sendHash) return [];
    const device = source.device && { id: source.device.id, ip };
    const isOfReader = proof !== undefined || provenContactId !== undefined;
    const from = { ip, agent };
    return [{ id, at, sendHash, source, device, from, isOfReader, ...heldAs(source) }];
  });
}
