import { statements } from "@tidings/database/statements";
import { keepTotalsByColumn } from "@tidings/resource/totals-by-column";
import type { Migration } from "kysely/migration";

export const keepTotalsByOwner: Migration = statements(
  ...keepTotalsByColumn("contacts", [
    { table: "contacts", column: "owner_id", type: "id" },
    { table: "contacts", column: "is_published", type: "boolean" },
  ]),
  ...keepTotalsByColumn("companies", [
    { table: "companies", column: "owner_id", type: "id" },
    { table: "companies", column: "created_by", type: "id" },
    { table: "companies", column: "is_published", type: "boolean" },
  ]),
);
