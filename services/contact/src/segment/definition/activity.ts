import { compare, type Predicate } from "@tidings/filters/compare-in-sql";
import { idsOf } from "@tidings/filters/operand";
import { counterpartOf, OPERATORS, type ValueKind } from "@tidings/filters/operators";
import { type RawBuilder, sql } from "kysely";
import { constantly, leftOf, type Subject, setSubject, valueSubject } from "./subject.ts";

/** Rows that belong to the contact, to be continued by `and`. */
function rowsOf(table: string, condition: Predicate = sql`true`): RawBuilder<unknown> {
  return sql`${sql.table(table)} r where r.contact_id = c.id and ${condition}`;
}

/** A column of rows: any one of them will do, and what is asked to be different must be so in all. */
function anyRow(table: string, column: string, kind: ValueKind, condition?: Predicate): Subject {
  const value = { sql: sql.ref(`r.${column}`), kind };
  const rows = rowsOf(table, condition);
  const some = (predicate: Predicate) => sql`exists (select from ${rows} and ${predicate})`;
  return {
    type: kind,
    operators: OPERATORS[kind],
    reads: [table],
    compare(operator, operand, today) {
      if (operator === "empty") {
        const { predicate, isDaily } = compare(value, "!empty", operand, today);
        return { predicate: sql`not ${some(predicate)}`, isDaily };
      }
      const positive = counterpartOf(operator);
      const { predicate, isDaily } = compare(value, positive ?? operator, operand, today);
      return { predicate: positive ? sql`not ${some(predicate)}` : some(predicate), isDaily };
    },
    left: leftOf(rows, value.sql),
  };
}

/** Is there such a row? */
function exists(table: string, condition?: Predicate): Subject {
  const value = sql`exists (select from ${rowsOf(table, condition)})`;
  return valueSubject("boolean", [table], { sql: value, kind: "boolean" });
}

/** A number made of all rows. */
function total(table: string, what: RawBuilder<unknown>, condition?: Predicate): Subject {
  const value = sql`(select ${what} from ${rowsOf(table, condition)})`;
  return valueSubject("number", [table], { sql: value, kind: "number" });
}

/** The ids that rows have. */
function idsIn(type: string, table: string, column: string, condition?: Predicate): Subject {
  const rows = rowsOf(table, condition);
  const id = sql.ref(`r.${column}`);
  return setSubject({
    type,
    reads: [table],
    hasOne: (ids) => constantly(sql`exists (select from ${rows} and ${id} = any(${idsOf(ids)}::integer[]))`),
    hasAny: sql`exists (select from ${rows})`,
    left: leftOf(rows, id),
  });
}

/** The names that rows have. */
function namesIn(table: string, column: string): Subject {
  const rows = rowsOf(table);
  const name = sql.ref(`r.${column}`);
  return setSubject({
    type: "multiselect",
    reads: [table],
    hasOne: (names) =>
      constantly(sql`exists (select from ${rows}
        and lower(${name}) = any(array(select lower(t) from unnest(${names}::text[]) as t)))`),
    hasAny: sql`exists (select from ${rows} and ${name} <> '')`,
    left: leftOf(rows, name),
  });
}

const FROM_EMAIL = sql`r.redirect_id is not null and r.source = 'email'`;
const FROM_SMS = sql`r.redirect_id is not null and r.source = 'sms'`;

/** A page seen of one's own accord begins a session when none was seen in the half hour before. */
const BEGINS_SESSION = sql`r.email_id is null and r.redirect_id is null and not exists (
  select from page_hits p where p.contact_id = r.contact_id and p.email_id is null and p.redirect_id is null
    and p.date_hit >= r.date_hit - interval '30 minutes' and (p.date_hit, p.id) < (r.date_hit, r.id))`;

/** Activities of contacts, by the names that filters have for them. */
export const activities: ReadonlyMap<string, Subject> = new Map<string, Subject>([
  ["campaign", idsIn("campaign", "campaign_contacts", "campaign_id", sql`not r.manually_removed`)],
  ["globalcategory", idsIn("globalcategory", "contact_categories", "category_id")],
  ["device_type", namesIn("devices", "device")],
  ["device_brand", namesIn("devices", "device_brand")],
  ["device_os", namesIn("devices", "device_os_name")],
  ["device_model", anyRow("devices", "device_model", "text")],
  ...["utm_campaign", "utm_content", "utm_medium", "utm_source", "utm_term"].map(
    (name) => [name, anyRow("utm_tags", name, "text")] as const,
  ),
  [
    "lead_email_received",
    idsIn("lead_email_received", "email_sends", "email_id", sql`r.date_read is not null`),
  ],
  ["lead_email_sent", idsIn("lead_email_received", "email_sends", "email_id", sql`r.date_sent is not null`)],
  ["lead_email_sent_date", anyRow("email_sends", "date_sent", "datetime")],
  ["lead_email_read_date", anyRow("email_sends", "date_read", "datetime")],
  ["lead_email_read_count", total("email_sends", sql`coalesce(sum(r.read_count), 0)`)],
  ["hit_url", anyRow("page_hits", "url", "text")],
  ["hit_url_date", anyRow("page_hits", "date_hit", "datetime")],
  ["hit_url_count", total("page_hits", sql`count(*)`)],
  ["email_id", exists("page_hits", FROM_EMAIL)],
  ["email_clicked_link_date", anyRow("page_hits", "date_hit", "datetime", FROM_EMAIL)],
  ["sms_clicked_link", exists("page_hits", FROM_SMS)],
  ["sms_clicked_link_date", anyRow("page_hits", "date_hit", "datetime", FROM_SMS)],
  ["sessions", total("page_hits", sql`count(*)`, BEGINS_SESSION)],
  ["referer", anyRow("page_hits", "referer", "text")],
  ["url_title", anyRow("page_hits", "url_title", "text")],
  ["source", anyRow("page_hits", "source", "text")],
  ["source_id", anyRow("page_hits", "source_id", "number")],
  ["page_id", exists("page_hits", sql`r.page_id is not null`)],
  ["redirect_id", exists("page_hits", sql`r.redirect_id is not null`)],
  ["notification", exists("push_ids")],
  ["lead_asset_download", idsIn("lead_asset_download", "asset_downloads", "asset_id")],
]);
