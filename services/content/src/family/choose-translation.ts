/** A page or an email in some language. */
interface Translatable {
  language?: string | undefined;
}

/** The translation in the first of these languages that there is; undefined when that is the one itself, or there is none. */
export function chooseTranslation<T extends Translatable>(
  original: T,
  translations: T[],
  languages: string[],
): T | undefined {
  for (const language of languages.map(folded)) {
    const base = language.split("-", 1)[0] ?? "";
    const fits = (candidate: T, word: string) => folded(candidate.language ?? "en") === word;
    if (fits(original, language)) return undefined;
    const exact = translations.find((candidate) => fits(candidate, language));
    if (exact) return exact;
    const isOfBase = (candidate: T) => folded(candidate.language ?? "en").split("-", 1)[0] === base;
    if (isOfBase(original)) return undefined;
    const near = translations.find(isOfBase);
    if (near) return near;
  }
  return undefined;
}

function folded(language: string): string {
  return language.toLowerCase().replaceAll("_", "-");
}
