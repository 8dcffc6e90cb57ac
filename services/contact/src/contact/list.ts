import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Filterable } from "@tidings/resource/condition";
import { withTotal } from "@tidings/resource/kept-total";
import type { ListSource } from "@tidings/resource/list";
import { standardCommands } from "@tidings/resource/resource-list";
import { columnCommand, idsCommand, type SearchCommand } from "@tidings/resource/search";
import { totalOf } from "@tidings/resource/totals";
import { totalByColumn } from "@tidings/resource/totals-by-column";
import type { Call } from "@tidings/rpc/call";
import { sql } from "kysely";
import type { FieldSet } from "../field/catalogue.ts";
import { fieldExpression } from "../field/expression.ts";
import { fieldCommands, filterableRecordColumns } from "../record/filter.ts";
import { recordsOf } from "../record/reach.ts";
import { CONTACT_COLUMNS, CONTACT_SELECT } from "../rows/contact.ts";
import { CONTACT_TOTALS } from "../rows/totals.ts";
import { nearText } from "./near-text.ts";
import { relationCommands, segmentOf } from "./relation-commands.ts";

/** Columns that a plain search term looks into. */
const CATCH_ALL =
  `firstname lastname email company city state zipcode country facebook foursquare instagram linkedin
  skype twitter`.split(/\s+/);
const NOT_FILTERABLE = new Set([
  "version",
  "tag_ids",
  "ip_address_ids",
  "do_not_contact",
  "frequency_rules",
  "has_utm_tags",
  "custom",
]);

const { owner_id, is_published } = CONTACT_TOTALS;
const PUBLISHED = withTotal(sql`c.is_published`, totalByColumn(is_published, true));

// A constant of this program, not a caller's text.
const SELECT = sql.raw(CONTACT_SELECT);

const sources = new WeakMap<FieldSet, Omit<ListSource, "commands">>();

/** The search commands, filters and orders of the list of contacts. */
export function contactListSource(set: FieldSet, call: Call): ListSource {
  const base = sources.get(set) ?? {
    from: sql`contacts c`,
    id: column("id"),
    select: SELECT,
    columns: columnsOf(set),
    published: PUBLISHED,
    catchAll: [...CATCH_ALL.map(column), ...addedSocial(set)],
    near: nearText,
    keptTotal,
    defaultOrder: [{ column: "last_active", descending: true } as ListSource["defaultOrder"][number]],
  };
  sources.set(set, base);
  return { ...base, commands: contactCommands(set, call) };
}

/** Orders by the last modification have their index beside the contact: each change of it would write all indexes anew. */
const MODIFIED = {
  sql: sql.ref("m.date_modified"),
  type: "timestamp" as const,
  beside: { join: sql`join contact_modified m on m.id = c.id`, id: sql.ref("m.id") },
};

function columnsOf(set: FieldSet): ReadonlyMap<string, Filterable> {
  return filterableRecordColumns("c", CONTACT_COLUMNS, NOT_FILTERABLE, set, {
    near: nearText,
    totals: CONTACT_TOTALS,
  })
    .set("date_modified", MODIFIED)
    .set("dateModified", MODIFIED);
}

/** All contacts, or those of a segment. */
function keptTotal({ search }: ListQuery) {
  if (search.trim() === "") return totalOf("contacts");
  const alias = segmentOf(search);
  return alias === undefined
    ? undefined
    : totalOf("segment_contacts", sql`(select s.id from segments s where s.alias = ${alias})`);
}

/** Social handles that were added are searched too. */
function addedSocial(set: FieldSet) {
  return set.fields
    .filter(({ group, isColumn }) => group === "social" && !isColumn)
    .map((field) => fieldExpression(field).sql);
}

function contactCommands(set: FieldSet, call: Call): Map<string, SearchCommand> {
  const commands = standardCommands((name) => (name === "id" ? column(name) : undefined), call);
  for (const [alias, command] of fieldCommands(set, nearText)) commands.set(alias, command);
  const states = new Map([
    ["anonymous", sql`c.date_identified is null`],
    ["mine", recordsOf(call, "c.owner_id", owner_id)],
    ["unowned", withTotal(sql`c.owner_id is null`, totalByColumn(owner_id, null))],
    ["published", PUBLISHED],
    ["unpublished", withTotal(sql`not c.is_published`, totalByColumn(is_published, false))],
  ]);
  for (const [name, command] of relationCommands()) commands.set(name, command);
  const firstname = columnCommand(column("firstname"), nearText);
  const lastname = columnCommand(column("lastname"), nearText);
  const ownerFirst = columnCommand(sql`o.first_name`);
  const ownerLast = columnCommand(sql`o.last_name`);
  const stageName = columnCommand(sql`s.name`);
  return commands
    .set("ids", idsCommand(column("id")))
    .set("is", (term) => states.get(term.text))
    .set("name", (term) => sql`(${firstname(term)} or ${lastname(term)})`)
    .set(
      "owner",
      (term) =>
        sql`c.owner_id in (select o.id from owners o where ${ownerFirst(term)} or ${ownerLast(term)})`,
    )
    .set("stage", (term) => sql`c.stage_id in (select s.id from stages s where ${stageName(term)})`)
    .set("tag", (term) => {
      const named = columnCommand(sql`t.tag`)(term);
      return sql`c.tag_ids && array(select t.id from tags t where ${named})`;
    })
    .set("ip", (term) => {
      const named = columnCommand(sql`i.ip_address`)(term);
      return sql`c.ip_address_ids <> '{}' and c.ip_address_ids && array(select i.id from ip_addresses i where ${named})`;
    });
}

function column(name: string) {
  return sql.ref(`c.${name}`);
}
