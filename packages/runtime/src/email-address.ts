import { domainToASCII } from "node:url";
import { folded } from "./folded.ts";

/** The most characters of an address (RFC 5321, 4.5.3.1.3, without the angle brackets). */
export const EMAIL_LENGTH_MAX = 254;

// One @, a dotted domain; `^ & * %` are refused although RFC 5321 allows some of them.
const EMAIL =
  /^[^\s@^&*%<>()[\],;:\\"]+@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/iu;

/** Is it an address, also with an international domain? */
export function isEmailAddress(text: string): boolean {
  return text.length <= EMAIL_LENGTH_MAX && EMAIL.test(asciiAddress(text));
}

/** An address with its domain in A-labels (RFC 5890), as mail servers know it. Any other text is as it was. */
export function asciiAddress(text: string): string {
  const domain = text.slice(text.lastIndexOf("@") + 1);
  if (text.length > EMAIL_LENGTH_MAX || domain.length === text.length || /^[\x20-\x7e]*$/.test(domain))
    return text;
  return text.slice(0, -domain.length) + (domainToASCII(domain) || domain);
}

/** An address in the form in which no two may be the same. */
export function foldedAddress(text: string): string {
  return folded(asciiAddress(text.trim()));
}
