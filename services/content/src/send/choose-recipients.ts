import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { slices } from "@tidings/runtime/slices";
import { newFactId } from "../visit/hit.ts";
import { assignEmails } from "./assign-emails.ts";
import { refusesCategory } from "./category-choices.ts";
import { chosenReader, isChosenAs } from "./chosen-behind.ts";
import { keptRevisions } from "./email-revision.ts";
import { CHOSEN_COLUMNS, emailsOfSends, sendEvents } from "./send-facts.ts";
import { Lane, LIST } from "./send-tables.ts";

/** A member of a segment who may get an email. */
export interface Recipient {
  contactId: number;
  address: string;
  locale: string;
  segmentId: number;
}

export interface Choosing {
  transaction: Transaction;
  outbox: Outbox;
  now: number;
  broadcastId: string;
  emailId: number;
  familyId: number;
  /** All get the email itself, whatever variants it has. */
  isDecided: boolean;
}

/** A contact, and an address, gets one mail of a family by sends to segments. */
export const mailedBehind = chosenReader("sends", "family_id");

/** SQL: has a contact a send of the family that was chosen for one that was merged into it? */
const hasMergedSend = (familyId: string) =>
  isChosenAs("sends", `s.contact_id = r.contact_id and s.family_id + 0 = ${familyId}`);

/** SQL: has the address a send of the family? It is the first behind this place in the index of addresses, or has none: no other index has that order. */
const HAS_ADDRESS = `(select (s.family_id, lower(s.address)) = ($1, lower(r.address)) from sends s
  where (s.family_id, lower(s.address)) >= ($1, lower(r.address)) and s.occasion = '${LIST}' order by s.family_id, lower(s.address) limit 1) is true`;

/** Members of a slice: who refuses the category, and who has a mail of the family: the member, a contact that was merged into it, or its address. */
const standingStatement = prepared(
  "sends_standing",
  `select r.contact_id, ${refusesCategory("r.contact_id", "$4::integer")} as has_refused,
     ${isChosenAs("sends", "s.family_id = $1 and s.chosen_contact_id = r.contact_id")}
     or ${HAS_ADDRESS}
     or ${hasMergedSend("$1")} as is_chosen
   from unnest($2::integer[], $3::text[]) as r (contact_id, address)`,
);
const chooseStatement = prepared(
  "sends_choose",
  `with ${keptRevisions("$2::integer[]")}
   insert into sends (hash, email_id, email_version, family_id, broadcast_id, contact_id, chosen_contact_id, occasion, lane, address, list_id, source, source_id)
   select r.hash, e.id, e.version, $6::integer, $7::uuid, r.contact_id, r.contact_id, '${LIST}', ${Lane.BULK}, r.address, r.list_id, 'broadcast', e.id
   from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::integer[]) as r (hash, email_id, contact_id, address, list_id)
   join emails e on e.id = r.email_id
   where not ${hasMergedSend("$6::integer")} and (e.category_id is null or not ${refusesCategory("r.contact_id", "r.email_id")})
   on conflict do nothing returning ${CHOSEN_COLUMNS}`,
);

/** Recipients of one statement. */
const PART = 500;

/** Recipients of a slice as they stand before a send of an email. */
export interface Standing {
  /** They have no mail of the family yet. */
  fresh: Recipient[];
  /** How many do not want to hear of the email's category. */
  refusing: number;
}

export async function standingOf(
  database: Database,
  { emailId, familyId }: Pick<Choosing, "emailId" | "familyId">,
  slice: Recipient[],
  deadlineMs: number,
): Promise<Standing> {
  if (slice.length === 0) return { fresh: [], refusing: 0 };
  const [ids, addresses] = [slice.map(({ contactId }) => contactId), slice.map(({ address }) => address)];
  const values = [familyId, ids, addresses, emailId];
  const rows = await queryByIndex(database, standingStatement, values, deadlineMs);
  const standing = new Map(rows.map((row) => [Number(row.contact_id), row]));
  const isFresh = ({ contactId }: Recipient) => {
    const { has_refused, is_chosen } = standing.get(contactId) ?? {};
    return has_refused === "f" && is_chosen === "f";
  };
  return {
    fresh: slice.filter(isFresh),
    refusing: rows.filter(({ has_refused }) => has_refused === "t").length,
  };
}

/** Chooses fresh recipients for an email, `most` at most. Returns how many were chosen: each contact and each address once for a family. */
export async function chooseRecipients(
  choosing: Choosing,
  fresh: Recipient[],
  most: number,
): Promise<number> {
  const { transaction, outbox, now, broadcastId, emailId, familyId, isDecided } = choosing;
  const recipients = fresh.slice(0, most);
  if (recipients.length === 0) return 0;
  const emailIds = await assignEmails(transaction, { emailId, isDecided }, recipients);
  const emails = await emailsOfSends(transaction, emailIds);
  const assigned = recipients.map((recipient, index) => ({ ...recipient, emailId: emailIds[index] }));
  // Postgres writes the rows of the next part while the event of this one is made.
  const counts = await Promise.all(
    slices(assigned, PART).map(async (part) => {
      const rows = await transaction.query(chooseStatement, [
        part.map(() => newFactId(now).id),
        part.map(({ emailId }) => emailId),
        part.map(({ contactId }) => contactId),
        part.map(({ address }) => address),
        part.map(({ segmentId }) => segmentId),
        familyId,
        broadcastId,
      ]);
      outbox.append(transaction, sendEvents("queued", rows, emails));
      return rows.length;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
