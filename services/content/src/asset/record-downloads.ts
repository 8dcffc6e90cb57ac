import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import { AssetDownloadsSchema } from "@tidings/proto/tidings/content/v1/events";
import { insertFacts } from "../visit/fact-table.ts";
import { groupCommit } from "../visit/group-commit.ts";
import { isKept, meetVisitors } from "../visit/meet-visitors.ts";
import type { Visits } from "../visit/record-hits.ts";
import { sumVisits } from "../visit/sum-visits.ts";
import type { Visitor } from "../visit/visitors.ts";
import type { Download } from "./download.ts";
import { eventOf, rowOf } from "./download-row.ts";
import { DOWNLOAD_COLUMNS } from "./download-tables.ts";

/** Records a download and answers its visitor, once it is durable; undefined for a machine, and for a person who may not be known. */
export type RecordDownload = (download: Download) => Promise<Visitor | undefined>;

export function downloadRecorder(visits: Visits): RecordDownload {
  return groupCommit((downloads) => recordDownloads(visits, downloads));
}

const SUBJECT = "tidings.content.asset.downloaded";
const insertStatement = insertFacts("asset_downloads", DOWNLOAD_COLUMNS);

/** Records downloads in one transaction: rows, counters and events. */
async function recordDownloads(
  { database, outbox, ids }: Visits,
  downloads: Download[],
): Promise<ReadonlyMap<Download, Visitor>> {
  return database.transaction(backgroundDeadline(), async (transaction) => {
    const { visitors, events, unique } = await meetVisitors(transaction, ids, downloads, { targetsOf });
    const rows = downloads
      .filter(isKept)
      .map((download) => rowOf(download, visitors.get(download), unique.has(download)));
    if (rows.length > 0) transaction.execute(insertStatement, [JSON.stringify(rows)]);
    count(transaction, downloads, unique);
    outbox.append(transaction, [
      ...events,
      ...factEvents(SUBJECT, AssetDownloadsSchema, rows.map(eventOf), (slice) => ({ downloads: slice })),
    ]);
    return visitors;
  });
}

/** A visitor who was refused has been at no asset: their first download is still to come. */
function targetsOf(download: Download): string[] {
  return isDelivered(download) ? [`asset:${download.assetId}`] : [];
}

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
  const sums = sumVisits(counted, unique, ({ assetId: id }) => ({ id }));
  if (sums.length > 0) transaction.execute(countStatement, [JSON.stringify(sums)]);
}
