import anyAscii from "any-ascii";

const LENGTH_MAX = 180;

/** Latin letters, digits and hyphens; `segment` when the text has none of them. */
export function cleanAlias(text: string): string {
  const alias = anyAscii(text)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, LENGTH_MAX)
    .replaceAll(/^-|-$/g, "");
  return alias || "segment";
}

/** The alias made of a name, unlike all that are taken: `new-customers`, `new-customers1`. */
export function freeAlias(name: string, isTaken: (alias: string) => boolean): string {
  const base = cleanAlias(name);
  for (let suffix = 0; ; suffix += 1) {
    const alias = suffix === 0 ? base : `${base}${suffix}`;
    if (!isTaken(alias)) return alias;
  }
}
