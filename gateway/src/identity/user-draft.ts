import type { User } from "@tidings/proto/tidings/identity/v1/user";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";

const LENGTH_MAX = 191;
const SIGNATURE_MAX = 65_535;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const OFFLINE = "offline";

/** The violations of a user alone; removes spaces around names. */
export function checkUser(draft: User): Violation[] {
  draft.username = draft.username.trim();
  draft.firstName = draft.firstName.trim();
  draft.lastName = draft.lastName.trim();
  draft.email = draft.email.trim();
  draft.onlineStatus ||= OFFLINE;
  const { username, firstName, lastName, email, position, timezone, locale, onlineStatus, signature } = draft;
  const violations: Violation[] = [];
  const refuse = (field: string, message: string) => violations.push({ field, message });
  if (username === "") refuse("username", "Username is required.");
  // It could not be sent: the first colon ends it in Basic authentication (RFC 7617).
  if (username.includes(":")) refuse("username", "A username must not hold a colon.");
  if (firstName === "") refuse("firstName", "First name is required.");
  if (lastName === "") refuse("lastName", "Last name is required.");
  if (!EMAIL.test(email)) refuse("email", "The email entered is invalid.");
  if (timezone && !isTimezone(timezone)) refuse("timezone", NOT_VALID);
  if (locale && !isLocale(locale)) refuse("locale", NOT_VALID);
  const texts = { username, firstName, lastName, email, position, onlineStatus };
  for (const [field, text] of Object.entries(texts))
    if (text && text.length > LENGTH_MAX) refuse(field, `This value may have ${LENGTH_MAX} characters.`);
  if (signature && signature.length > SIGNATURE_MAX)
    refuse("signature", `This value may have ${SIGNATURE_MAX} characters.`);
  return violations;
}

const timezones = new Set(["UTC", "GMT", ...Intl.supportedValuesOf("timeZone")]);
const languages = new Intl.DisplayNames("en", { type: "language", fallback: "none" });

function isTimezone(name: string): boolean {
  return timezones.has(name);
}

/** `fr`, `pt_BR` */
function isLocale(name: string): boolean {
  const isTag = /^[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{2})?$/.test(name);
  return isTag && languages.of(name.replaceAll("_", "-")) !== undefined;
}
