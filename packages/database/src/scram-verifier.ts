import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const ITERATIONS = 4_096;
const KEY_BYTES = 32;

/**
 * The verifier that Postgres keeps of a password (RFC 5803, SCRAM-SHA-256), made here: a statement that carries it may stand in the server's
 * log. The password is of printable ASCII, which needs no normalisation.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, "sha256");
  const keyOf = (use: string) => createHmac("sha256", salted).update(use).digest();
  const stored = createHash("sha256").update(keyOf("Client Key")).digest();
  const parts = [stored, keyOf("Server Key")].map((key) => key.toString("base64"));
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${parts.join(":")}`;
}
