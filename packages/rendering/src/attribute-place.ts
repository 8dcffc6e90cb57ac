import { CSS, escaped, NOWHERE, type Place } from "./place.ts";
import { type UrlPlaces, urlPlaces } from "./url-place.ts";

export interface MarkedAttribute {
  /** The lower-case name of its element. */
  element: string;
  name: string;
  /** The value as a browser reads it, with markers for its tokens. */
  value: string;
  isQuoted: boolean;
  /** The value of another attribute of its element. */
  other(name: string): string | undefined;
}

export interface MarkedToken {
  /** The place of its marker in the value. */
  index: number;
  /** True after `&` and letters: with a value and a `;` they could be another character. */
  couldFinishReference: boolean;
}

/** Attributes of HTML, SVG and MathML that hold a URL, obsolete ones included (WHATWG HTML, index of attributes). */
const URLS = new Set([
  "action",
  "archive",
  "background",
  "cite",
  "classid",
  "codebase",
  "data",
  "dynsrc",
  "formaction",
  "href",
  "icon",
  "longdesc",
  "lowsrc",
  "manifest",
  "poster",
  "profile",
  "src",
  "usemap",
  "xlink:href",
]);
const LISTS_OF_URLS = new Set(["imagesrcset", "ping", "srcset"]);
const CODE_LOADERS = new Set(["base", "embed", "object", "script"]);
/** Elements of SVG that set an attribute of another element, which may be a URL. */
const ANIMATIONS = new Set(["animate", "animatemotion", "animatetransform", "set"]);
const ANIMATED_VALUES = new Set(["by", "from", "to", "values"]);

/** A value that means nothing to a browser; `inAttribute` escapes it. */
const ANY_TEXT: Place = { write: (text) => text };

/** The places of tokens in the value of an attribute. */
export function attributePlaces(attribute: MarkedAttribute, tokens: MarkedToken[]): Place[] {
  const places = placesOfValue(attribute, tokens);
  return places.map((place, index) =>
    place === NOWHERE ? place : inAttribute(place, attribute.isQuoted, tokens[index]?.index === 0),
  );
}

function placesOfValue(attribute: MarkedAttribute, tokens: MarkedToken[]): Place[] {
  const { element, name } = attribute;
  if (runsCode(attribute)) return tokens.map(() => NOWHERE);
  if (name === "style" || (ANIMATIONS.has(element) && ANIMATED_VALUES.has(name)))
    return tokens.map(({ couldFinishReference }) => (couldFinishReference ? NOWHERE : CSS));
  if (URLS.has(name)) {
    const { at } = urlPlaces(attribute.value, { isListed: false, loadsCode: loadsCode(attribute) });
    return tokens.map(({ index, couldFinishReference }) => at(index, couldFinishReference));
  }
  if (LISTS_OF_URLS.has(name)) return placesOfUrls(attribute.value, tokens);
  return tokens.map(() => ANY_TEXT);
}

function placesOfUrls(value: string, tokens: MarkedToken[]): Place[] {
  const urls = Array.from(value.matchAll(/[^\s,]+/g), ({ 0: url, index }) => ({
    start: index,
    end: index + url.length,
    url,
  }));
  let next = 0;
  let known: { of: number; places: UrlPlaces } | undefined;
  return tokens.map(({ index, couldFinishReference }) => {
    while ((urls[next]?.end ?? value.length) <= index) next += 1;
    const found = urls[next];
    if (!found) return NOWHERE;
    if (known?.of !== next)
      known = { of: next, places: urlPlaces(found.url, { isListed: true, loadsCode: false }) };
    return known.places.at(index - found.start, couldFinishReference);
  });
}

/** Event handlers, documents in an attribute, and what a page sends in place of HTTP headers. */
function runsCode({ element, name, other }: MarkedAttribute): boolean {
  if (name.startsWith("on") || name === "srcdoc" || name === "http-equiv") return true;
  return element === "meta" && name === "content" && other("http-equiv") !== undefined;
}

function loadsCode({ element, other }: MarkedAttribute): boolean {
  if (element === "link") return /stylesheet|load|manifest/i.test(other("rel") ?? "");
  return CODE_LOADERS.has(element);
}

function inAttribute(place: Place, isQuoted: boolean, isFirst: boolean): Place {
  return { ...place, write: (text) => attributeText(place.write(text), isQuoted, isFirst) };
}

function attributeText(text: string, isQuoted: boolean, isFirst: boolean): string {
  const written = escaped(text);
  if (isQuoted) return written;
  // Without a character the next attribute would be the value.
  if (written === "" && isFirst) return "&#32;";
  return written.replace(/[\s=`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
