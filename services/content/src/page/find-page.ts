import { create } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { type Page, PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { columnsOf, fillFromRow } from "@tidings/resource/columns";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { isOpen, isWithinDates } from "../family/is-open.ts";
import { CATEGORY_ALIAS } from "../web/page-address.ts";

/** A page with those that belong to it. */
export interface FoundPage {
  page: PageRow;
  /** The page that it is a variant of. */
  parent: PageRow | undefined;
  /** Variants that are published, of the page itself. */
  variants: PageRow[];
  /** The page in other languages, published. */
  translations: PageRow[];
}

/** A page, and which of its states this is. */
export interface PageRow extends Page {
  version: number;
  isOpen: boolean;
  /** Open but for the switch of the page itself. */
  isWithinDates: boolean;
  categoryAlias: string | undefined;
}

const columns = columnsOf(PageSchema);
const names = columns.map(({ name }) => `p."${name}"`).join(", ");
const FAMILY_MAX = 200;
const AT = "coalesce($2::timestamptz, now())";

/** All of a family in one look. */
function familyStatement(name: string, asked: string) {
  return prepared(
    name,
    `with asked as (select p.* from pages p where ${asked})
     select ${names}, p.version, ${isOpen("p", AT)} as is_open, ${isWithinDates("p", AT)} as is_within_dates, p.id = a.id as is_asked,
       (select ${CATEGORY_JSON} from categories where id = p.category_id) as category_shown, ${CATEGORY_ALIAS} as category_alias
     from asked a join pages p on p.id = a.id or p.id = a.variant_parent_id or p.variant_parent_id = a.id
       or p.id = a.translation_parent_id or p.translation_parent_id = coalesce(a.translation_parent_id, a.id)
     order by p.id limit ${FAMILY_MAX}`,
  );
}

const byAliasStatement = familyStatement("pages_find", "p.alias = $1");
const byIdStatement = familyStatement("pages_find_by_id", "p.id = $1::integer");

/** Finds the page of an alias. Visitors who ask for it at the same time share a look, which begins after each of them has asked. */
export function pageFinder(database: Database): (alias: string) => Promise<FoundPage | undefined> {
  const find = coalesce(([alias = ""]: string[]) => findPage(database, alias));
  return (alias) => find(alias, alias);
}

/** The page of an alias, whether or not it is open; undefined when there is none that visitors may have. */
export async function findPage(database: Database, alias: string): Promise<FoundPage | undefined> {
  const found = familyOf(await database.query(byAliasStatement, [alias, null], backgroundDeadline()));
  return found?.page.isPreferenceCenter ? undefined : found;
}

/** The page of an id with its family as they are at a time, in milliseconds since 1970. */
export async function findPageAt(database: Database, id: number, at: number): Promise<FoundPage | undefined> {
  const time = new Date(at).toISOString();
  return familyOf(await database.query(byIdStatement, [id, time], backgroundDeadline()));
}

function familyOf(rows: Row[]): FoundPage | undefined {
  const pages = rows.map(pageOf);
  const page = pages[rows.findIndex(({ is_asked }) => is_asked === "t")];
  if (!page) return undefined;
  return {
    page,
    parent: page.variantParent && pages.find(({ id }) => id === page.variantParent?.id),
    variants: pages.filter(({ variantParent, isOpen }) => isOpen && variantParent?.id === page.id),
    translations: pages.filter(
      ({ id, isOpen, translationParent, variantParent }) =>
        id !== page.id &&
        isOpen &&
        variantParent === undefined &&
        (translationParent?.id === (page.translationParent?.id ?? page.id) ||
          id === page.translationParent?.id),
    ),
  };
}

function pageOf(row: Row): PageRow {
  const page = fillFromRow(create(PageSchema), columns, row);
  if (page.category) page.category.shown = Buffer.from(row.category_shown ?? "null");
  return Object.assign(page, {
    version: Number(row.version),
    isOpen: row.is_open === "t",
    isWithinDates: row.is_within_dates === "t",
    categoryAlias: row.category_alias ?? undefined,
  });
}
