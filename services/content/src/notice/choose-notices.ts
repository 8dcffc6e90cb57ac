import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { newFactId } from "../visit/hit.ts";
import type { NoticeMail } from "./notice-queue.ts";

/** A mail to addresses. Each of them gets it once for an occasion. */
export interface ChosenNotice {
  /** Names why: `form:<submission>:<action>`, `test:<uuid>`. */
  occasion: string;
  /** The form or email that it comes from. */
  sourceId: number;
  mail: NoticeMail;
  addresses: string[];
  /** The contact whose values are in it, if there is one. */
  contactId: number | undefined;
  /** The contact itself gets it, and nothing after a no. */
  isToContact?: boolean;
  /** The user who wanted it. */
  createdBy?: number;
}

const chooseStatement = prepared(
  "notices_choose",
  `insert into notices (hash, occasion, source_id, mail, contact_id, is_to_contact, created_by, address)
   select r.hash, $1, $2::integer, $3::jsonb, $4::integer, $5::boolean, $6::integer, r.address
   from unnest($7::uuid[], $8::text[]) as r (hash, address)
   on conflict do nothing`,
);

/** Chooses addresses for a mail. Returns the names of its notices by address. */
export function chooseNotices(
  transaction: Transaction,
  { occasion, sourceId, mail, addresses, contactId, isToContact = false, createdBy }: ChosenNotice,
  now: number,
): Map<string, string> {
  const hashes = new Map(addresses.map((address) => [address, newFactId(now).id]));
  const of = [occasion, sourceId, JSON.stringify(mail), contactId ?? null, isToContact, createdBy ?? null];
  transaction.execute(chooseStatement, [...of, [...hashes.values()], [...hashes.keys()]]);
  return hashes;
}
