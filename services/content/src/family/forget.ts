import type { Transaction } from "@tidings/database/transaction";
import { forgetIn } from "@tidings/projection/forget-in";

const segmentStatements = [
  forgetIn("emails", "lists"),
  forgetIn("emails", "excluded_lists"),
  forgetIn("smses", "lists"),
];
const assetStatement = forgetIn("emails", "asset_attachments");

/** Segments that are gone are sent nothing. */
export function forgetSegments(transaction: Transaction, ids: number[]): void {
  for (const statement of segmentStatements) transaction.execute(statement, [ids]);
}

/** Files that are gone are attached to nothing. */
export function forgetAssets(transaction: Transaction, ids: number[]): void {
  transaction.execute(assetStatement, [ids]);
}
