import { type Database, prepared } from "@tidings/database/database";
import { rowFinder } from "../web/row-finder.ts";

const aliasStatement = prepared(
  "assets_alias",
  "select id, alias from assets where id = any ($1::integer[])",
);

/** The id and the alias of an asset: its address has both. */
export interface AssetName {
  id: number;
  alias: string;
}

/** Where an asset is downloaded. */
export function assetAddress(asset: AssetName, publicUrl: string): string {
  return new URL(assetPath(asset), publicUrl).href;
}

/** The path of that address. */
export function assetPath({ id, alias }: AssetName): string {
  return `/asset/${id}:${encodeURIComponent(alias)}`;
}

/** The addresses of assets by their ids; undefined for one that is not there. */
export function assetAddresses(
  database: Database,
  publicUrl: string,
): (id: number) => Promise<string | undefined> {
  const find = rowFinder(database, aliasStatement);
  return async (id) => {
    const row = await find(id);
    return row && assetAddress({ id, alias: row.alias ?? "" }, publicUrl);
  };
}
