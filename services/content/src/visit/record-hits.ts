import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { Outbox } from "@tidings/messaging/outbox";
import { PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { Counter, Histogram } from "prom-client";
import type { ContactIds } from "./contact-ids.ts";
import { countHits } from "./count-hits.ts";
import { type FactRow, factReader } from "./fact-kind.ts";
import { columnsIn, insertFacts } from "./fact-table.ts";
import { groupCommit } from "./group-commit.ts";
import { type Hold, heldProofs, leaveHeld, waitingVisitor } from "./held-visits.ts";
import { type Hit, timeOfId } from "./hit.ts";
import { planIdentifications, type SaidOfVisitor } from "./identify.ts";
import { countedVerdict, isKept, type Met, meetVisitors, sightingsOf } from "./meet-visitors.ts";
import type { Visitor } from "./sighting.ts";
import type { VisitFact } from "./visit-fact.ts";
import { visitMembers, visitRow } from "./visit-row.ts";
import { HIT_COLUMNS } from "./visit-tables.ts";
import { seeVisitors } from "./visitors.ts";

const recorded = new Counter({
  name: "tidings_hits_total",
  help: "Hits of pages and links that were recorded, by the verdict on the visitor; `nobody`: without consent, counted alone",
  labelNames: ["verdict"],
});
const groupSize = new Histogram({
  name: "tidings_hit_group_size",
  help: "Hits that were committed together",
  buckets: [1, 2, 5, 10, 25, 50, 100, 250, 500],
});

export interface Visits {
  database: Database;
  outbox: Outbox;
  ids: ContactIds;
}

/** The parts that hits are recorded with. */
export interface HitsRecording extends Visits {
  holdHits: Hold<Hit>;
}

/** Records a hit and answers who the visitor is, once it is durable; undefined for a machine, and for who may not be known. */
export type RecordHit = (hit: Hit) => Promise<Visitor | undefined>;

export function hitRecorder(visits: HitsRecording): RecordHit {
  return groupCommit((hits) => recordHits(visits, hits));
}

/** Notes the visitor of a fact that is not recorded, and answers who it is; undefined for one who may not be known. */
export type See = (fact: VisitFact) => Promise<Visitor | undefined>;

export function visitorSeer({ database, outbox, ids }: Visits): See {
  return async (fact) =>
    database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        const proof = fact.device && (await heldProofs(transaction, [fact.device.id])).get(fact.device.id);
        if (proof) return waitingVisitor(proof.contactId);
        const { visitors, events } = await seeVisitors(transaction, ids, sightingsOf(fact));
        outbox.append(transaction, events);
        return visitors.get(fact.device?.id ?? "");
      },
      { byIndex: true },
    );
}

/** Notes that a visitor left a page, by the id of the hit. */
export type Leave = (leaving: Leaving) => Promise<void>;

export function leavingRecorder({ database, outbox }: Visits): Leave {
  return async (leaving) =>
    database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        // A hit that waits is asked about first: while it is recorded this waits for the commit.
        leaveHeld(transaction, leaving);
        const left = await leave(transaction, [leaving]);
        outbox.append(
          transaction,
          factEvents(HITS_SUBJECT, PageHitsSchema, left, (hits) => ({ hits })),
        );
      },
      { byIndex: true },
    );
}

/** Records hits in one transaction. */
async function recordHits(visits: HitsRecording, hits: Hit[]): Promise<ReadonlyMap<Hit, Visitor>> {
  const { visitors } = await visits.database.transaction(
    backgroundDeadline(),
    (transaction) => recordHitsIn(transaction, visits, hits),
    { byIndex: true },
  );
  groupSize.observe(hits.length);
  return visitors;
}

/**
 * Records hits as a part of a transaction: rows, counters, what follows from them, and their events. Clicks in mails that nobody has read yet, and the
 * visits to which they led, are kept, and recorded when it is known whether a person made them.
 */
export async function recordHitsIn(
  transaction: Transaction,
  visits: HitsRecording,
  arrived: Hit[],
): Promise<Met<Hit>> {
  const { judged, waiting } = await visits.holdHits(transaction, visits.outbox, arrived);
  const met = await recordJudgedHitsIn(transaction, visits, judged);
  return { ...met, visitors: new Map([...met.visitors, ...waiting]) };
}

/** The same of hits whose verdict is final. */
export async function recordJudgedHitsIn(
  transaction: Transaction,
  { outbox, ids }: Visits,
  sent: Hit[],
): Promise<Met<Hit>> {
  const met = await meetVisitors(transaction, ids, sent, { targetsOf, hitIdOf: ({ id }) => id });
  const { visitors, facts: hits, events, unique } = met;
  const visitorOf = (hit: Hit) => visitors.get(hit);
  const facts = hits.filter(isKept);
  const leavings = leavingsOf(hits, visitorOf);
  const rows = facts.map((hit) => {
    const leftAt = hit.leftAt ?? leavings.within.get(hit.id);
    return rowOf(hit, visitorOf(hit), { isUnique: unique.has(hit), leftAt });
  });
  transaction.execute(insertStatement, [JSON.stringify(rows)]);
  const left = leavings.before.length > 0 ? await leave(transaction, leavings.before) : [];
  countHits(transaction, hits, unique);
  await identifyAll(transaction, ids, hits, { visitorOf, occasionOf: ({ id }) => `hit ${id}` });
  outbox.append(transaction, [
    ...events,
    ...factEvents(
      HITS_SUBJECT,
      PageHitsSchema,
      [...rows.map((row, index) => eventOf(row, facts[index]?.page)), ...left],
      (hits) => ({ hits }),
    ),
  ]);
  transaction.afterCommit(() => {
    for (const hit of hits) recorded.inc({ verdict: countedVerdict(hit) });
  });
  return met;
}

