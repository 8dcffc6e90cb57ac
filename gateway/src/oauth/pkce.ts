import { hash } from "node:crypto";
import { isSameDigest } from "../secret.ts";

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Can this be the SHA-256 of a verifier, in base64url (RFC 7636, 4.2)? */
export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text);
}

/**
 * Does the same client request the code and redeem it? A verifier without a challenge is refused, too: somebody has removed
 * the challenge (RFC 9700, 2.1.1).
 */
export function isProof(verifier: string | undefined, challenge: string | undefined): boolean {
  if (challenge === undefined || verifier === undefined) return challenge === verifier;
  return VERIFIER.test(verifier) && isSameDigest(hash("sha256", verifier, "base64url"), challenge);
}
