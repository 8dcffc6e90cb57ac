import { weightIn, weightOfParent } from "../family/variant-weight.ts";
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
  const all = seen.reduce((sum, hits) => sum + hits, 0);
  const deficits = [weightOfParent(weights), ...weights].map(
    (weight, index) => weight / 100 - (all > 0 ? (seen[index] ?? 0) / all : 0),
  );
  return candidates[deficits.indexOf(Math.max(...deficits))] ?? page;
}

/** The field of a contact that says which language they prefer. */
export const LOCALE = "preferred_locale";

/** The page in the first of these languages that it has; undefined when that is the page itself, or there is none. */
export function chooseTranslation(
  { page, translations }: Pick<FoundPage, "page" | "translations">,
  languages: string[],
): PageRow | undefined {
  for (const language of languages.map(folded)) {
    const base = language.split("-", 1)[0] ?? "";
    const fits = (candidate: PageRow, word: string) => folded(candidate.language ?? "en") === word;
    if (fits(page, language)) return undefined;
    const exact = translations.find((candidate) => fits(candidate, language));
    if (exact) return exact;
    const isOfBase = (candidate: PageRow) => folded(candidate.language ?? "en").split("-", 1)[0] === base;
    if (isOfBase(page)) return undefined;
    const near = translations.find(isOfBase);
    if (near) return near;
  }
  return undefined;
}

function folded(language: string): string {
  return language.toLowerCase().replaceAll("_", "-");
}
