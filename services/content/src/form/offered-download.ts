import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { propertiesOf } from "@tidings/resource/properties";
import { html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";
import { assetAddress } from "../asset/asset-address.ts";
import { isOpen } from "../family/is-open.ts";

export const ASSET_DOWNLOAD = "asset.download";

/** SQL of a migration: the latest asset of a category is found by index. */
export const LATEST_ASSETS = [
  "create index assets_latest on assets (category_id, date_added desc, id desc) where category_id is not null",
];

const offeredStatement = prepared(
  "assets_offered",
  `select id, alias, title from assets a where id = $1 and ${isOpen("a")}`,
);
const latestStatement = prepared(
  "assets_latest",
  `select id, alias, title from assets a where category_id = $1 and ${isOpen("a")}
   order by date_added desc, id desc limit 1`,
);

/** A file that a form offers to the visitor who sent it. */
export interface OfferedDownload {
  url: string;
  /** HTML: the words of the action, and a link. */
  markup: string;
}

/** The asset of the first `asset.download` action that has one for visitors now: it, or the latest of its category (engines.md 5.6). */
export async function offeredDownload(
  { actions }: Form,
  { database, publicUrl }: { database: Database; publicUrl: string },
): Promise<OfferedDownload | undefined> {
  for (const action of actions.filter(({ type }) => type === ASSET_DOWNLOAD)) {
    const { asset, category, message } = propertiesOf(action);
    const [statement, id] = Number(asset) > 0 ? [offeredStatement, asset] : [latestStatement, category];
    if (!(Number(id) > 0)) continue;
    const [row] = await database.query(statement, [Number(id)], backgroundDeadline());
    if (!row) continue;
    const url = assetAddress({ id: Number(row.id), alias: row.alias ?? "" }, publicUrl);
    const link = html`<p><a href="${url}">${row.title || "Download"}</a></p>`;
    return { url, markup: `${textOf(message) ?? ""}${link.markup}` };
  }
  return undefined;
}
