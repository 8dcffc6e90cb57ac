import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";
const GENERATED_BYTES = 32;

export function generateSecret(): string {
  return PREFIX + randomBytes(GENERATED_BYTES).toString("base64");
}

/**
 * The headers that prove origin, age and identity of a delivery, as Standard Webhooks 1.0 has them
 * (https://www.standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body`. The key is what follows `whsec_` decoded
 * from base64, or a secret of any other form as it stands.
 */
export function signatureHeaders(secret: string, id: string, timestampSeconds: number, body: string) {
  const key = secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), "base64")
    : Buffer.from(secret);
  const signature = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": `v1,${signature}`,
  };
}
