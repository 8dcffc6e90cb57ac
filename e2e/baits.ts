/** Texts that take the square of their length where something looks for the end of each beginning, or tries all ways to fit. */
export const BAITS = ["<", "<a ", "<!--", "&#", " ", "a@", "a.", "{", "[", "%", "://", "١", "ß"];

/** Each as often as it takes for so many octets. */
export function filledWith(baits: string[], octets: number): string[] {
  return baits.map((bait) => bait.repeat(Math.ceil(octets / Buffer.byteLength(bait))));
}
