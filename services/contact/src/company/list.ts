import type { ListQuery } from "@tidings/proto/tidings/type/v1/list";
import { withTotal } from "@tidings/resource/kept-total";
import type { ListSource } from "@tidings/resource/list";
import { standardCommands } from "@tidings/resource/resource-list";
import { totalOf } from "@tidings/resource/totals";
import { totalByColumn } from "@tidings/resource/totals-by-column";
import type { Call } from "@tidings/rpc/call";
import { sql } from "kysely";
import type { FieldSet } from "../field/catalogue.ts";
import { fieldCommands, filterableRecordColumns } from "../record/filter.ts";
import { COMPANY_COLUMNS, COMPANY_SELECT } from "../rows/company.ts";
import { COMPANY_TOTALS } from "../rows/totals.ts";

const HIDDEN = new Set(["version", "custom", "name_key"]);

// A constant of this program, not a caller's text.
const SELECT = sql.raw(COMPANY_SELECT);

const sources = new WeakMap<FieldSet, Omit<ListSource, "commands">>();

/** The search commands, filters and orders of the list of companies. */
export function companyListSource(set: FieldSet, call: Call): ListSource {
  const base = sources.get(set) ?? {
    from: sql`companies co`,
    id: sql.ref("co.id"),
    select: SELECT,
    columns: filterableRecordColumns("co", COMPANY_COLUMNS, HIDDEN, set, { totals: COMPANY_TOTALS }),
    published: withTotal(sql`co.is_published`, totalByColumn(COMPANY_TOTALS.is_published, true)),
    catchAll: [sql.ref("co.companyname"), sql.ref("co.companyemail")],
    defaultOrder: [],
    keptTotal: ({ search }: ListQuery) => (search.trim() === "" ? totalOf("companies") : undefined),
  };
  sources.set(set, base);
  const commands = standardCommands((name) => (STANDARD.has(name) ? sql.ref(`co.${name}`) : undefined), call);
  for (const [alias, command] of fieldCommands(set)) commands.set(alias, command);
  return { ...base, commands };
}

const STANDARD = new Set(["id", "is_published", "created_by"]);
