/** THE table of what may decide an A/B test (engines.md 6.8), and which rate is the best one. */
const CRITERIA = {
  "email.openrate": "highest",
  "email.clickthrough": "highest",
  "page.bouncerate": "lowest",
  "page.dwelltime": "highest",
  "form.submissions": "highest",
  "asset.downloads": "highest",
} as const;

export type WinnerCriterion = keyof typeof CRITERIA;

export const WINNER_CRITERIA = Object.keys(CRITERIA) as WinnerCriterion[];

export function isWinnerCriterion(text: string | undefined): text is WinnerCriterion {
  return text !== undefined && Object.hasOwn(CRITERIA, text);
}

/** Ids of the variants with the best rate: several with the same one, none where the highest is 0 or nothing was measured. */
export function winnersOf(
  criterion: WinnerCriterion,
  variants: { id: number; rate?: number | undefined }[],
): number[] {
  const isLowest = CRITERIA[criterion] === "lowest";
  const measured = variants.flatMap(({ id, rate }) => (rate === undefined ? [] : [{ id, rate }]));
  const candidates = isLowest ? measured : measured.filter(({ rate }) => rate > 0);
  const rates = candidates.map(({ rate }) => rate);
  const best = isLowest ? Math.min(...rates) : Math.max(...rates);
  return candidates.filter(({ rate }) => rate === best).map(({ id }) => id);
}
