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
  "notices_choose_mails",
  `insert into notices (hash, occasion, source_id, mail, contact_id, is_to_contact, created_by, address)
   select r.hash, m.occasion, m.source_id, m.mail::jsonb, m.contact_id, m.is_to_contact, m.created_by, r.address
   from unnest($1::text[], $2::integer[], $3::text[], $4::integer[], $5::boolean[], $6::integer[]) with ordinality
     as m (occasion, source_id, mail, contact_id, is_to_contact, created_by, place)
   join unnest($7::integer[], $8::uuid[], $9::text[]) as r (place, hash, address) on r.place = m.place
   order by m.occasion, lower(r.address)
   on conflict do nothing`,
);

/** Chooses addresses for mails. Returns the names of the notices by address, for each mail. */
export function chooseNotices(
  transaction: Transaction,
  chosen: ChosenNotice[],
  now: number,
): Map<string, string>[] {
  const hashes = chosen.map(
    ({ addresses }) => new Map(addresses.map((address) => [address, newFactId(now).id])),
  );
  const rows = hashes.flatMap((names, index) =>
    [...names].map(([address, hash]) => ({ place: index + 1, hash, address })),
  );
  transaction.execute(chooseStatement, [
    chosen.map(({ occasion }) => occasion),
    chosen.map(({ sourceId }) => sourceId),
    chosen.map(({ mail }) => JSON.stringify(mail)),
    chosen.map(({ contactId }) => contactId ?? null),
    chosen.map(({ isToContact = false }) => isToContact),
    chosen.map(({ createdBy }) => createdBy ?? null),
    rows.map(({ place }) => place),
    rows.map(({ hash }) => hash),
    rows.map(({ address }) => address),
  ]);
  return hashes;
}
