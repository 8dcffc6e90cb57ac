import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { AssetDownloadSchema } from "@tidings/proto/tidings/content/v1/events";
import { type FactRow, factReader } from "../visit/fact-kind.ts";
import { timeOfId } from "../visit/hit.ts";
import type { Visitor } from "../visit/sighting.ts";
import type { Download } from "./download.ts";
import type { DOWNLOAD_COLUMNS } from "./download-tables.ts";

type DownloadRow = Record<keyof typeof DOWNLOAD_COLUMNS, string | number | boolean | null>;

/** A download as a row of its table. */
export function rowOf(download: Download, visitor: Visitor | undefined, isUnique: boolean): DownloadRow {
  const { utm } = download;
  return {
    id: download.id,
    asset_id: download.assetId,
    contact_id: visitor?.contactId ?? null,
    date_download: timeOfId(download.id).toISOString(),
    code: download.code,
    ip: download.ip || null,
    referer: download.referer || null,
    tracking_id: download.device?.id ?? null,
    source: download.source || null,
    source_id: download.sourceId ?? null,
    email_id: download.emailId ?? null,
    utm_campaign: utm?.campaign || null,
    utm_content: utm?.content || null,
    utm_medium: utm?.medium || null,
    utm_source: utm?.source || null,
    utm_term: utm?.term || null,
    is_unique: isUnique,
    verdict: download.verdict,
    verdict_reason: download.reason || null,
  };
}

/** A download as events carry it, from a new row or from one that the database has. */
export function eventOf(row: FactRow): MessageInitShape<typeof AssetDownloadSchema> {
  const { text, number, optional, flag } = factReader(row);
  const [sourceId, emailId] = [optional("source_id"), optional("email_id")];
  return {
    id: text("id"),
    contactId: number("contact_id"),
    assetId: number("asset_id"),
    dateAdded: timestampFromDate(timeOfId(text("id"))),
    code: number("code"),
    ip: text("ip"),
    referer: text("referer"),
    trackingId: text("tracking_id"),
    source: text("source"),
    ...(sourceId !== undefined && { sourceId }),
    ...(emailId !== undefined && { emailId }),
    utmCampaign: text("utm_campaign"),
    utmContent: text("utm_content"),
    utmMedium: text("utm_medium"),
    utmSource: text("utm_source"),
    utmTerm: text("utm_term"),
    isUnique: flag("is_unique"),
    verdict: text("verdict"),
    verdictReason: text("verdict_reason"),
  };
}
