import { type CipherKey, createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce, ciphertext and tag of the parts together (AES-256-GCM, NIST SP 800-38D). `bound` is authenticated with them, and not in it. */
export function sealBytes(key: CipherKey, parts: Uint8Array[], bound: Uint8Array = NOTHING): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(bound);
  return Buffer.concat([
    nonce,
    ...parts.map((part) => cipher.update(part)),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

/** The parts, one behind the other. Throws when these bytes were not sealed with the key and bound to the same. */
export function openBytes(key: CipherKey, bytes: Buffer, bound: Uint8Array = NOTHING): Buffer {
  // A tag that was cut could be guessed.
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error("these bytes are too few to be sealed ones");
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), options)
    .setAAD(bound)
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
  return Buffer.concat([decipher.update(body), decipher.final()]);
}

const NOTHING = new Uint8Array();
