/**
 * A name, an address or another text that identifies something, in the form in which no two may be the same: the one place
 * that decides about case. Databases differ in this from server to server, so they compare what was folded here and fold
 * nothing themselves. Simple caseless matching (Unicode 16, 3.13), except that the dotted I keeps its dot.
 */
export function folded(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase().replaceAll("\u03c2", "\u03c3").normalize("NFKC");
}
