import { statements } from "@tidings/database/statements";
import { keepTotal, TOTALS_TABLE } from "@tidings/resource/totals";
import type { Migration } from "kysely/migration";

export const keepTotals: Migration = statements(
  ...TOTALS_TABLE,
  ...keepTotal({ table: "contacts" }),
  ...keepTotal({ table: "companies" }),
  ...keepTotal({ table: "segment_contacts", by: "segment_id", where: "not manually_removed" }),
);
