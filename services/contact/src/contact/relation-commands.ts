import { columnCommand, idsCommand, parseSearch, type SearchCommand } from "@tidings/resource/search";
import { type RawBuilder, sql } from "kysely";

type Condition = RawBuilder<unknown>;

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
      having(
        `segment_contacts r join email_segments e on e.segment_id = r.segment_id and not r.manually_removed
         and not exists (select from email_sends s where s.email_id = e.email_id and s.contact_id = r.contact_id)`,
        id("e.email_id"),
      ),
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
