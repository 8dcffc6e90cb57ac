/** Octets of text in one encoded word: 52 characters of base64, so that a line with one stays under 76 (RFC 2047, 2). */
const WORD_BYTES = 39;
const LINE_LENGTH = 76;
/** A word is never folded. A longer one would not fit into a line of 998 octets (RFC 5322, 2.1.1). */
const WORD_LENGTH_MAX = 800;

/** The text on one line: each run of control characters and line ends is a space. */
export function withoutControls(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
}

/**
 * A header field with its CRLF, folded at spaces (RFC 5322, 2.2.3). `value` has no control characters. A word of more than
 * 800 characters has to be encoded before.
 */
export function headerLine(name: string, value: string): string {
  let line = `${name}:`;
  const lines: string[] = [];
  for (const word of foldable(value)) {
    if (line.length + 1 + word.length > LINE_LENGTH && line !== `${name}:`) {
      lines.push(line);
      line = "";
    }
    line += ` ${word}`;
  }
  return `${[...lines, line].join("\r\n")}\r\n`;
}

/** The text of an unstructured header: as it is, or as encoded words (RFC 2047) where it is not ASCII or has too long a word. */
export function headerText(text: string): string {
  return hasToBeEncoded(text) ? encodedWords(text) : text;
}

/** A display name before an address: words, a quoted string (RFC 5322, 3.2.4) or encoded words. */
export function headerPhrase(name: string): string {
  if (hasToBeEncoded(name)) return encodedWords(name);
  return /^\w+(?: \w+)*$/.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`;
}

/** Text that looks like an encoded word is encoded: readers would decode it. */
function hasToBeEncoded(text: string): boolean {
  return /[^\x20-\x7e]|=\?/.test(text) || foldable(text).some((word) => word.length > WORD_LENGTH_MAX);
}

/** A line is folded at a space between two words only: a folded line of spaces is obsolete syntax (RFC 5322, 4.2). */
function foldable(text: string): string[] {
  return text.split(/(?<=[^ ]) (?=[^ ])/);
}

/** No character is divided between two words (RFC 2047, 5). */
function encodedWords(text: string): string {
  const words: string[] = [];
  let word = "";
  let bytes = 0;
  for (const character of text) {
    const more = Buffer.byteLength(character);
    if (bytes + more > WORD_BYTES) {
      words.push(word);
      word = "";
      bytes = 0;
    }
    word += character;
    bytes += more;
  }
  return [...words, word].map((part) => `=?UTF-8?B?${Buffer.from(part).toString("base64")}?=`).join(" ");
}