export const HITS_SUBJECT = "tidings.content.page.hit";

function targetsOf({ pageId, redirectId }: Hit): string[] {
  return [
    ...(pageId === undefined ? [] : [`page:${pageId}`]),
    ...(redirectId === undefined ? [] : [`redirect:${redirectId}`]),
  ];
}

const insertStatement = insertFacts("page_hits", HIT_COLUMNS);

type HitRow = ReturnType<typeof rowOf>;

function rowOf(
  hit: Hit,
  visitor: Visitor | undefined,
  { isUnique, leftAt }: { isUnique: boolean; leftAt: number | undefined },
) {
  return {
    ...visitRow(hit),
    id: hit.id,
    version: 1,
    contact_id: visitor?.contactId ?? null,
    date_hit: new Date(hit.at).toISOString(),
    date_left: leftAt === undefined ? null : new Date(leftAt).toISOString(),
    page_id: hit.pageId ?? null,
    redirect_id: hit.redirectId ?? null,
    email_id: hit.emailId ?? null,
    variant_parent_id: hit.variantParentId ?? null,
    url_title: hit.urlTitle || null,
    source: hit.source || null,
    source_id: hit.sourceId ?? null,
    is_unique: isUnique,
  };
}

interface Leaving {
  id: string;
  at: number;
}

/** A visitor who is somewhere else has left where they were: hits before this group, and hits within it. */
function leavingsOf(hits: Hit[], visitorOf: (hit: Hit) => Visitor | undefined) {
  const latest = new Map<string, Hit>();
  const within = new Map<string, number>();
  const before: Leaving[] = [];
  for (const hit of hits) {
    if (!hit.device) continue;
    const earlier = latest.get(hit.device.id);
    const previousId = visitorOf(hit)?.previousHitId;
    if (earlier) within.set(earlier.id, hit.at);
    else if (previousId) before.push({ id: previousId, at: hit.at });
    latest.set(hit.device.id, hit);
  }
  return { within, before };
}

/** The time of a hit is in its id: only the partition of its month is looked into. */
const leaveStatement = prepared(
  "page_hits_leave",
  `update page_hits h set date_left = x.date_left, version = h.version + 1
   from json_to_recordset($1::json) as x (id uuid, date_hit timestamptz, date_left timestamptz)
   where h.id = x.id and h.date_hit = x.date_hit and h.date_left is null
   returning ${columnsIn("h", HIT_COLUMNS)}`,
);

/** Hits that visitors leave now, as events carry them. A time that was set stays. */
async function leave(transaction: Transaction, leavings: Leaving[]) {
  const sent = leavings
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id, at }) => ({
      id,
      date_hit: timeOfId(id).toISOString(),
      date_left: new Date(at).toISOString(),
    }));
  return (await transaction.query(leaveStatement, [JSON.stringify(sent)])).map((row) => eventOfStored(row));
}

/** Plans what follows from values and tags that pages sent of their visitors. */
export async function identifyAll(
  transaction: Transaction,
  ids: ContactIds,
  hits: Hit[],
  {
    visitorOf,
    occasionOf,
  }: { visitorOf: (hit: Hit) => Visitor | undefined; occasionOf: (hit: Hit) => string },
): Promise<void> {
  const saying = hits.filter(
    (hit) => visitorOf(hit) && (hit.tags !== "" || Object.keys(hit.values).length > 0),
  );
  if (saying.length === 0) return;
  const newIds = await ids.take(saying.length);
  const said = saying.flatMap((hit, index): SaidOfVisitor[] => {
    const contactId = visitorOf(hit)?.contactId;
    const newContactId = newIds[index];
    if (contactId === undefined || newContactId === undefined || !hit.device) return [];
    const { device, values, tags, saidBy = "query" } = hit;
    return [
      {
        occasion: occasionOf(hit),
        deviceId: device.id,
        contactId,
        values,
        tags,
        newContactId,
        proof: saidBy,
      },
    ];
  });
  planIdentifications(transaction, said);
}

function eventOf(row: HitRow, page: Hit["page"]) {
  return {
    ...eventOfStored(row),
    ...(page && {
      pageTitle: page.title,
      pageAlias: page.alias,
      pageCategory: Buffer.from(page.category),
    }),
  };
}

/** A hit as events carry it, from a new row or from one that the database has. */
export function eventOfStored(row: FactRow) {
  const { text, number, optional, flag, time } = factReader(row);
  const [pageId, redirectId, emailId] = [optional("page_id"), optional("redirect_id"), optional("email_id")];
  const [sourceId, variantParentId] = [optional("source_id"), optional("variant_parent_id")];
  const dateLeft = time("date_left");
  return {
    ...visitMembers(row),
    id: text("id"),
    version: number("version"),
    contactId: number("contact_id"),
    dateHit: timestampFromDate(timeOfId(text("id"))),
    ...(dateLeft && { dateLeft }),
    isUnique: flag("is_unique"),
    urlTitle: text("url_title"),
    source: text("source"),
    ...(sourceId !== undefined && { sourceId }),
    ...(pageId !== undefined && { pageId }),
    ...(redirectId !== undefined && { redirectId }),
    ...(emailId !== undefined && { emailId }),
    ...(variantParentId !== undefined && { variantParentId }),
  };
}
