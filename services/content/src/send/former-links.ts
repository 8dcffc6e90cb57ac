import { createHmac, timingSafeEqual } from "node:crypto";

/** The least length of a secret of the product that sent before. */
const SECRET_LENGTH_MIN = 16;
/** 64 octets, an at sign and 255 octets (RFC 5321, 4.5.3.1). */
const ADDRESS_LENGTH_MAX = 320;
const MAC = /^[0-9a-f]{64}$/i;

/** Secrets of the product that sent before. A problem names nothing of them. */
export function readFormerSecrets(items: string[]): string[] | { problem: string } {
  const index = items.findIndex(({ length }) => length < SECRET_LENGTH_MIN);
  if (index < 0) return items;
  return { problem: `entry ${index + 1} needs at least ${SECRET_LENGTH_MIN} characters` };
}

/**
 * Did the product that sent before sign the address of an unsubscribe link? Its links end with `/<address>/<hmac>`, the HMAC-SHA256 of the address in
 * hexadecimal, under its own secret (engines.md 6.6).
 */
export function isFormerLink(secrets: string[], address: string, mac: string): boolean {
  if (!MAC.test(mac) || address === "" || address.length > ADDRESS_LENGTH_MAX) return false;
  const sent = Buffer.from(mac, "hex");
  return secrets.some((secret) =>
    timingSafeEqual(createHmac("sha256", secret).update(address).digest(), sent),
  );
}
