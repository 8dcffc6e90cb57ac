import type { PublicTokens } from "@tidings/secrets/public-token";

/** A link whose whole address is the value of a field of the contact. */
export interface FieldLink {
  alias: string;
  /** The address for contacts whose field is empty. */
  fallback: string;
}

const FIELD_LINK = /^\{contactfield=([\w-]{1,191})(?:\|([^{}|]{0,1000}))?\}$/;
/** Second parts that are no default, but say how a value is written. */
const TREATMENTS = new Set(["true", "date", "time", "datetime"]);
/** A longer address would not fit in a token. */
const TARGET_BYTES_MAX = 1_000;

/** Reads `{contactfield=website}` or `{contactfield=website|https://shop.example/}`; undefined for any other address. */
export function fieldLinkOf(address: string): FieldLink | undefined {
  const [, alias, fallback = ""] = FIELD_LINK.exec(plainBraces(address)) ?? [];
  return alias === undefined || TREATMENTS.has(fallback) ? undefined : { alias, fallback };
}

/** Editors of links encode the braces of a token, and may encode all that is between them. */
function plainBraces(address: string): string {
  if (!/^%7B.*%7D$/i.test(address)) return address;
  try {
    return decodeURIComponent(address);
  } catch {
    // No token is written so.
    return address;
  }
}

/**
 * Signs the address that a field link leads one reader to. The value of the field may change later, or be another contact's: a link leads where it led when its
 * mail was written, and nowhere that we did not write ourselves.
 */
export function signTarget(tokens: PublicTokens, redirectId: string, target: string): string | undefined {
  if (Buffer.byteLength(target) > TARGET_BYTES_MAX) return undefined;
  return tokens.sign(`${redirectId} ${target}`);
}

/** The address that was signed for this link; undefined for any other token. */
export function readTarget(tokens: PublicTokens, redirectId: string, token: string): string | undefined {
  const text = tokens.read(token) ?? "";
  return text.startsWith(`${redirectId} `) ? text.slice(redirectId.length + 1) : undefined;
}
