import type { Call } from "@tidings/rpc/call";
import type { ColumnType } from "@tidings/store/columns";
import type { Filterable } from "@tidings/store/condition";
import type { ListSource } from "@tidings/store/list";
import { standardCommands } from "@tidings/store/repository";
import { columnCommand, idsCommand, type SearchCommand } from "@tidings/store/search";
import { sql } from "kysely";
import type { FieldCatalogue } from "./field.ts";
import { CONTACT_COLUMNS, CONTACT_SELECT } from "./row.ts";

const CATCH_ALL = ["firstname", "lastname", "email", "company", "city", "state", "zipcode", "country"];
const NOT_FILTERABLE = new Set(["version", "tag_ids", "ip_address_ids", "do_not_contact", "frequency_rules"]);

const TYPES: Record<string, ColumnType> = {
  integer: "integer",
  boolean: "boolean",
  timestamptz: "timestamp",
  numeric: "double",
  text: "text",
};

/** What the list of contacts can be searched, filtered and ordered by. */
export function contactListSource(catalogue: FieldCatalogue): (call: Call) => ListSource {
  const base = {
    from: sql`contacts c`,
    id: column("id"),
    // A constant of this program, not a caller's text.
    select: sql.raw(CONTACT_SELECT),
    columns: filterableColumns(),
    published: column("is_published"),
    catchAll: [...CATCH_ALL, ...catalogue.social].map(column),
    defaultOrder: [{ column: "last_active", descending: true } as ListSource["defaultOrder"][number]],
  };
  return (call) => ({ ...base, commands: contactCommands(catalogue, call) });
}

/** Column names as clients write them: `date_added`, `dateAdded` and every field alias. */
function filterableColumns(): Map<string, Filterable> {
  const columns = new Map<string, Filterable>();
  for (const { name, sqlType } of CONTACT_COLUMNS) {
    if (NOT_FILTERABLE.has(name)) continue;
    const entry = { sql: column(name), type: TYPES[sqlType] ?? "text" };
    columns.set(name, entry).set(camelCase(name), entry);
  }
  return columns;
}

function contactCommands(catalogue: FieldCatalogue, call: Call): Map<string, SearchCommand> {
  const commands = standardCommands((name) => (name === "id" ? column(name) : undefined), call);
  for (const { alias } of catalogue.fields) {
    commands.set(alias, columnCommand(sql`${column(alias)}::text`));
  }
  const states = new Map([
    ["anonymous", sql`c.date_identified is null`],
    ["mine", sql`c.owner_id = ${call.actor.id}::integer`],
    ["unowned", sql`c.owner_id is null`],
    ["published", sql`c.is_published`],
    ["unpublished", sql`not c.is_published`],
  ]);
  const firstname = columnCommand(column("firstname"));
  const lastname = columnCommand(column("lastname"));
  return commands
    .set("ids", idsCommand(column("id")))
    .set("is", (term) => states.get(term.text))
    .set("name", (term) => sql`(${firstname(term)} or ${lastname(term)})`)
    .set("tag", (term) => {
      const named = columnCommand(sql`t.tag`)(term);
      return sql`c.tag_ids && array(select t.id from tags t where ${named})`;
    })
    .set("ip", (term) => {
      const named = columnCommand(sql`i.ip_address`)(term);
      return sql`c.ip_address_ids && array(select i.id from ip_addresses i where ${named})`;
    });
}

function column(name: string) {
  return sql.ref(`c.${name}`);
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
