import { create, toBinary } from "@bufbuild/protobuf";
import type { Database } from "@tidings/database/database";
import { type FactSource, factSource } from "@tidings/messaging/facts";
import { AssetDownloadsSchema } from "@tidings/proto/tidings/content/v1/events";
import { eventOf } from "./download-row.ts";
import { DOWNLOAD_COLUMNS } from "./download-tables.ts";

/** All downloads, for services that make a replica of them from nothing. */
export function downloadFacts(database: Database): FactSource {
  return factSource(database, {
    type: AssetDownloadsSchema.typeName,
    table: "asset_downloads",
    key: "id",
    columns: Object.keys(DOWNLOAD_COLUMNS),
    eventsOf: (rows) => [
      toBinary(AssetDownloadsSchema, create(AssetDownloadsSchema, { downloads: rows.map(eventOf) })),
    ],
  });
}
