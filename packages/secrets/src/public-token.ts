import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import { base32, octetsOfBase32 } from "./base32.ts";
import { parseKey } from "./secret-box.ts";
import type { EndingPurpose, LastingPurpose } from "./token-purpose.ts";

/** Texts that the public hands back to us, such as the contact and email of an unsubscribe link. */
export interface PublicTokens {
  /** A token of URL-safe characters. Its text can be read by anybody. */
  sign(text: string): string;
  /** The text of a token; undefined for one that was not signed for this purpose, or under a key that is gone. */
  read(token: string): string | undefined;
}

/** The same for a time: `endsAt` in milliseconds since 1970. */
export interface EndingTokens {
  sign(text: string, endsAt: number): string;
  /** Undefined also for a token whose end has come. */
  read(token: string): string | undefined;
}

const KEY_BYTES = 32;
/** 128 bits: nobody guesses one (NIST SP 800-107, 5.3.4), and links stay short. */
const MAC_BYTES = 16;
const MAC_LENGTH = 22;
const TOKEN_LENGTH_MAX = 2_048;
const ENDING = /^(\d{1,15}) (.*)$/s;

/**
 * Tokens `base64url(text).mac`, with the first 128 bits of HMAC-SHA256 (RFC 2104). Each purpose has a key of its own, derived by
 * HKDF (RFC 5869) from the keys of a process: a token for one purpose is none for another. `keys` are `name:base64 of 32 bytes`:
 * the first one signs and all of them read, so that a key is replaced by putting its successor before it.
 */
export function publicTokens(keys: string[], purpose: LastingPurpose): PublicTokens {
  return signedTexts(keys, purpose);
}

/** Tokens whose text begins with their end, in milliseconds since 1970. */
export function endingTokens(keys: string[], purpose: EndingPurpose): EndingTokens {
  const tokens = signedTexts(keys, purpose);
  return {
    sign: (text, endsAt) => tokens.sign(`${Math.trunc(endsAt)} ${text}`),
    read(token) {
      const [, endsAt, text] = ENDING.exec(tokens.read(token) ?? "") ?? [];
      return Number(endsAt) > Date.now() ? text : undefined;
    },
  };
}

/** Tokens of octets whose letters may change their case on the way, as those of an address do. */
export interface CaselessTokens {
  /** Lower-case letters and digits: eight for each five octets, of which twelve are the signature's. */
  sign(octets: Buffer): string;
  /** Undefined for a token that was not signed for this purpose, or under a key that is gone. */
  read(token: string): Buffer | undefined;
}

/** The local part of an address has 64 octets at most (RFC 5321, 4.5.3.1.1); a MAC has 80 bits at least (RFC 2104, 5). */
const CASELESS_MAC_BYTES = 12;

/** Tokens `base32(octets mac)`, with the first 96 bits of HMAC-SHA256 (RFC 2104). Keys are used as `publicTokens` uses them. */
export function caselessTokens(keys: string[], purpose: LastingPurpose): CaselessTokens {
  const [first, ...others] = derivedKeys(keys, purpose);
  const macFor = (octets: Buffer, key: KeyObject) =>
    createHmac("sha256", key).update("caseless ").update(octets).digest().subarray(0, CASELESS_MAC_BYTES);
  return {
    sign: (octets) => base32(Buffer.concat([octets, macFor(octets, first)])),
    read(token) {
      const signed = token.length <= TOKEN_LENGTH_MAX ? octetsOfBase32(token) : undefined;
      if (!signed || signed.length <= CASELESS_MAC_BYTES) return undefined;
      const octets = signed.subarray(0, -CASELESS_MAC_BYTES);
      const mac = signed.subarray(-CASELESS_MAC_BYTES);
      const matches = [first, ...others].filter((key) => timingSafeEqual(mac, macFor(octets, key)));
      return matches.length > 0 ? octets : undefined;
    },
  };
}

function derivedKeys(keys: string[], purpose: LastingPurpose | EndingPurpose): [KeyObject, ...KeyObject[]] {
  const [first, ...others] = keys.map((key) => purposeKey(parseKey(key)[1], purpose));
  if (!first) throw new Error("a key for tokens is needed");
  return [first, ...others];
}

function signedTexts(keys: string[], purpose: LastingPurpose | EndingPurpose): PublicTokens {
  const derived = derivedKeys(keys, purpose);
  const [first] = derived;
  return {
    sign(text) {
      const encoded = Buffer.from(text).toString("base64url");
      return `${encoded}.${macOf(encoded, first).toString("base64url")}`;
    },
    read(token) {
      const at = token.length - MAC_LENGTH - 1;
      const isWhole = token.length <= TOKEN_LENGTH_MAX && at >= 0 && token[at] === ".";
      const encoded = isWhole ? token.slice(0, at) : "";
      const signature = isWhole ? token.slice(at + 1) : "";
      const sent = Buffer.from(signature, "base64url");
      // A signature is written in one way: the bits that base64 leaves over are zero (RFC 4648, 3.5).
      const mac = sent.toString("base64url") === signature && sent.length === MAC_BYTES ? sent : NO_MAC;
      // Every key is tried, for a token of any form: the time does not reveal which key signed, or what is wrong.
      const matches = derived.filter((key) => timingSafeEqual(mac, macOf(encoded, key)));
      return isWhole && matches.length > 0 ? Buffer.from(encoded, "base64url").toString() : undefined;
    },
  };
}

/** Stands for a MAC that is none. */
const NO_MAC = Buffer.alloc(MAC_BYTES);

/** Octets would be made a key object of by each HMAC, which takes six times as long as the HMAC. */
function purposeKey(key: KeyObject, purpose: string): KeyObject {
  const octets = hkdfSync("sha256", key, "", `tidings public token: ${purpose}`, KEY_BYTES);
  return createSecretKey(Buffer.from(octets));
}

function macOf(encoded: string, key: KeyObject): Buffer {
  return createHmac("sha256", key).update(encoded).digest().subarray(0, MAC_BYTES);
}
