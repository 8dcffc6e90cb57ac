import type { Total } from "@tidings/store/totals";

/** What is asked for most and would cost most to count. Whoever was taken out of a segment by hand keeps a row there. */
export const totals: Total[] = [
  { table: "contacts" },
  { table: "companies" },
  { table: "segment_contacts", by: "segment_id", where: "not manually_removed" },
];
