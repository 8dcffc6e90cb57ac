import { type Database, prepared } from "@tidings/database/database";
import { timestampFromText } from "@tidings/database/timestamp";
import type { IdentificationService } from "@tidings/proto/tidings/contact/v1/identification";
import type { Handlers } from "@tidings/rpc/definition";
import { pageOfContact } from "./page-of-contact.ts";

/** A contact that somebody made by the API has its maker in its row: that is read from there. */
const ALL = `select id, date_added, proof, nullif(device_id, '') as device_id, nullif(merged_from, 0) as merged_from
     from contact_identifications where contact_id = $1
   union all select 0, date_added, 'api', null, null from contacts where id = $1 and created_by_user is not null`;

const listStatement = prepared(
  "contact_identifications_list",
  `select * from (${ALL}) found order by date_added desc, id desc offset $2 limit $3`,
);
const countStatement = prepared("contact_identifications_count", `select count(*) from (${ALL}) found`);

export function identificationHandlers({
  database,
}: {
  database: Database;
}): Handlers<typeof IdentificationService> {
  return {
    async listIdentifications(request, call) {
      const statements = { list: listStatement, count: countStatement };
      const { rows, totalSize } = await pageOfContact(database, statements, request, call);
      const identifications = rows.map((row) => ({
        at: timestampFromText(row.date_added ?? ""),
        proof: row.proof ?? "",
        ...(row.device_id && { deviceId: row.device_id }),
        ...(row.merged_from && { mergedFrom: Number(row.merged_from) }),
      }));
      return { identifications, totalSize };
    },
  };
}
