import anyAscii from "any-ascii";

export const FIELD_WORD_MAX = 25;

/** Words with a meaning in SQL for the fields of contacts (reserved in SQL:2016 and its larger dialects). */
const SQL_WORDS = new Set(
  `add all alter analyze and any array as asc before between both by call cascade case change check column condition
  constraint continue convert create cross cube current_date current_time current_timestamp current_user cursor
  database databases day_hour dec decimal declare default delayed delete desc describe distinct div double drop dual
  each else elseif empty end escaped except exists exit explain false fetch float for force foreign from full fulltext
  function generated get grant group grouping groups having if ignore in index infile inner inout insert int integer
  intersect interval into is iterate join key keys kill lateral leading leave left like limit linear lines load
  localtime localtimestamp lock long loop match mod natural not null numeric of offset on only optimize option or order
  out outer outfile over partition placing precision primary procedure purge range rank read reads real recursive
  references regexp release rename repeat replace require restrict return returning revoke right row rows schema
  schemas select sensitive separator session_user set show similar smallint some spatial sql ssl starting symmetric
  system table terminated then to trailing trigger true undo union unique unlock unsigned update usage use user using
  values varchar variadic varying verbose when where while window with write xor`.split(/\s+/),
);

/** Latin letters, digits and underscores. */
export function latinWord(text: string, lengthMax: number): string {
  return anyAscii(text)
    .toLowerCase()
    .trim()
    .replaceAll(/\s+/g, "_")
    .replaceAll(/[^a-z0-9_]/g, "")
    .slice(0, lengthMax)
    .replace(/_$/, "");
}

/** The same as a field may be called: at most 25 of them, beginning with a letter, and no word of SQL. */
export function fieldWord(text: string): string {
  const word = latinWord(text, FIELD_WORD_MAX);
  const isUsable = /^[a-z]/.test(word) && !SQL_WORDS.has(word);
  return isUsable ? word : `f_${word}`.slice(0, FIELD_WORD_MAX).replace(/_$/, "_field");
}
