/** The most characters of an address (RFC 5321, 4.5.3.1.3, without the angle brackets). */
export const EMAIL_LENGTH_MAX = 254;

// One @, a dotted domain; `^ & * %` are refused although RFC 5321 allows some of them.
const EMAIL =
  /^[^\s@^&*%<>()[\],;:\\"]+@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/iu;

export function isEmailAddress(text: string): boolean {
  return text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text);
}
