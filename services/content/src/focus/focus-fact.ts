import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { type FocusStatSchema, FocusStatsSchema } from "@tidings/proto/tidings/content/v1/events";
import { Counter } from "prom-client";
import { type FactRow, factReader } from "../visit/fact-kind.ts";
import { factTable } from "../visit/fact-table.ts";
import { timeOfId } from "../visit/hit.ts";
import { countedVerdict } from "../visit/meet-visitors.ts";
import type { RecordedKind } from "../visit/record-facts.ts";
import type { Visitor } from "../visit/sighting.ts";
import { sumVisits } from "../visit/sum-visits.ts";
import type { VisitFact } from "../visit/visit-fact.ts";

const recorded = new Counter({
  name: "tidings_focus_events_total",
  help: "Views and clicks of focus items that were recorded, by the verdict on the visitor; `nobody`: without consent, counted alone",
  labelNames: ["type", "verdict"],
});

/** A focus item was shown to a visitor, or a link in it was followed. */
export interface FocusFact extends VisitFact {
  focusId: number;
  type: "view" | "click";
}

const COLUMNS = {
  /** A UUIDv7, whose time is that of the fact. */
  id: "uuid",
  focus_id: "integer",
  /** Null: a machine. */
  contact_id: "integer",
  type: "text",
  type_id: "integer",
  date_added: "timestamptz",
  url: "text",
  tracking_id: "text",
  is_unique: "boolean",
  verdict: "text",
  verdict_reason: "text",
} as const;

/** SQL of a migration: views and clicks of focus items, and their sums. */
export const FOCUS_TABLES = [
  ...factTable("focus_stats", COLUMNS, "date_added"),
  `alter table focus_items add column view_count integer not null default 0,
     add column unique_view_count integer not null default 0, add column click_count integer not null default 0,
     add column unique_click_count integer not null default 0`,
];

const SUBJECTS: Record<string, string> = {
  view: "tidings.content.focus.seen",
  click: "tidings.content.focus.clicked",
};

/** Views and clicks of focus items: their rows, counters and events. */
export const FOCUS_FACTS: RecordedKind<FocusFact, typeof FocusStatsSchema> = {
  schema: FocusStatsSchema,
  table: "focus_stats",
  columns: COLUMNS,
  subjectOf: ({ type }) => SUBJECTS[String(type)] ?? "",
  messageOf: (rows) => ({ stats: rows.map(eventOf) }),
  targetsOf: ({ focusId, type }) => [`focus ${type}:${focusId}`],
  rowOf,
  count,
};

function rowOf(fact: FocusFact, visitor: Visitor | undefined, isUnique: boolean) {
  return {
    id: fact.id,
    focus_id: fact.focusId,
    contact_id: visitor?.contactId ?? null,
    type: fact.type,
    type_id: null,
    date_added: timeOfId(fact.id).toISOString(),
    url: fact.url || null,
    tracking_id: fact.device?.id ?? null,
    is_unique: isUnique,
    verdict: fact.verdict,
    verdict_reason: fact.reason || null,
  } satisfies Record<keyof typeof COLUMNS, unknown>;
}

function eventOf(row: FactRow): MessageInitShape<typeof FocusStatSchema> {
  const { text, number, optional, flag } = factReader(row);
  const typeId = optional("type_id");
  return {
    id: text("id"),
    contactId: number("contact_id"),
    focusId: number("focus_id"),
    type: text("type"),
    ...(typeId !== undefined && { typeId }),
    dateAdded: timestampFromDate(timeOfId(text("id"))),
    url: text("url"),
    deviceId: text("tracking_id"),
    isUnique: flag("is_unique"),
    verdict: text("verdict"),
    verdictReason: text("verdict_reason"),
  };
}

const countStatement = prepared(
  "focus_items_count",
  `update focus_items i set view_count = i.view_count + x.views, unique_view_count = i.unique_view_count + x.unique_views,
     click_count = i.click_count + x.clicks, unique_click_count = i.unique_click_count + x.unique_clicks
   from (select id, coalesce(sum(hits) filter (where type = 'view'), 0) as views,
       coalesce(sum(unique_hits) filter (where type = 'view'), 0) as unique_views,
       coalesce(sum(hits) filter (where type = 'click'), 0) as clicks,
       coalesce(sum(unique_hits) filter (where type = 'click'), 0) as unique_clicks
     from json_to_recordset($1::json) as x (id integer, type text, hits integer, unique_hits integer)
     group by id order by id) x
   where i.id = x.id`,
);

/** Machines change no counter; a person who may not be known changes those that are not of unique facts. */
function count(transaction: Transaction, facts: FocusFact[], unique: ReadonlySet<FocusFact>): void {
  const counted = facts.filter(({ verdict }) => verdict !== "machine");
  const sums = sumVisits(counted, unique, ({ focusId: id, type }) => ({ id, type }));
  if (sums.length > 0) transaction.execute(countStatement, [JSON.stringify(sums)]);
  transaction.afterCommit(() => {
    for (const fact of facts) recorded.inc({ type: fact.type, verdict: countedVerdict(fact) });
  });
}
