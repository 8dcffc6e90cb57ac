import { create } from "@bufbuild/protobuf";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { type Condition, type ListQuery, OrderSchema } from "@tidings/proto/tidings/type/v1/list";
import type { ColumnType } from "@tidings/resource/columns";
import { all, EVERYTHING, type Filterable } from "@tidings/resource/condition";
import type { ListSource } from "@tidings/resource/list";
import { idsCommand } from "@tidings/resource/search";
import { type Total, totalOf } from "@tidings/resource/totals";
import { type RawBuilder, sql } from "kysely";
import { isKept } from "./field-types.ts";
import { SPAM_TOTAL } from "./spam.ts";
import { SUBMISSION_TOTAL } from "./submission-tables.ts";

/** Columns of a submission, under the names that callers know. The ip is a table of its own to them. */
const COLUMNS: [name: string, column: string, type: ColumnType][] = [
  ["s.id", "id", "integer"],
  ["s.form_id", "form_id", "integer"],
  ["s.lead_id", "contact_id", "integer"],
  ["s.date_submitted", "date_submitted", "timestamp"],
  ["s.tracking_id", "tracking_id", "text"],
  ["s.referer", "referer", "text"],
  ["s.page_id", "page_id", "integer"],
  ["i.ip", "ip", "text"],
  ["i.ip_address", "ip", "text"],
  ["id", "id", "integer"],
  ["dateSubmitted", "date_submitted", "timestamp"],
  ["date_submitted", "date_submitted", "timestamp"],
  ["trackingId", "tracking_id", "text"],
  ["tracking_id", "tracking_id", "text"],
  ["referer", "referer", "text"],
  ["page", "page_id", "integer"],
];

const SELECTED = sql.raw(
  "s.id, s.contact_id, s.ip, s.tracking_id, s.date_submitted, s.referer, s.page_id, s.results, s.reason",
);
const RESULTS_TEXT = sql`jsonb_path_query_array(s.results, '$.*')::text`;
const DEFAULT_ORDER = [create(OrderSchema, { column: "s.date_submitted" })];

/** Submissions that are read at most for a list which no index serves. */
const LOOKED_AT_MAX = 100_000;

/** A kind of submissions of one form, with the SQL of what only one of the kinds has. */
interface Kind {
  total: Total;
  contact: RawBuilder<unknown>;
  reason: RawBuilder<unknown>;
}

const GOOD: Kind = {
  total: SUBMISSION_TOTAL,
  contact: sql.ref("contact_id"),
  reason: sql`null::text as reason`,
};
const SPAM: Kind = {
  total: SPAM_TOTAL,
  contact: sql`null::integer as contact_id`,
  reason: sql.ref("reason"),
};

/** The submissions of a form, of one contact where that is named. Each list looks into its own part of an index. */
export function submissionList(form: Form, query: ListQuery, contactId?: number): ListSource {
  const ofContact = contactId === undefined ? EVERYTHING : sql`contact_id = ${contactId}::integer`;
  return listOf(form, query, GOOD, ofContact);
}

/** The spam of a form. */
export function spamList(form: Form, query: ListQuery): ListSource {
  return listOf(form, query, SPAM, EVERYTHING);
}

function listOf(
  form: Form,
  query: ListQuery,
  { total, contact, reason }: Kind,
  ofContact: RawBuilder<unknown>,
): ListSource {
  const columns = new Map<string, Filterable>(
    COLUMNS.map(([name, column, type]) => [name, { sql: sql.ref(`s.${column}`), type }]),
  );
  for (const { alias, id } of form.fields.filter(isKept))
    columns.set(`r.${alias}`, { sql: resultOf(id), type: "text" });
  const ofForm = sql`form_id = ${form.id}::integer`;
  const kept = totalOf(total.table, sql`${form.id}::integer`);
  const isAll = ofContact === EVERYTHING;
  const latest = isAll && isUnserved(query) ? since(total.table, ofForm, kept) : EVERYTHING;
  const rows = sql`${sql.ref(total.table)} where ${all([ofForm, ofContact, latest])}`;
  return {
    from: sql`(select id, form_id, ${contact}, ip, tracking_id, date_submitted, referer, page_id, results, ${reason}
      from ${rows}) as s`,
    id: sql`s.id`,
    select: SELECTED,
    columns,
    published: undefined,
    catchAll: [RESULTS_TEXT, sql`s.ip`, sql`s.referer`, sql`s.tracking_id`],
    commands: new Map([["ids", idsCommand(sql`s.id`)]]),
    defaultOrder: DEFAULT_ORDER,
    keptTotal({ search }: ListQuery) {
      if (search.trim() !== "" || !isAll) return undefined;
      if (latest === EVERYTHING) return kept;
      return sql`select case when (${kept}) <= ${sql.lit(LOOKED_AT_MAX)} then (${kept}) else (select count(*) from ${rows}) end`;
    },
  };
}

/** Orders and conditions that are about the date, the id or the contact find their rows by an index. */
const SERVED = new Set(
  COLUMNS.flatMap(([name, column]) =>
    ["id", "form_id", "contact_id", "date_submitted"].includes(column) ? name : [],
  ),
);
const DATES = new Set(COLUMNS.flatMap(([name, column]) => (column === "date_submitted" ? name : [])));

/** Is the list ordered or searched by what no index has, and not limited by a date? */
function isUnserved({ search, order, where }: ListQuery): boolean {
  if (where.some(({ column }) => DATES.has(column))) return false;
  return (
    search.trim() !== "" || order.some(({ column }) => !SERVED.has(column)) || where.some(isConditionUnserved)
  );
}

function isConditionUnserved({ column, conditions }: Condition): boolean {
  return conditions.length > 0 ? conditions.some(isConditionUnserved) : !SERVED.has(column);
}

/** The latest submissions of a form that has many: the order of the index is walked back to the first of them. */
function since(table: string, ofForm: RawBuilder<unknown>, kept: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`date_submitted >= coalesce((select date_submitted from ${sql.ref(table)} where ${ofForm}
      order by form_id desc, date_submitted desc nulls last, id desc offset ${sql.lit(LOOKED_AT_MAX - 1)}
      limit case when (${kept}) > ${sql.lit(LOOKED_AT_MAX)} then 1 else 0 end), '-infinity')`;
}

function resultOf(fieldId: number): RawBuilder<unknown> {
  return sql`(s.results ->> ${String(fieldId)}::text)`;
}
