import { factTable } from "../visit/fact-table.ts";

/** The columns of a download, with their types. */
export const DOWNLOAD_COLUMNS = {
  /** A UUIDv7, whose time is that of the download. */
  id: "uuid",
  asset_id: "integer",
  /** Null: a machine. */
  contact_id: "integer",
  date_download: "timestamptz",
  code: "integer",
  ip: "text",
  referer: "text",
  tracking_id: "text",
  source: "text",
  source_id: "integer",
  email_id: "integer",
  utm_campaign: "text",
  utm_content: "text",
  utm_medium: "text",
  utm_source: "text",
  utm_term: "text",
  is_unique: "boolean",
  verdict: "text",
  verdict_reason: "text",
} as const;

/** SQL of a migration: downloads of assets. */
export const ASSET_DOWNLOAD_TABLES = factTable("asset_downloads", DOWNLOAD_COLUMNS, "date_download");
