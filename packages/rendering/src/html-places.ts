import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { longWork } from "@tidings/runtime/long-work";
import { type DefaultTreeAdapterTypes, defaultTreeAdapter, html, Parser } from "parse5";
import { attributePlaces } from "./attribute-place.ts";
import { CSS, FOREIGN_TEXT, HTML_TEXT, NOWHERE, type Place, TEXT_ONLY_ELEMENT } from "./place.ts";
import { TemplateError } from "./template-error.ts";

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;
type Attribute = Element["attrs"][number];

/** HTML in which markers stand for tokens: words of letters and digits that no author knows. */
interface MarkedHtml {
  source: string;
  prefix: string;
  /** Where the marker of each token begins in the source. */
  starts: number[];
}

interface Marker {
  token: number;
  index: number;
}

const PASSES_MAX = 4;
/** Characters that the parser is given at a time, and the elements after which it pauses: milliseconds. */
const CHUNK_LENGTH = 16_384;
const ELEMENTS_AT_ONCE = 1_000;
const NODES_AT_ONCE = 1_000;
/** Misnested tags make a parser repeat elements: a short text could become millions. */
const ELEMENTS_MAX = 100_000;
const ELEMENTS_OF_CODE = new Set(["script", "iframe", "xmp", "noembed", "noframes", "plaintext"]);
/** A value of letters could complete the end tag of a style, title or textarea. */
const END_TAG_BEGUN = /<\/?[a-z]*$/i;
const REFERENCE_BEGUN = /&[#\w]*$/;

/**
 * Finds the place of each token in HTML: `fixed` are the parts between them. A parser that follows the WHATWG rules reads
 * the text with a marker for each token. Tokens that may not have a value are then left out, as they will be in the
 * rendered text, and the rest is read again: `<{a}script>{b}` is a script. Others have the event loop between parts of a long
 * text. Throws TemplateError for too many elements.
 */
export async function htmlPlaces(fixed: string[]): Promise<Place[]> {
  const nowhere = fixed.slice(1).map(() => NOWHERE);
  const writable = new Set(nowhere.keys());
  for (let pass = 0; pass < PASSES_MAX && writable.size > 0; pass += 1) {
    const places = await placesOf(marked(fixed, writable));
    const misplaced = [...writable].filter((token) => (places.get(token) ?? NOWHERE) === NOWHERE);
    if (misplaced.length === 0) return nowhere.map((place, token) => places.get(token) ?? place);
    for (const token of misplaced) writable.delete(token);
  }
  return nowhere;
}

function marked(fixed: string[], tokens: ReadonlySet<number>): MarkedHtml {
  const prefix = `t${randomUUID().replaceAll("-", "")}n`;
  const starts: number[] = [];
  let source = fixed[0] ?? "";
  for (const [token, part] of fixed.slice(1).entries()) {
    starts.push(source.length);
    source += tokens.has(token) ? `${prefix}${token}n${part}` : part;
  }
  return { source, prefix, starts };
}

async function placesOf(marked: MarkedHtml): Promise<Map<number, Place>> {
  const places = new Map<number, Place>();
  const work = longWork();
  for (const [index, node] of (await nodesOf(marked.source)).entries()) {
    if (index % NODES_AT_ONCE === 0) await work.pause();
    if (defaultTreeAdapter.isTextNode(node))
      for (const { token } of markersIn(node.value, marked.prefix))
        places.set(token, textPlace(node.parentNode, textBefore(marked, token)));
    if (defaultTreeAdapter.isElementNode(node))
      for (const attribute of node.attrs) placeInAttribute(node, attribute, marked, places);
  }
  return places;
}

/** All nodes, read as a browser without scripts does: `<noscript>` then has elements, which are shown. */
async function nodesOf(source: string): Promise<Node[]> {
  const nodes: Node[] = [await parsed(source)];
  const work = longWork();
  for (const [index, node] of nodes.entries()) {
    if (index % NODES_AT_ONCE === 0) await work.pause();
    if ("content" in node) nodes.push(node.content);
    if ("childNodes" in node) for (const child of node.childNodes) nodes.push(child);
  }
  return nodes;
}

/** Parses in parts. A short part can make many elements: the parser stops between its tokens, too. */
async function parsed(source: string): Promise<Node> {
  let count = 0;
  let isPaused = false;
  const treeAdapter = {
    ...defaultTreeAdapter,
    createElement(...element: Parameters<typeof defaultTreeAdapter.createElement>) {
      count += 1;
      if (count > ELEMENTS_MAX) throw new TemplateError(`At most ${ELEMENTS_MAX} elements are supported.`);
      if (count % ELEMENTS_AT_ONCE === 0) {
        isPaused = true;
        tokenizer.pause();
      }
      return defaultTreeAdapter.createElement(...element);
    },
  };
  const parser = new Parser({ treeAdapter, scriptingEnabled: false, sourceCodeLocationInfo: true });
  const { tokenizer } = parser;
  const work = longWork();
  for (let at = 0; at === 0 || at < source.length; at += CHUNK_LENGTH) {
    tokenizer.write(source.slice(at, at + CHUNK_LENGTH), at + CHUNK_LENGTH >= source.length);
    while (isPaused) {
      isPaused = false;
      await nextTurn();
      tokenizer.resume();
    }
    await work.pause();
  }
  return parser.document;
}

function markersIn(text: string, prefix: string): Marker[] {
  const markers: Marker[] = [];
  for (let index = text.indexOf(prefix); index >= 0; index = text.indexOf(prefix, index + prefix.length))
    markers.push({ index, token: Number.parseInt(text.slice(index + prefix.length), 10) });
  return markers;
}

function textPlace(parent: Node | null, before: string): Place {
  if (!parent || !defaultTreeAdapter.isElementNode(parent)) return HTML_TEXT;
  const { tagName, namespaceURI } = parent;
  if (ELEMENTS_OF_CODE.has(tagName)) return NOWHERE;
  if (tagName === "style") return END_TAG_BEGUN.test(before) ? NOWHERE : CSS;
  if (namespaceURI !== html.NS.HTML) return FOREIGN_TEXT;
  if (tagName !== "title" && tagName !== "textarea") return HTML_TEXT;
  return END_TAG_BEGUN.test(before) ? NOWHERE : TEXT_ONLY_ELEMENT;
}

function placeInAttribute(
  element: Element,
  attribute: Attribute,
  marked: MarkedHtml,
  places: Map<number, Place>,
): void {
  const markers = markersIn(attribute.value, marked.prefix);
  if (markers.length === 0) return;
  const found = attributePlaces(
    {
      element: element.tagName.toLowerCase(),
      name: attribute.name.toLowerCase(),
      value: attribute.value,
      isQuoted: isQuoted(element, attribute, marked.source),
      other: (name) => element.attrs.find((other) => other.name === name)?.value,
    },
    markers.map(({ index, token }) => ({
      index,
      couldFinishReference: REFERENCE_BEGUN.test(textBefore(marked, token)),
    })),
  );
  for (const [index, place] of found.entries()) {
    const token = markers[index]?.token;
    if (token !== undefined) places.set(token, place);
  }
}

/** An attribute whose source is unknown, of a second body tag for instance, is taken for one without quotes. */
function isQuoted(element: Element, { name, prefix }: Attribute, source: string): boolean {
  const key = prefix ? `${prefix}:${name}` : name;
  const location = element.sourceCodeLocation?.attrs?.[key.toLowerCase()];
  if (!location) return false;
  const written = source.slice(location.startOffset, location.endOffset);
  // A name may begin with an equals sign (WHATWG HTML, 13.2.5.32).
  return /^[\t\n\f\r ]*["']/.test(written.slice(written.indexOf("=", 1) + 1));
}

function textBefore({ source, starts }: MarkedHtml, token: number): string {
  const start = starts[token] ?? 0;
  return source.slice(Math.max(0, start - 40), start);
}
