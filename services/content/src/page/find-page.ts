import { create } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { type Page, PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { columnsOf, fillFromRow } from "@tidings/resource/columns";
import { coalesce } from "@tidings/runtime/coalesce";
import { isOpenNow } from "../family/open-now.ts";

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
}

const columns = columnsOf(PageSchema);
const names = columns.map(({ name }) => `p."${name}"`).join(", ");
const FAMILY_MAX = 200;

/** All of a family in one look: the asked one first. */
const findStatement = prepared(
  "pages_find",
  `with asked as (select p.* from pages p where p.alias = $1)
   select ${names}, p.version, ${isOpenNow("p")} as is_open, p.id = a.id as is_asked,
     (select ${CATEGORY_JSON} from categories where id = p.category_id) as category_shown
   from asked a join pages p on p.id = a.id or p.id = a.variant_parent_id or p.variant_parent_id = a.id
     or p.id = a.translation_parent_id or p.translation_parent_id = coalesce(a.translation_parent_id, a.id)
   order by p.id limit ${FAMILY_MAX}`,
);
const byIdStatement = prepared("pages_alias_by_id", "select alias from pages where id = $1");

/** Finds the page of an alias. Visitors who ask for it at the same time share a look, which begins after each of them has asked. */
export function pageFinder(database: Database): (alias: string) => Promise<FoundPage | undefined> {
  const find = coalesce(([alias = ""]: string[]) => findPage(database, alias));
  return (alias) => find(alias, alias);
}

/** The page of an alias, whether or not it is open; undefined when there is none. */
export async function findPage(database: Database, alias: string): Promise<FoundPage | undefined> {
  const rows = await database.query(findStatement, [alias], backgroundDeadline());
  const pages = rows.map(pageOf);
  const page = pages[rows.findIndex(({ is_asked }) => is_asked === "t")];
  if (!page || page.isPreferenceCenter) return undefined;
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

/** The alias of a page, by its id. */
export async function aliasOf(database: Database, id: number): Promise<string | undefined> {
  const [row] = await database.query(byIdStatement, [id], backgroundDeadline());
  return row?.alias ?? undefined;
}

function pageOf(row: Row): PageRow {
  const page = fillFromRow(create(PageSchema), columns, row);
  if (page.category) page.category.shown = Buffer.from(row.category_shown ?? "null");
  return Object.assign(page, { version: Number(row.version), isOpen: row.is_open === "t" });
}
