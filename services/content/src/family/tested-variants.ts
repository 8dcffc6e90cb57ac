import type { Row } from "@tidings/database/statement";
import { isObject, jsonOf } from "@tidings/resource/json-member";
import { textOf } from "@tidings/runtime/plain-text";
import { weightIn, weightOfParent } from "./variant-weight.ts";
import { isWinnerCriterion, type WinnerCriterion } from "./winner.ts";

/** The variants of a test that are looked at. */
export const VARIANTS_MAX = 100;

/** The criterion that the first of these rows with one names in its `variant_settings`. */
export function criterionOf(rows: Row[]): WinnerCriterion | undefined {
  return rows
    .map(({ variant_settings }) => jsonOf(Buffer.from(variant_settings ?? "[]")))
    .map((settings) => (isObject(settings) ? textOf(settings.winnerCriteria) : undefined))
    .find(isWinnerCriterion);
}

/** The share of a row of a test in percent. */
export function weightOf(row: Row, rows: Row[]): number {
  const weight = ({ variant_settings }: Row) => weightIn(Buffer.from(variant_settings ?? "[]"));
  if (row.is_parent !== "t") return weight(row);
  return weightOfParent(
    rows.filter(({ is_parent, is_published }) => is_parent !== "t" && is_published === "t").map(weight),
  );
}

/** The rate of a row. Rates are compared and shown with six digits behind the point. */
export function rateOf(row: Row | undefined): { rate?: number } {
  return row?.rate == null ? {} : { rate: Math.round(Number(row.rate) * 1e6) / 1e6 };
}
