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
  const lines: string[] = [];
  let line = "";
  /** Elements that are not read, and how many of them are open. */
  let unread = 0;
  let tag = "";
  /** The address of the open link, and where its text begins. */
  let link: { address: string; from: number } | undefined;

  const endLine = () => {
    const text = line.trim();
    if (text !== "") lines.push(text);
    line = "";
    if (link) link.from = 0;
  };
  const add = (text: string) => {
    if (line.length > LINE_LENGTH_MAX) endLine();
    // No two spaces follow each other.
    line += line === "" || line.endsWith(" ") ? text.trimStart() : text;
  };
  const blank = () => {
    if (lines.length > 0 && lines.at(-1) !== "") lines.push("");
  };
  const breakFor = (name: string) => {
    if (!BLOCKS.has(name)) return;
    endLine();
    if (PARAGRAPHS.has(name)) blank();
  };
  yield* scanHtml(html, {
    openTag(name) {
      tag = name;
      if (UNREAD.has(name)) unread += 1;
      if (unread > 0) return;
      breakFor(name);
      if (name === "br") endLine();
      if (name === "li") line = "* ";
      if ((name === "td" || name === "th") && line !== "") line += " ";
    },
    attribute(name, value) {
      if (unread > 0) return;
      const text = readAttributeReferences(value).trim();
      if (tag === "img" && name === "alt") add(text);
      if (tag === "a" && name === "href" && ADDRESS.test(text))
        link = { address: text.replace(PERSON, ""), from: line.length };
    },
    tagEnd: () => undefined,
    closeTag(name) {
      if (UNREAD.has(name)) unread = Math.max(0, unread - 1);
      if (unread > 0) return;
      if (name === "a" && link) {
        const shown = line.slice(link.from).trim();
        if (shown === "") add(link.address);
        else if (shown !== link.address) add(` (${link.address})`);
        link = undefined;
      }
      breakFor(name);
    },
    text(text) {
      if (unread === 0) add(readTextReferences(text).replace(/\s+/g, " "));
    },
  });
  endLine();
  return lines.join("\n").trim();
}
