import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { isOpen } from "../family/is-open.ts";
import { FAMILY_OF } from "./email-family.ts";
import { type Outcome, outcomeOfRow, sendOfOccasion } from "./outcomes.ts";

const familyStatement = prepared(
  "emails_asked_family",
  `select ${FAMILY_OF} as family_id, ${isOpen("e")} as is_open from emails e where e.id = $1::integer`,
);
const ofOccasionStatement = prepared("sends_of_occasion", sendOfOccasion("sends", "family_id"));

/** The outcomes of mails of an occasion, for those of these contacts that have one. */
export async function emailsOfOccasion(
  source: Queryable,
  { itemId, occasion, contactIds }: { itemId: number; occasion: string; contactIds: number[] },
): Promise<Outcome[]> {
  const { id } = await familyOf(source, itemId);
  return (await source.query(ofOccasionStatement, [id, occasion, contactIds])).map(outcomeOfRow);
}

/** The family of an email; of one that is gone the sends that it began. */
export async function familyOf(
  { query }: Queryable,
  emailId: number,
): Promise<{ id: number; isOpen: boolean }> {
  const [row] = await query(familyStatement, [emailId]);
  return { id: Number(row?.family_id ?? emailId), isOpen: row?.is_open === "t" };
}
