import { FilterProblem } from "./filter.ts";

const LENGTH_MAX = 250;
const DEPTH_MAX = 10;
const REPEAT_MAX = 255;
/** Single characters a pattern may stand for once its repetitions are written out. */
const SIZE_MAX = 1_000;
/**
 * The characters among them that stand in repeated groups that may match nothing, such as `(?:a?b*){50}`: Postgres takes time in proportion to
 * the cube of their number to prepare such a pattern. Measured: 200 take 40 ms, 500 take 3 s.
 */
const SKIPPED_MAX = 200;

/** The engines that patterns are written for. Both find a match in time proportional to the text. */
export type PatternDialect = "postgres" | "re2";

/** Escapes as each engine writes them. Classes of Postgres cover all scripts; RE2 has to name the categories of Unicode. */
const ESCAPES: Record<PatternDialect, ReadonlyMap<string, string>> = {
  postgres: new Map([
    ...[..."dDwWsSnrt"].map((letter) => [letter, `\\${letter}`] as const),
    ["b", "\\y"],
    ["B", "\\Y"],
  ]),
  re2: new Map([
    ...[..."nrtbB"].map((letter) => [letter, `\\${letter}`] as const),
    ["d", "\\p{Nd}"],
    ["D", "\\P{Nd}"],
    ["w", "[\\p{L}\\p{N}_]"],
    ["W", "[^\\p{L}\\p{N}_]"],
    ["s", "[\\s\\v\\p{Z}]"],
    ["S", "[^\\s\\v\\p{Z}]"],
  ]),
};
/** The same within a class, where none of them may stand for what is not. */
const CLASS_ESCAPES: Record<PatternDialect, ReadonlyMap<string, string>> = {
  postgres: new Map([..."dwsnrt"].map((letter) => [letter, `\\${letter}`] as const)),
  re2: new Map([
    ...[..."nrt"].map((letter) => [letter, `\\${letter}`] as const),
    ["d", "\\p{Nd}"],
    ["w", "\\p{L}\\p{N}_"],
    ["s", "\\s\\v\\p{Z}"],
  ]),
};
const NAMED_CLASS = /^\[:(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]/;
/** Classes that RE2 knows for ASCII alone. */
const SCRIPTS = new Map([
  ["alnum", "\\p{L}\\p{N}"],
  ["alpha", "\\p{L}"],
  ["digit", "\\p{Nd}"],
  ["lower", "\\p{Ll}"],
  ["upper", "\\p{Lu}"],
  ["space", "\\s\\v\\p{Z}"],
]);

/**
 * A regular expression in the form that an engine takes. Only what takes time in proportion to the text is let through: no
 * back-references, no look-around, and repetitions that stay small when they are nested. Throws FilterProblem.
 */
export function safePattern(pattern: string, dialect: PatternDialect = "postgres"): string {
  if (pattern.length > LENGTH_MAX)
    throw new FilterProblem(`A regular expression may have ${LENGTH_MAX} characters.`);
  const reader = { pattern, at: 0, dialect };
  const { text } = readAlternatives(reader, 0);
  if (reader.at < pattern.length) throw invalid("a bracket closes that was never opened");
  return text;
}

interface Reader {
  pattern: string;
  at: number;
  dialect: PatternDialect;
}

/** A part of the pattern, rewritten, and how many characters it stands for at most: none for a place between them. */
interface Part {
  text: string;
  size: number;
  /** May it match nothing? */
  isOptional: boolean;
  /** See SKIPPED_MAX. */
  skipped: number;
}

function invalid(reason: string): FilterProblem {
  return new FilterProblem(`The regular expression cannot be used: ${reason}.`);
}

function readAlternatives(reader: Reader, depth: number): Part {
  if (depth > DEPTH_MAX) throw invalid("it is nested too deeply");
  let text = "";
  let size = 0;
  let skipped = 0;
  let isOptional = false;
  let isBranchOptional = true;
  while (reader.at < reader.pattern.length && reader.pattern[reader.at] !== ")") {
    if (reader.pattern[reader.at] === "|") {
      text += "|";
      reader.at += 1;
      isOptional ||= isBranchOptional;
      isBranchOptional = true;
      continue;
    }
    const atom = readAtom(reader, depth);
    const part = readRepeats(reader, atom);
    text += part.text;
    size += part.size;
    skipped += part.skipped;
    isBranchOptional &&= part.isOptional;
    if (size > SIZE_MAX) throw invalid("it stands for too much text");
    if (skipped > SKIPPED_MAX) throw invalid("too much of it is optional");
  }
  return { text, size, skipped, isOptional: isOptional || isBranchOptional };
}

/** One character, or a place between two of them. */
function single(text: string, size: 0 | 1): Part {
  return { text, size, isOptional: size === 0, skipped: 0 };
}

function readAtom(reader: Reader, depth: number): Part {
  const character = String.fromCodePoint(reader.pattern.codePointAt(reader.at) ?? 0);
  if (character === "(") return readGroup(reader, depth);
  if (character === "[") return readClass(reader);
  if (character === "\\") return readEscape(reader);
  if ("*+?{".includes(character)) throw invalid("a repetition has nothing to repeat");
  reader.at += character.length;
  if (character === "^" || character === "$") return single(character, 0);
  return single(character === "}" || character === "]" ? `\\${character}` : character, 1);
}

function readGroup(reader: Reader, depth: number): Part {
  reader.at += 1;
  if (reader.pattern.startsWith("?:", reader.at)) reader.at += 2;
  else if (reader.pattern[reader.at] === "?") throw invalid("groups that begin with ? are not supported");
  const group = readAlternatives(reader, depth + 1);
  if (reader.pattern[reader.at] !== ")") throw invalid("a bracket is not closed");
  reader.at += 1;
  return { ...group, text: `(?:${group.text})` };
}

function readEscape(reader: Reader): Part {
  const letter = reader.pattern[reader.at + 1];
  if (letter === undefined) throw invalid("it ends with a backslash");
  reader.at += 2;
  const known = ESCAPES[reader.dialect].get(letter);
  if (known) return single(known, letter.toLowerCase() === "b" ? 0 : 1);
  if (/[\p{L}\p{N}]/u.test(letter)) throw invalid(`\\${letter} is not supported`);
  return single(`\\${letter}`, 1);
}

/** `[a-z]`, `[^,;]`, `[[:alpha:]\d_]` */
function readClass(reader: Reader): Part {
  const { pattern } = reader;
  let text = "[";
  reader.at += 1;
  if (pattern[reader.at] === "^") {
    text += "^";
    reader.at += 1;
  }
  do {
    const member = readClassMember(reader);
    text += member.text;
    if (pattern[reader.at] !== "-" || pattern[reader.at + 1] === "]") continue;
    reader.at += 1;
    const last = readClassMember(reader);
    if (!member.character || !last.character || member.character > last.character)
      throw invalid("a range of characters goes backwards");
    text += `-${last.text}`;
  } while (pattern[reader.at] !== "]");
  reader.at += 1;
  return single(`${text}]`, 1);
}

/** One character of a class, or several that have a name. */
function readClassMember(reader: Reader): { text: string; character?: string } {
  const rest = reader.pattern.slice(reader.at);
  const [whole = "", named] = NAMED_CLASS.exec(rest) ?? [];
  const escaped = /^\\(.)/su.exec(rest)?.[1];
  const character = escaped ?? String.fromCodePoint(rest.codePointAt(0) ?? 0);
  if (!named && /^\[[:.=]/.test(rest)) throw invalid("a class of characters is not known");
  if (rest === "" || rest === "\\") throw invalid("a bracket is not closed");
  reader.at += named ? whole.length : character.length + (escaped === undefined ? 0 : 1);
  if (named) return { text: (reader.dialect === "re2" && SCRIPTS.get(named)) || `[:${named}:]` };
  const known = escaped === undefined ? undefined : CLASS_ESCAPES[reader.dialect].get(escaped);
  if (known) return { text: known };
  if (escaped !== undefined && /[\p{L}\p{N}]/u.test(escaped)) throw invalid(`\\${escaped} is not supported`);
  // Characters with a meaning within a class are escaped.
  return { text: /[\p{L}\p{N}\s]/u.test(character) ? character : `\\${character}`, character };
}

function readRepeats(reader: Reader, atom: Part): Part {
  const sign = /^(?:[*+?]|\{(\d{1,4})(,(\d{0,4}))?\})\??/.exec(reader.pattern.slice(reader.at));
  if (!sign) return atom;
  const [text, low, hasHigh, high] = sign;
  reader.at += text.length;
  if (/^[*+?{]/.test(reader.pattern.slice(reader.at))) throw invalid("a repetition is repeated");
  if (atom.size === 0) throw invalid("a repetition has nothing to repeat");
  const repeated = { ...atom, text: atom.text + text };
  if (low === undefined) return { ...repeated, isOptional: atom.isOptional || !text.startsWith("+") };
  const most = Number(high || low);
  if (Number(low) > REPEAT_MAX || most > REPEAT_MAX || (hasHigh && high && most < Number(low)))
    throw invalid(`a repetition may go from 0 to ${REPEAT_MAX}`);
  const times = Math.max(most, 1);
  return {
    ...repeated,
    size: atom.size * times,
    isOptional: atom.isOptional || Number(low) === 0,
    skipped: (atom.skipped + (atom.isOptional ? atom.size : 0)) * times,
  };
}
