import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { domainEvent, type Outbox } from "@tidings/messaging/outbox";
import { CampaignMembershipChangedSchema } from "@tidings/proto/tidings/campaign/v1/events";

/** SQL: the columns that statements return of each changed membership of the table `m`. */
export const CHANGED =
  "m.id, m.campaign_id, m.contact_id, m.version, m.date_added, m.manually_added, m.manually_removed";

/** Events of memberships that changed: rows of CHANGED. */
export function tellMemberships(transaction: Transaction, outbox: Outbox, rows: Row[]): void {
  outbox.append(
    transaction,
    rows.map((row) =>
      domainEvent(
        "tidings.campaign.campaign.membership_changed",
        { id: Number(row.id), version: Number(row.version) },
        CampaignMembershipChangedSchema,
        {
          campaignId: Number(row.campaign_id),
          contactId: Number(row.contact_id),
          ...(row.date_added && { dateAdded: timestampFromText(row.date_added) }),
          manuallyAdded: row.manually_added === "t",
          manuallyRemoved: row.manually_removed === "t",
        },
      ),
    ),
  );
}
