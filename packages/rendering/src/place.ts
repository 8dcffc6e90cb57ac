import { html } from "@tidings/runtime/html";

/** How the values of tokens are written where a token stands. */
export interface Place {
  /** Writes a text so that it stays text there. */
  write(text: string): string;
  /** `write` percent-encodes, so that a value must not be percent-encoded before. */
  isPercentEncoded?: true;
  /** Values that are HTML already may stand there. */
  takesMarkup?: true;
}

/** Nothing may be written where a value would be a tag, a name or code. */
export const NOWHERE: Place = { write: () => "" };

/** Plain text, such as the text part of a mail. */
export const PLAIN_TEXT: Place = {
  write: (text) => text.toWellFormed().replace(/(?![\n\t])\p{Cc}/gu, ""),
};

/** One line of a header: no value begins another header (RFC 5322, 2.2). */
export const HEADER: Place = {
  write: (text) => text.toWellFormed().replace(/[\p{Cc}\u2028\u2029]+/gu, " "),
};

/** A part of a URL (RFC 3986, 2.1). */
export const URL_PART: Place = {
  write: (text) => encodeURIComponent(text.toWellFormed()),
  isPercentEncoded: true,
};

/** Text among the elements of HTML. */
export const HTML_TEXT: Place = { write: escaped, takesMarkup: true };

/** The text of a title or textarea, whose tags a browser does not read. */
export const TEXT_ONLY_ELEMENT: Place = { write: escaped };

/** Text within SVG or MathML, where a CDATA section ends at `]]>` whatever is escaped. */
export const FOREIGN_TEXT: Place = { write: (text) => escaped(text).replaceAll("]", "&#93;") };

/** CSS: a value may be a number, a length, a colour or a word, and nothing that begins a declaration or a URL. */
export const CSS: Place = { write: (text) => (/^[A-Za-z0-9#%., -]*$/.test(text) ? text : "") };

/** Escapes the characters of HTML, and leaves out those that HTML cannot hold. */
export function escaped(text: string): string {
  return html`${text.toWellFormed().replaceAll("\0", "")}`.markup;
}
