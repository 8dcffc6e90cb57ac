import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import { openBytes, sealBytes } from "./aes-gcm.ts";

/** Keeps secrets in the database under a key that the database does not have. */
export interface SecretBox {
  /** The prefix of texts that are sealed under the first key. */
  seals: string;
  seal(secret: string): string;
  /** Text that was never sealed is answered as it is: an older version kept it so. Throws when the key is not known. */
  open(sealed: string): string;
}

const KEY_BYTES = 32;
const SEALED = "sealed:";

/**
 * Secrets as `sealed:<key>:<base64url of nonce, ciphertext and tag>` (AES-256-GCM, NIST SP 800-38D; the name of the key is
 * authenticated with it). `keys` are `name:base64 of 32 bytes`: the first seals, all of them open, so that a key is replaced
 * by putting its successor before it.
 */
export function secretBox(keys: string[]): SecretBox {
  const byName = new Map(keys.map(parseKey));
  const [first] = byName;
  if (!first) throw new Error("a key for secrets is needed");
  const [name, key] = first;
  return {
    seals: `${SEALED}${name}:`,
    seal(secret) {
      const bytes = sealBytes(key, [Buffer.from(secret)], Buffer.from(name));
      return `${SEALED}${name}:${bytes.toString("base64url")}`;
    },
    open(sealed) {
      if (!sealed.startsWith(SEALED)) return sealed;
      const [keyName = "", text = ""] = sealed.slice(SEALED.length).split(":");
      const known = byName.get(keyName);
      if (!known) throw new Error(`the key ${keyName} is not among those that open secrets`);
      return openBytes(known, Buffer.from(text, "base64url"), Buffer.from(keyName)).toString("utf8");
    },
  };
}

/** Throws when it is not a name and 32 bytes. */
export function parseKey(text: string): [name: string, key: KeyObject] {
  const [name = "", encoded = ""] = text.split(":");
  const bytes = Buffer.from(encoded, "base64");
  if (!/^\w{1,32}$/.test(name) || bytes.length !== KEY_BYTES)
    throw new Error("a key is written as name:base64 of 32 bytes");
  return [name, createSecretKey(bytes)];
}

/** A key that nobody has yet, under a name of its own, so that it can be replaced. */
export function generateSecretKey(name = `k${randomBytes(3).toString("hex")}`): string {
  return `${name}:${randomBytes(KEY_BYTES).toString("base64")}`;
}
