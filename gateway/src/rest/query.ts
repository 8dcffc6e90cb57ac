import { badRequest } from "@tidings/rpc/fault";
import { parse } from "qs";

/** A query or form body after its brackets were read: texts, lists and objects of them. */
export type Query = Record<string, unknown>;

const LIMITS = {
  // Five levels of `where` have ten brackets.
  depth: 12,
  strictDepth: true,
  arrayLimit: 1_000,
  parameterLimit: 2_000,
  throwOnLimitExceeded: true,
  plainObjects: true,
  allowPrototypes: false,
};

const EMPTY: Query = Object.freeze({});

/** `where[0][col]=a&ids[]=1` as nested values. Too much or too deep is refused. */
export function parseQuery(text: string): Query {
  if (text === "") return EMPTY;
  if (!isWellEncoded(text)) throw badRequest("The query is not valid percent-encoded UTF-8.");
  try {
    return parse(text, LIMITS) as Query;
  } catch (error) {
    if (error instanceof RangeError) throw badRequest("The query has too many or too deeply nested members.");
    throw error;
  }
}

export function queryOf(url: string): Query {
  const at = url.indexOf("?");
  return at < 0 ? EMPTY : parseQuery(url.slice(at + 1));
}

function isWellEncoded(text: string): boolean {
  if (!text.includes("%")) return true;
  try {
    return !decodeURIComponent(text).includes("\0");
  } catch {
    return false; // decodeURIComponent has no other way of saying so
  }
}
