import { type RawBuilder, sql } from "kysely";

/** Stands before and behind each text of `contact_search`. */
const SEPARATOR = "\x1f";

/** The parts of a text that the index can look for (pg_trgm): three letters in a row, or the beginning or the end of a word. */
const LETTER = "[\\p{L}\\p{N}]";
const INDEXED = new RegExp(`${LETTER}{3}|[^\\p{L}\\p{N}%_]${LETTER}|${LETTER}{2}[^\\p{L}\\p{N}%_]`, "u");

/** Contacts any text of which matches one of the patterns: one index over all texts serves every field. */
export function nearText(patterns: string[]): RawBuilder<unknown> | undefined {
  const surrounded = patterns.map((pattern) => `%${SEPARATOR}${pattern}${SEPARATOR}%`);
  if (!surrounded.every((pattern) => INDEXED.test(pattern))) return undefined;
  const fits = surrounded.map((pattern) => sql`found.text ilike ${pattern}`);
  return sql`c.id in (select found.id from contact_search found where ${sql.join(fits, sql` or `)})`;
}
