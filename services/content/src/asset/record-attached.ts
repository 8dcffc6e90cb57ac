import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { Outbox } from "@tidings/messaging/outbox";
import { contactsByFate } from "@tidings/projection/contact-fates";
import { v7 } from "uuid";
import { firstVisits } from "../visit/first-visits.ts";
import { timeOfId } from "../visit/hit.ts";
import { DOWNLOAD_COLUMNS } from "./download-tables.ts";
import { countDownloads, DOWNLOADS } from "./record-downloads.ts";

/** A mail that left with assets. */
export interface AttachedMail {
  contactId: number;
  emailId: number;
  assetIds: number[];
}

const COLUMNS = Object.keys(DOWNLOAD_COLUMNS).join(", ");
/** A contact that was merged meanwhile is the survivor, and an erased one leaves no row. */
const insertStatement = prepared(
  "asset_downloads_attached",
  `insert into asset_downloads (id, asset_id, contact_id, date_download, code, source, source_id, email_id, is_unique, verdict)
   select s.id, s.asset_id, ${contactsByFate.contactId}, s.date_download, 200, 'email', s.email_id, s.email_id, s.is_unique, 'human'
   from json_to_recordset($1::json) as s (id uuid, asset_id integer, contact_id integer, date_download timestamptz, email_id integer, is_unique boolean)
   ${contactsByFate.join} returning ${COLUMNS}`,
);

/** Counts each asset that left with a mail as a download by the contact (engines.md 6.11): rows, counters and events, as a part of the transaction of the sends. */
export async function recordAttached(
  transaction: Transaction,
  outbox: Outbox,
  mails: AttachedMail[],
): Promise<void> {
  const attached = mails.flatMap(({ assetIds, ...mail }) =>
    assetIds.map((assetId) => ({ ...mail, assetId })),
  );
  if (attached.length === 0) return;
  contactsByFate.hold(transaction, []);
  const targetOf = ({ assetId }: { assetId: number }) => `asset:${assetId}`;
  const isFirst = await firstVisits(
    transaction,
    attached.map((one) => ({ contactId: one.contactId, target: targetOf(one) })),
  );
  const downloads = attached.map((one) => {
    const id = v7();
    const isUnique = isFirst(one.contactId, targetOf(one));
    return { ...one, id, isUnique, date: timeOfId(id).toISOString() };
  });
  const values = downloads.map(({ id, assetId, contactId, emailId, isUnique, date }) => ({
    ...{ id, asset_id: assetId, contact_id: contactId, email_id: emailId },
    ...{ is_unique: isUnique, date_download: date },
  }));
  const rows = await transaction.query(insertStatement, [JSON.stringify(values)]);
  countDownloads(
    transaction,
    [...Map.groupBy(downloads, ({ assetId }) => assetId)].map(([id, own]) => ({
      ...{ id, hits: own.length, unique_hits: own.filter(({ isUnique }) => isUnique).length },
    })),
  );
  const { schema, messageOf } = DOWNLOADS;
  outbox.append(transaction, factEvents("tidings.content.asset.downloaded", schema, rows, messageOf));
}
