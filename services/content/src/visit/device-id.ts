import { randomBytes } from "node:crypto";

/** Characters of a device id: 23 of 36 are 118 bits, which nobody guesses. */
const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const LENGTH = 23;
const DEVICE_ID = /^[a-zA-Z0-9]{23}$/;
/** Bytes below it are spread evenly over the alphabet. */
const EVEN_BELOW = 252;

/** A new random id by which a browser is known. */
export function newDeviceId(): string {
  let id = "";
  while (id.length < LENGTH)
    for (const byte of randomBytes(LENGTH * 2))
      if (byte < EVEN_BELOW && id.length < LENGTH) id += ALPHABET[byte % ALPHABET.length];
  return id;
}

/** The id that a digest stands for. */
export function deviceFrom(digest: Buffer): string {
  return Array.from(digest.subarray(0, LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** The id, if it is one by its form. */
export function deviceIdOf(text: string | undefined): string | undefined {
  return text !== undefined && DEVICE_ID.test(text) ? text : undefined;
}
