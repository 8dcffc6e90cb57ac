const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const BITS = 5;
const DIGIT_MAX = 2 ** BITS - 1;

/** Octets in lower-case letters and digits, without padding (RFC 4648, 6). */
export function base32(octets: Uint8Array): string {
  let text = "";
  let value = 0;
  let bits = 0;
  for (const octet of octets) {
    value = (value << 8) | octet;
    bits += 8;
    while (bits >= BITS) {
      bits -= BITS;
      text += ALPHABET[(value >>> bits) & DIGIT_MAX];
    }
    value &= 2 ** bits - 1;
  }
  return bits > 0 ? text + ALPHABET[(value << (BITS - bits)) & DIGIT_MAX] : text;
}

/** The octets of a text in upper or lower case. Undefined where another text has the same octets, or it is no base32. */
export function octetsOfBase32(text: string): Buffer | undefined {
  const octets: number[] = [];
  let value = 0;
  let bits = 0;
  for (const letter of text.toLowerCase()) {
    const digit = ALPHABET.indexOf(letter);
    if (digit < 0) return undefined;
    value = (value << BITS) | digit;
    bits += BITS;
    if (bits < 8) continue;
    bits -= 8;
    octets.push(value >>> bits);
    value &= 2 ** bits - 1;
  }
  return value === 0 && bits < BITS ? Buffer.from(octets) : undefined;
}
