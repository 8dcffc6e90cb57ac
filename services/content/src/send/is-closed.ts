import { isOpen } from "../family/is-open.ts";
import { FAMILY_OF } from "./email-family.ts";

/**
 * SQL: the email that a broadcast `b` of the email `e` goes on with: the winner, once there is one. A send of a whole family goes on with its root: somebody may
 * make a winner by hand.
 */
export const TARGET_OF_BROADCAST = `coalesce(b.winner_id, case when b.is_of_root and e.variant_parent_id is not null and ${FAMILY_OF} = b.family_id
  then e.variant_parent_id end, b.email_id)`;

/** SQL: is the email of a broadcast `b` not published now? */
export const IS_CLOSED_EMAIL = `not exists (select from emails e join emails t on t.id = ${TARGET_OF_BROADCAST}
  where e.id = b.email_id and ${isOpen("t")})`;

/** SQL: is the text message of a broadcast `b` not published now? */
export const IS_CLOSED_SMS = `not exists (select from smses i where i.id = b.sms_id and ${isOpen("i")})`;
