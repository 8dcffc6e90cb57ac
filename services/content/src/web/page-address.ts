import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { isTakenWord } from "@tidings/rpc/public-paths";
import { rowFinder } from "./row-finder.ts";
import { rowIdOf } from "./row-id.ts";

/** The members of a page that its address is made of. */
export interface AddressedPage {
  alias: string;
  language?: string | undefined;
  categoryAlias: string | undefined;
}

/** A word that stands before the alias in the addresses of pages. */
export type PagePrefix = "category" | "language";

/** Where pages are: the one address of each. */
export interface PageAddresses {
  /** The path, with every prefix that the installation wants and the page has. */
  pathOf(page: AddressedPage): string;
  urlOf(page: AddressedPage): string;
  /** The address of the page with the id that a token names, published or not; undefined when there is none. */
  find(id: string | undefined): Promise<string | undefined>;
}

/** SQL: the alias of the category of a row of `p`. */
export const CATEGORY_ALIAS = "(select alias from categories where categories.id = p.category_id)";

const findStatement = prepared(
  "pages_address",
  `select p.id, p.alias, p.language, ${CATEGORY_ALIAS} as category_alias
   from pages p where p.id = any ($1::integer[])`,
);

export function pageAddresses(
  database: Database,
  { publicUrl, prefixes }: { publicUrl: string; prefixes: PagePrefix[] },
): PageAddresses {
  const findRow = rowFinder(database, findStatement);
  const prefixOf = ({ language, categoryAlias }: AddressedPage, prefix: PagePrefix) =>
    prefix === "category" ? categoryAlias : language || "en";
  const pathOf = (page: AddressedPage) => {
    const words = prefixes.flatMap((prefix) => prefixOf(page, prefix) ?? []);
    // A word that begins another address leads there.
    const free = words.filter((word) => !isTakenWord(word));
    return `/${[...free, page.alias].map(encodeURIComponent).join("/")}`;
  };
  const urlOf = (page: AddressedPage) => new URL(pathOf(page), publicUrl).href;
  return {
    pathOf,
    urlOf,
    async find(text) {
      const id = rowIdOf(text);
      if (id === undefined) return undefined;
      const row = await findRow(id);
      return row && urlOf(addressedPage(row));
    },
  };
}

function addressedPage(row: Row): AddressedPage {
  return {
    alias: row.alias ?? "",
    language: row.language ?? undefined,
    categoryAlias: row.category_alias ?? undefined,
  };
}
