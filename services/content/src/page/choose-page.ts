import { furthestBelow, weightIn, weightOfParent } from "../family/variant-weight.ts";
import type { FoundPage, PageRow } from "./find-page.ts";

/**
 * The variant of an A/B test that a visitor sees: the one that an earlier visit chose, while it takes part; else the one whose share of the visits so far
 * is furthest below its weight (engines.md 6.8). The page itself has what its variants leave of 100.
 */
export function chooseVariant(
  { page, variants }: Pick<FoundPage, "page" | "variants">,
  chosen: number | undefined,
): PageRow {
  if (variants.length === 0) return page;
  const candidates = [page, ...variants];
  const before = candidates.find(({ id }) => id === chosen);
  if (before) return before;
  const weights = variants.map(({ variantSettings }) => weightIn(variantSettings));
  const seen = candidates.map(({ variantHits = 0 }) => variantHits);
  const shares = [weightOfParent(weights), ...weights].map((weight, index) => ({
    weight,
    count: seen[index] ?? 0,
  }));
  return candidates[furthestBelow(shares)] ?? page;
}

/** The field of a contact that says which language they prefer. */
export const LOCALE = "preferred_locale";
