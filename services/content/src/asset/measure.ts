import { create } from "@bufbuild/protobuf";
import { type Job, jobsOf, type Outcome } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbound } from "@tidings/outbound/outbound";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import type { Log } from "@tidings/runtime/log";
import { columnsOf, fillFromRow } from "@tidings/store/columns";
import { type Database, prepared, type Transaction } from "@tidings/store/database";
import { encodeEvent, type Outbox } from "@tidings/store/outbox";
import { placeOf } from "@tidings/store/resource";

/** Remote assets whose server is to be asked what it has there, by id. */
export const measureJobs = jobsOf("asset_measure");

const SIZE_MAX = 2 ** 31 - 1;
const MIME_TYPE = /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/;
const AT_ONCE = 2;

const columns = columnsOf(AssetSchema);
const { events } = placeOf(AssetSchema);
const fileStatement = prepared(
  "assets_remote_file",
  "select file from assets where id = $1 and storage_location = 'remote'",
);
const measuredStatement = prepared(
  "assets_measured",
  `update assets set mime = coalesce($3, mime), size = $4::integer, version = version + 1
   where id = $1 and file = $2 and storage_location = 'remote'
     and (mime is distinct from coalesce($3, mime) or size is distinct from $4::integer)
   returning ${columns.map(({ name }) => `"${name}"`).join(", ")}, version`,
);

export interface MeasureContext {
  database: Database;
  outbox: Outbox;
  outbound: Outbound;
  log: Log;
}

/** Asks the servers of remote assets for type and size, after the write that named them: they hold up nobody. */
export function measuring({ database, outbox, outbound, log }: MeasureContext): JobOptions {
  const work = async (transaction: Transaction, { key }: Job): Promise<Outcome> => {
    const [asset] = await transaction.query(fileStatement, [key]);
    const found = asset?.file ? await ask(outbound, asset.file) : undefined;
    if (asset && found) {
      const [row] = await transaction.query(measuredStatement, [key, asset.file, found.mime, found.size]);
      if (row)
        outbox.append(transaction, [
          {
            subject: `${events}.updated`,
            aggregateId: Number(row.id),
            aggregateVersion: Number(row.version),
            payload: encodeEvent(AssetSchema, fillFromRow(create(AssetSchema), columns, row)),
          },
        ]);
    }
    return { state: "done" };
  };
  return { database, log, jobs: measureJobs, atOnce: AT_ONCE, work };
}

/** What its server says of it; nothing when it says nothing, or what nobody could believe. */
async function ask(outbound: Outbound, url: string) {
  const answer = await outbound.head(url).catch(() => undefined); // whoever is not there is not asked twice
  if (answer?.status !== 200) return undefined;
  const { "content-type": type, "content-length": length } = answer.headers;
  const mime =
    String(type ?? "")
      .split(";", 1)[0]
      ?.trim()
      .toLowerCase() ?? "";
  const size = typeof length === "string" && /^\d{1,10}$/.test(length) ? Number(length) : undefined;
  return {
    mime: MIME_TYPE.test(mime) ? mime : null,
    size: size !== undefined && size <= SIZE_MAX ? size : null,
  };
}
