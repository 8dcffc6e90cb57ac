import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";

const aliasStatement = prepared("assets_alias", "select alias from assets where id = $1");

/** Where an asset is downloaded. */
export function assetAddress({ id, alias }: { id: number; alias: string }, publicUrl: string): string {
  return new URL(`/asset/${id}:${alias}`, publicUrl).href;
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
