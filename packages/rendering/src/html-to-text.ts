import { readAttributeReferences, readTextReferences } from "./character-references.ts";
import { scanHtml } from "./scan-html.ts";

/** Elements that begin and end a line. */
const BLOCKS = new Set(
  `address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
    header hr li main nav ol p pre section summary table tbody tfoot thead tr ul`.split(/\s+/),
);
/** Elements with a blank line about them. */
const PARAGRAPHS = new Set("blockquote dl figure h1 h2 h3 h4 h5 h6 ol p pre table ul".split(" "));
const UNREAD = new Set("head script style template title noscript textarea select".split(" "));
/** Addresses that a reader of the text needs. */
const ADDRESS = /^(?:https?:|mailto:|tel:|\{)/i;
/** People know mail addresses and telephone numbers without their scheme. */
const PERSON = /^(?:mailto|tel):/i;
/** A longer line is broken between two elements: what is added to it costs more the longer it is. */
const LINE_LENGTH_MAX = 2_000;

/**
 * The text of a mail whose author wrote HTML alone: lines for blocks, a blank line between paragraphs, `text (address)` for links, `* ` for items,
 * the alternative text of pictures. Tokens stay as they are written. Yields where its reader may pause.
 */
export function* htmlToText(html: string): Generator<void, string> {
  const lines = textLines();
  /** Elements that are not read, and how many of them are open. */
  let unread = 0;
  let tag = "";
  /** The address of the open link. */
  let link: string | undefined;

  const breakFor = (name: string) => {
    if (!BLOCKS.has(name)) return;
    lines.end();
    if (PARAGRAPHS.has(name)) lines.blank();
  };
  yield* scanHtml(html, {
    openTag(name) {
      tag = name;
      if (UNREAD.has(name)) unread += 1;
      if (unread > 0) return;
      breakFor(name);
      if (name === "br") lines.end();
      if (name === "li") lines.begin("* ");
      if (name === "td" || name === "th") lines.space();
    },
    attribute(name, value) {
      if (unread > 0) return;
      const text = readAttributeReferences(value).trim();
      if (tag === "img" && name === "alt") lines.add(text);
      if (tag === "a" && name === "href" && ADDRESS.test(text)) {
        link = text.replace(PERSON, "");
        lines.mark();
      }
    },
    tagEnd: () => undefined,
    closeTag(name) {
      if (UNREAD.has(name)) unread = Math.max(0, unread - 1);
      if (unread > 0) return;
      if (name === "a" && link) {
        const shown = lines.sinceMark();
        if (shown === "") lines.add(link);
        else if (shown !== link) lines.add(` (${link})`);
        link = undefined;
      }
      breakFor(name);
    },
    text(text) {
      if (unread === 0) lines.add(readTextReferences(text).replace(/\s+/g, " "));
    },
  });
  lines.end();
  return lines.text();
}

/** Lines of a text, the last of which is being written. */
function textLines() {
  const lines: string[] = [];
  let line = "";
  let from = 0;
  const end = () => {
    const text = line.trim();
    if (text !== "") lines.push(text);
    line = "";
    from = 0;
  };
  return {
    end,
    add(text: string) {
      if (line.length > LINE_LENGTH_MAX) end();
      // No two spaces follow each other.
      line += line === "" || line.endsWith(" ") ? text.trimStart() : text;
    },
    blank() {
      if (lines.length > 0 && lines.at(-1) !== "") lines.push("");
    },
    begin(text: string) {
      line = text;
    },
    space() {
      if (line !== "") line += " ";
    },
    mark() {
      from = line.length;
    },
    /** The text of this line since the mark. */
    sinceMark: () => line.slice(from).trim(),
    text: () => lines.join("\n").trim(),
  };
}
