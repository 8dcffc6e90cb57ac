import type { Total } from "@tidings/resource/totals";
import { byColumn, type TotalByColumn } from "@tidings/resource/totals-by-column";

/** Totals by the columns that lists are narrowed by most: the owner that a caller is confined to, and the published state. */
export const CONTACT_TOTALS = {
  owner_id: { table: "contacts", column: "owner_id", type: "id" },
  is_published: { table: "contacts", column: "is_published", type: "boolean" },
} as const satisfies Record<string, TotalByColumn>;

export const COMPANY_TOTALS = {
  owner_id: { table: "companies", column: "owner_id", type: "id" },
  created_by: { table: "companies", column: "created_by", type: "id" },
  is_published: { table: "companies", column: "is_published", type: "boolean" },
} as const satisfies Record<string, TotalByColumn>;

/** Totals that are requested most and would cost most to count. A contact that was removed from a segment by hand keeps a row there. */
export const totals: Total[] = [
  { table: "contacts" },
  { table: "companies" },
  { table: "segment_contacts", by: "segment_id", where: "not manually_removed" },
  ...[...Object.values(CONTACT_TOTALS), ...Object.values(COMPANY_TOTALS)].map(byColumn),
];
