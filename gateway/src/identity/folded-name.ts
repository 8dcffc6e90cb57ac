/**
 * A name or address people sign in with, in the form in which no two users may share it and attempts are counted: the one
 * place that decides what is the same. The database compares what this made and folds nothing itself.
 */
export function foldedName(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase().normalize("NFKC");
}
