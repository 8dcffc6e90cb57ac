import { wireAddress } from "@tidings/mail/mail-address";
import { caselessTokens } from "@tidings/secrets/public-token";

/** Addresses of the inbox that name a send, and are signed. */
export interface ReturnAddresses {
  /** The address that reports of the send's mail go to (VERP): `bounces+<token>@inbox.example`. */
  of(hash: string): string;
  /** The token alone, for a field of the mail. */
  tokenOf(hash: string): string;
  /** The send of an address or a token. Undefined for one that we did not sign. */
  read(text: string): string | undefined;
}

/** RFC 5321, 4.5.3.1.1. */
const LOCAL_PART_MAX = 64;
/** 16 octets of the send, and 12 of the signature. */
const TOKEN_LENGTH = 45;

/** Reads the address of an inbox: its local part has room for a plus and a token. */
export function readInboxAddress(text: string): string | { problem: string } {
  const address = wireAddress(text);
  if (address === undefined || !/^[\w.-]+@[^@[\]]+$/.test(address))
    return { problem: "it is no address of letters, digits, dots, underscores and hyphens" };
  const room = LOCAL_PART_MAX - 1 - TOKEN_LENGTH;
  if (address.indexOf("@") > room)
    return { problem: `its part before the @ has more than ${room} characters` };
  return address;
}

/** Servers may change the case of an address, so that tokens have none. */
export function returnAddresses(keys: string[], inboxAddress: string): ReturnAddresses {
  const tokens = caselessTokens(keys, "bounce");
  const [local = "", domain = ""] = inboxAddress.split("@");
  const tokenOf = (hash: string) => tokens.sign(Buffer.from(hash.replaceAll("-", ""), "hex"));
  const [before, after] = [`${local}+`.toLowerCase(), `@${domain}`.toLowerCase()];
  return {
    tokenOf,
    of: (hash) => `${local}+${tokenOf(hash)}@${domain}`,
    read(text) {
      const written = text.trim().toLowerCase();
      const isAddress = written.startsWith(before) && written.endsWith(after);
      const octets = tokens.read(isAddress ? written.slice(before.length, -after.length) : written);
      return octets?.length === 16 ? uuidOf(octets) : undefined;
    },
  };
}

function uuidOf(octets: Buffer): string {
  return octets.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
