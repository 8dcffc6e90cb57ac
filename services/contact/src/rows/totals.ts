import type { Total } from "@tidings/resource/totals";

/** Totals that are requested most and would cost most to count. A contact that was removed from a segment by hand keeps a row there. */
export const totals: Total[] = [
  { table: "contacts" },
  { table: "companies" },
  { table: "segment_contacts", by: "segment_id", where: "not manually_removed" },
];
