import { create, type DescMessage } from "@bufbuild/protobuf";
import { resource } from "@tidings/proto/tidings/api/v1/options";
import { type Order, OrderSchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { optionOf } from "@tidings/rpc/option";
import { type RawBuilder, sql } from "kysely";
import type { Column } from "./columns.ts";
import type { Filterable } from "./condition.ts";
import type { ListSource } from "./list.ts";
import { placeOf } from "./resource.ts";
import { columnCommand, idsCommand, type SearchCommand, type SearchTerm } from "./search.ts";

export interface ListOptions {
  /** Texts that a plain search term looks into besides the columns that the message names. */
  search?: RawBuilder<unknown>[];
  /** SQL: the rows that a list has. */
  listed?: RawBuilder<unknown>;
  /** Search commands of its own, asked before the standard ones of the same name. */
  commands?: ReadonlyMap<string, SearchCommand>;
}

/** The list of a resource for a caller. */
export function resourceList(
  schema: DescMessage,
  columns: Column[],
  options: ListOptions,
): (call: Call) => ListSource {
  const { search, order } = optionOf(schema, resource);
  const refs = new Map(columns.map((column) => [column.name, sql.ref(column.name)]));
  const filterable = new Map<string, Filterable>();
  for (const column of columns.filter(({ secret }) => !secret)) {
    const entry = { sql: sql.ref(column.name), type: column.type };
    filterable.set(column.name, entry).set(column.field.jsonName, entry);
  }
  const ref = (name: string) => refs.get(name);
  const base = {
    from: sql.table(placeOf(schema).table),
    id: sql.ref("id"),
    select: sql.join([...refs.values(), sql.ref("version")]),
    columns: filterable,
    published: ref("is_published"),
    listed: options.listed,
    catchAll: [...search.map((name) => sql.ref(name)), ...(options.search ?? [])],
    defaultOrder: order.map(orderOf),
  };
  return (call: Call): ListSource => {
    const commands = standardCommands(ref, call);
    for (const [name, own] of options.commands ?? []) {
      const standard = commands.get(name);
      commands.set(name, (term) => own(term) ?? standard?.(term));
    }
    return { ...base, commands };
  };
}

/** `date_added desc` */
function orderOf(text: string): Order {
  const [column = "", direction] = text.split(" ");
  return create(OrderSchema, { column, descending: direction === "desc" });
}

/** The search commands every resource has, as far as it has their columns. */
export function standardCommands(
  column: (name: string) => RawBuilder<unknown> | undefined,
  call: Call,
): Map<string, SearchCommand> {
  const published = column("is_published");
  const createdBy = column("created_by");
  const name = column("name");
  const category = column("category_id");
  const language = column("language");
  const states = new Map([
    ["uncategorized", category && sql`${category} is null`],
    ["published", published],
    ["unpublished", published && sql`not ${published}`],
    ["mine", createdBy && sql`${createdBy} = ${call.actor.id}::integer`],
  ]);
  const commands = new Map<string, SearchCommand>([
    ["ids", idsCommand(sql.ref("id"))],
    ["is", (term) => states.get(term.text)],
  ]);
  if (name) commands.set("name", columnCommand(name));
  if (language) commands.set("lang", columnCommand(language));
  if (category) commands.set("category", (term) => sql`${category} in (${categoriesOf(term)})`);
  return commands;
}

const categoryAlias = columnCommand(sql`k.alias`);

function categoriesOf(term: SearchTerm) {
  return sql`select k.id from categories k where ${categoryAlias({ ...term, strict: true })}`;
}
