import { Tokenizer } from "htmlparser2";

/** Receives the parts of a text of HTML in their order. Names are in lower case; texts and values as they are written. */
export interface HtmlParts {
  openTag(name: string): void;
  closeTag(name: string): void;
  /** A value without its quotes, and where it begins. */
  attribute(name: string, value: string, start: number): void;
  /** The end of a tag's beginning, after its attributes. */
  tagEnd(): void;
  /** A text, and where it begins. */
  text(text: string, start: number): void;
}

/** Characters after which a reader that shares the event loop may pause. */
const LENGTH_AT_ONCE = 16_384;

/**
 * Reads tags alone, and builds no tree: the time grows with the length, however deep the tags are nested. A long text comes in several
 * parts. Yields where its reader may pause.
 */
export function* scanHtml(html: string, parts: HtmlParts): Generator<void, void> {
  let name = "";
  let value = { start: -1, end: -1 };
  const ignore = () => undefined;
  const tokenizer = new Tokenizer(
    { decodeEntities: false },
    {
      onopentagname: (start, end) => parts.openTag(html.slice(start, end).toLowerCase()),
      onopentagend: () => parts.tagEnd(),
      onselfclosingtag: () => parts.tagEnd(),
      onclosetag: (start, end) => parts.closeTag(html.slice(start, end).toLowerCase()),
      onattribname(start, end) {
        name = html.slice(start, end).toLowerCase();
        value = { start: -1, end: -1 };
      },
      onattribdata(start, end) {
        value = { start: value.start < 0 ? start : value.start, end };
      },
      onattribend(_quote, end) {
        // Without a value: the place after the name.
        const { start, end: until } = value.start < 0 ? { start: end, end } : value;
        parts.attribute(name, html.slice(start, until), start);
      },
      ontext: (start, end) => parts.text(html.slice(start, end), start),
      onattribentity: ignore,
      ontextentity: ignore,
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  );
  for (let at = 0, end = 0; at < html.length; at = end) {
    end = endOfPart(html, at + LENGTH_AT_ONCE);
    tokenizer.write(html.slice(at, end));
    yield;
  }
  tokenizer.end();
}

/** The next place that is in no word and in no character reference. */
function endOfPart(html: string, from: number): number {
  const place = /[\s<&]/g;
  place.lastIndex = from;
  return place.exec(html)?.index ?? html.length;
}
