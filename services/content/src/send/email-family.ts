import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/**
 * SQL: the family of a row `e`, by which the ledger knows who got one of its emails: that of its root, the original of a translation and the parent of a
 * variant. A root that was a variant has the family of the root before.
 */
export const FAMILY_OF = `(select coalesce(kept.family_id, root.id) from (
    select coalesce(original.variant_parent_id, original.id) as id from emails original where original.id = coalesce(e.translation_parent_id, e.id)) root
  left join email_families kept on kept.email_id = root.id)`;

const keepStatement = prepared(
  "email_families_keep",
  `insert into email_families (email_id, family_id)
   select $1::integer, coalesce((select family_id from email_families where email_id = $2::integer), $2::integer)
   on conflict (email_id) do update set family_id = excluded.family_id`,
);

/** Keeps the family when a variant takes the place of its parent: whoever got a mail of the test gets no other one. */
export function keepFamily(
  transaction: Transaction,
  { winnerId, rootId }: { winnerId: number; rootId: number },
): void {
  transaction.execute(keepStatement, [winnerId, rootId]);
}
