/** The text of a value that a client sent: texts, numbers and switches have one, nothing else has. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

const YES_AND_NO = new Map([
  ...["1", "true", "on", "yes"].map((word) => [word, true] as const),
  ...["0", "false", "off", "no"].map((word) => [word, false] as const),
]);

/** Yes or no in any way that clients write it; undefined for anything else. */
export function yesOrNoOf(value: unknown): boolean | undefined {
  return YES_AND_NO.get(textOf(value)?.toLowerCase() ?? "");
}

/** A whole number, as a number or as text. */
export function wholeNumberOf(value: unknown): number | undefined {
  const text = typeof value === "boolean" ? "" : (textOf(value)?.trim() ?? "");
  return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * A text without the tags of HTML. A `<` that begins none is kept, as in `a < b` or `<3`. It takes one pass, whatever the
 * text: signs before a tag go with it, so that what is left makes no new one.
 */
export function withoutTags(text: string): string {
  let kept = "";
  let from = 0;
  for (const start of text.matchAll(TAG_START)) {
    if (start.index < from) continue; // inside the tag before
    const end = text.indexOf(">", start.index);
    if (end < 0) break;
    let until = start.index;
    while (until > from && text[until - 1] === "<") until -= 1;
    kept += text.slice(from, until);
    from = end + 1;
  }
  return kept + text.slice(from);
}

const TAG_START = /<[a-z/!?]/gi;

const ENTITIES = new Map([
  ["&amp;", "&"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&quot;", '"'],
  ["&apos;", "'"],
  ["&#39;", "'"],
  ["&#039;", "'"],
]);

/** A text whose signs somebody wrote as the entities that HTML needs for them. */
export function withoutEntities(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|apos|#0?39);/g, (entity) => ENTITIES.get(entity) ?? entity);
}
