import { NOWHERE, type Place, URL_PART } from "./place.ts";

const SCHEMES = new Set(["http", "https", "mailto", "tel"]);
const CONTROLS_AND_BLANKS = /[\p{Cc} ]+/gu;

/** A value that begins a URL: a relative URL, or one with a scheme that runs no code. */
const URL_START: Place = {
  write(text) {
    // Browsers leave out tabs and line breaks, and blanks at both ends (WHATWG URL, basic URL parser).
    const url = text
      .toWellFormed()
      .replace(/\p{Cc}+/gu, "")
      .trim();
    const scheme = schemeOf(url);
    return scheme === undefined || SCHEMES.has(scheme) ? url.replace(/\s/g, encodeURIComponent) : "";
  },
};

/** A value that begins a URL in a list of URLs, which commas and blanks separate. */
const LISTED_URL_START: Place = { write: (text) => URL_START.write(text).replaceAll(",", "%2C") };

/** An address or a number after `mailto:` or `tel:`, in which mail programs and telephones expect `@` and `+`. */
const ADDRESS: Place = {
  write: (text) => URL_PART.write(text).replaceAll("%40", "@").replaceAll("%2B", "+"),
  isPercentEncoded: true,
};

/** The places of a URL, found once for all of its tokens. */
export interface UrlPlaces {
  /**
   * The place of the token at an index. `couldFinishReference` is true after `&` and letters: with a value and a `;` they
   * could be a colon.
   */
  at(index: number, couldFinishReference: boolean): Place;
}

/**
 * Reads a URL of an author, in which tokens are marked by letters and digits. No value may be or change its scheme. Where
 * the URL `loadsCode`, values may only stand in the query and the fragment.
 */
export function urlPlaces(
  url: string,
  { isListed, loadsCode }: { isListed: boolean; loadsCode: boolean },
): UrlPlaces {
  const start = url.search(/[^\p{Cc} ]/u);
  const delimiter = url.search(/[:/?#]/);
  const question = url.indexOf("?");
  const query = url.search(/[?#]/);
  const scheme = schemeOf(url);
  const isAllowed = scheme === undefined || SCHEMES.has(scheme);
  const isAddress = scheme === "mailto" || scheme === "tel";
  return {
    at(index, couldFinishReference) {
      const isInQuery = query >= 0 && index > query;
      if (!isAllowed || (loadsCode && !isInQuery)) return NOWHERE;
      // `&#` before a token looks like a fragment until the token has a value.
      if (couldFinishReference && (question < 0 || index < question)) return NOWHERE;
      if (isInQuery) return URL_PART;
      if (delimiter >= 0 && index > delimiter) return isAddress ? ADDRESS : URL_PART;
      if (scheme !== undefined) return NOWHERE;
      if (index !== start) return URL_PART;
      return isListed ? LISTED_URL_START : URL_START;
    },
  };
}

/** The text before the first colon, unless a path, a query or a fragment has begun; tabs and blanks do not hide it. */
function schemeOf(url: string): string | undefined {
  const delimiter = url.search(/[:/?#]/);
  if (url[delimiter] !== ":") return undefined;
  return url.slice(0, delimiter).replace(CONTROLS_AND_BLANKS, "").toLowerCase();
}
