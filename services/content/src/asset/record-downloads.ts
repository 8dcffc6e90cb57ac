import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { AssetDownloadsSchema } from "@tidings/proto/tidings/content/v1/events";
import type { RecordedKind } from "../visit/record-facts.ts";
import { sumVisits } from "../visit/sum-visits.ts";
import type { Download } from "./download.ts";
import { eventOf, rowOf } from "./download-row.ts";
import { DOWNLOAD_COLUMNS } from "./download-tables.ts";

/** Downloads of assets: their rows, counters and events. */
export const DOWNLOADS: RecordedKind<Download, typeof AssetDownloadsSchema> = {
  schema: AssetDownloadsSchema,
  table: "asset_downloads",
  columns: DOWNLOAD_COLUMNS,
  subjectOf: () => "tidings.content.asset.downloaded",
  messageOf: (rows) => ({ downloads: rows.map(eventOf) }),
  rowOf,
  /** A visitor who was refused has been at no asset: their first download is still to come. */
  targetsOf: (download) => (isDelivered(download) ? [`asset:${download.assetId}`] : []),
  count,
};

function isDelivered({ code }: Download): boolean {
  return code !== 401;
}

const countStatement = prepared(
  "assets_count_downloads",
  `update assets a set download_count = a.download_count + x.hits, unique_download_count = a.unique_download_count + x.unique_hits
   from (select * from json_to_recordset($1::json) as x (id integer, hits integer, unique_hits integer) order by id) x
   where a.id = x.id`,
);

/** Machines change no counter; a person who may not be known changes the first. */
function count(transaction: Transaction, downloads: Download[], unique: ReadonlySet<Download>): void {
  const counted = downloads.filter((download) => download.verdict !== "machine" && isDelivered(download));
  countDownloads(
    transaction,
    sumVisits(counted, unique, ({ assetId: id }) => ({ id })),
  );
}

/** Adds downloads to the counters of their assets. */
export function countDownloads(
  transaction: Transaction,
  sums: { id: number; hits: number; unique_hits: number }[],
): void {
  if (sums.length > 0) transaction.execute(countStatement, [JSON.stringify(sums)]);
}
