import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** Access token, refresh token, authorization code, client secret. */
export type SecretKind = "at" | "rt" | "ac" | "cs";

/** 256 random bits that nobody can guess, under a prefix by which scanners find a secret that leaked. */
export function newSecret(kind: SecretKind): string {
  return `tdg_${kind}_${randomBytes(32).toString("base64url")}`;
}

/** The stored form of a secret. A plain hash is enough for a secret with too many bits to be guessed. */
export function digest(secret: string): string {
  return hash("sha256", secret, "base64url");
}

/** Compares digests in constant time. */
export function isSameDigest(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
