const SEPARATORS = /[\s\u00a0./()-]+/g;
/** The trunk prefix that some write behind the code of the country: `+49 (0) 151`. */
const TRUNK_PREFIX = /^(\s*(?:\+|00)[\s\d]{1,4})\(0\)/;
const NORTH_AMERICA = "1";
const NORTH_AMERICAN = /^1?([2-9]\d{9})$/;
/** A country code and a number, 15 digits at most (ITU-T E.164). */
const INTERNATIONAL = /^\+[1-9]\d{6,14}$/;

/** The number in E.164 form; undefined for a text that is none. A number without a code of a country belongs to `country`: `1`, `49`. */
export function e164(text: string, country: string): string | undefined {
  const digits = text.replace(TRUNK_PREFIX, "$1").replace(SEPARATORS, "").replace(/^00/, "+");
  const number = digits.startsWith("+") ? digits : inCountry(digits, country);
  return number !== undefined && INTERNATIONAL.test(number) ? number : undefined;
}

function inCountry(digits: string, country: string): string | undefined {
  if (!/^\d+$/.test(digits)) return undefined;
  if (country !== NORTH_AMERICA) return `+${country}${digits.replace(/^0/, "")}`;
  const [, number] = NORTH_AMERICAN.exec(digits) ?? [];
  return number === undefined ? undefined : `+1${number}`;
}
