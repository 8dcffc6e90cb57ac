import { columnCommand, idsCommand, parseSearch, type SearchCommand } from "@tidings/resource/search";
import { type RawBuilder, sql } from "kysely";
import { refusedAddress } from "./refused-address.ts";

type Condition = RawBuilder<unknown>;

/** The root of the family of an email `e`: the original of a translation, and the parent of a variant. */
const ROOT = `(select coalesce(o.variant_parent_id, o.id) from emails o where o.id = coalesce(e.translation_parent_id, e.id))`;
const FAMILIES = `(select e.id, ${ROOT} as root_id from emails e)`;

/** Members of the segments of an email `e`, but for those who got a mail of its family, refuse its category, or are in an excluded segment (engines.md 6.2). */
const PENDING = `segment_contacts r join email_segments e on e.segment_id = r.segment_id and not r.manually_removed
  and not exists (select from email_sends s where s.email_id = e.email_id and s.contact_id = r.contact_id)
  and not exists (
    select from ${FAMILIES} own join ${FAMILIES} other on other.root_id = own.root_id
    join email_sends s on s.email_id = other.id
    where own.id = e.email_id and s.contact_id = r.contact_id)
  and not exists (
    select from emails own join refused_categories k on k.category_id = own.category_id
    where own.id = e.email_id and k.contact_id = r.contact_id)
  and not exists (
    select from emails own cross join unnest(own.excluded_segment_ids) as excluded (id)
    join segment_contacts x on x.segment_id = excluded.id and not x.manually_removed
    where own.id = e.email_id and x.contact_id = r.contact_id)`;

/** Search commands for relations and activities of contacts. With `!` a contact has none of the kind. */
export function relationCommands(): [name: string, command: SearchCommand][] {
  return [
    [
      "company",
      having("company_contacts r join companies co on co.id = r.company_id", text("co.companyname")),
    ],
    ["company_id", having("company_contacts r", id("r.company_id"))],
    ["email_sent", having("email_sends r", id("r.email_id"), sql`r.date_sent is not null`)],
    ["email_read", having("email_sends r", id("r.email_id"), sql`r.date_read is not null`)],
    [
      "email_queued",
      having("email_sends r", id("r.email_id"), sql`r.date_queued is not null and r.date_sent is null`),
    ],
    [
      "email_pending",
      (term) =>
        sql`(coalesce(c.email, '') <> '' and ${sql.raw(refusedAddress("email"))} is null
          and ${having(PENDING, id("e.email_id"))(term)})`,
    ],
    ["sms_sent", having("sms_sends r", id("r.sms_id"))],
    ["web_sent", having("notification_sends r", id("r.notification_id"), sql`not r.is_mobile`)],
    ["mobile_sent", having("notification_sends r", id("r.notification_id"), sql`r.is_mobile`)],
    ["page_id", having("page_hits r", id("r.page_id"))],
    ["page_source", having("page_hits r", text("r.source"))],
    ["page_source_id", having("page_hits r", id("r.source_id"))],
    ["segment", ({ text: alias }) => memberOf(alias)],
    // Members of each of them: `one+two`.
    ["common", ({ text: aliases }) => sql`(${sql.join(aliases.split("+").map(memberOf), sql` and `)})`],
  ];
}

/** The alias of the segment whose members a search asks for, if it asks for nothing else. */
export function segmentOf(search: string): string | undefined {
  const { nodes, negated } = parseSearch(search);
  const [node, ...others] = nodes;
  const isMembers =
    !negated && others.length === 0 && node?.kind === "term" && node.command === "segment" && !node.negated;
  return isMembers ? node.text : undefined;
}

/** Contacts with a row `r` among these that fits. */
function having(rows: string, fits: SearchCommand, condition: Condition = sql`true`): SearchCommand {
  return (term) =>
    sql`c.id in (select r.contact_id from ${sql.raw(rows)} where ${fits(term)} and ${condition})`;
}

function id(column: string): SearchCommand {
  return idsCommand(sql.ref(column));
}

function text(column: string): SearchCommand {
  return columnCommand(sql.ref(column));
}

/** Members of one segment, by its exact alias; nobody for one that nothing has. */
function memberOf(alias: string) {
  return sql`c.id in (select m.contact_id from segment_contacts m
    where m.segment_id = (select s.id from segments s where s.alias = ${alias}) and not m.manually_removed)`;
}
