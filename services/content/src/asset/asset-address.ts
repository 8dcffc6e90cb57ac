import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";

const aliasStatement = prepared("assets_alias", "select alias from assets where id = $1");

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
  return async (id) => {
    const [row] = await database.query(aliasStatement, [id], backgroundDeadline());
    return row && assetAddress({ id, alias: row.alias ?? "" }, publicUrl);
  };
}
