import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { encodeEvent, type Outbox } from "@tidings/messaging/outbox";
import type { Outbound } from "@tidings/outbound/outbound";
import { type Asset, AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { columnsOf, fillFromRow } from "@tidings/resource/columns";
import { placeOf } from "@tidings/resource/resource";
import type { Log } from "@tidings/runtime/log";

/** Remote assets whose server is to be asked what it has there, by id. */
const measureJobs = jobsOf("asset_measure");

const SIZE_MAX = 2 ** 31 - 1;
const MIME_TYPE = /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/;
const AT_ONCE = 32;

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

/**
 * Asks the servers of remote assets for type and size after the write that named them. No transaction waits for a server, and
 * servers that hang hold up the assets of their own host alone.
 */
export function measuring({ database, outbox, outbound, log }: MeasureContext): JobOptions {
  return {
    database,
    log,
    jobs: measureJobs,
    atOnce: AT_ONCE,
    atOnceOfGroup: 1,
    async prepare(job) {
      const [asset] = await database.query(fileStatement, [job.key], backgroundDeadline());
      const found = asset?.file ? await ask(outbound, asset.file) : undefined;
      return found ? { ...job, payload: { file: asset?.file, ...found } } : job;
    },
    async work(transaction, { key, payload: { file, mime, size } }) {
      const [row] = file ? await transaction.query(measuredStatement, [key, file, mime, size]) : [];
      if (row) appendUpdated(outbox, transaction, row);
      return { state: "done" };
    },
  };
}

function appendUpdated(outbox: Outbox, transaction: Transaction, row: Row): void {
  outbox.append(transaction, [
    {
      subject: `${events}.updated`,
      aggregateId: Number(row.id),
      aggregateVersion: Number(row.version),
      payload: encodeEvent(AssetSchema, fillFromRow(create(AssetSchema), columns, row)),
    },
  ]);
}

/** Adds jobs for these assets. Those of one host are a group, which has one job under way. */
export function addMeasuring(transaction: Transaction, remote: Asset[]): void {
  measureJobs.add(
    transaction,
    remote.map(({ id, file = "" }) => ({ key: String(id), group: groupOf(new URL(file).host) })),
  );
}

/** Different hosts may share one, which costs them time alone. */
function groupOf(host: string): number {
  return createHash("sha256").update(host).digest().readInt32BE();
}

/** The size and type that its server answers; nothing when it answers nothing, or values that cannot be. */
async function ask(outbound: Outbound, url: string) {
  const answer = await outbound.send({ method: "HEAD", url }).catch(() => undefined); // a server that is away is not asked twice
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
