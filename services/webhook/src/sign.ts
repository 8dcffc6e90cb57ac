import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";
const GENERATED_BYTES = 32;

/**
 * How a delivery proves where it comes from. `standard`: by Standard Webhooks 1.0 (https://www.standardwebhooks.com).
 * `body`: as receivers of an older product expect it, by the HMAC-SHA256 of the body alone, in base64.
 */
export const SIGNATURE_SCHEMES = ["standard", "body"] as const;
export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

export function generateSecret(scheme: SignatureScheme): string {
  const bytes = randomBytes(GENERATED_BYTES);
  return scheme === "standard" ? PREFIX + bytes.toString("base64") : bytes.toString("hex");
}

/** The parts of a signature: secret, scheme and signed content. */
export interface Signed {
  scheme: SignatureScheme;
  secret: string;
  id: string;
  timestampSeconds: number;
  body: string;
}

/**
 * The headers that prove origin, age and identity of a delivery. By Standard Webhooks 1.0 the signature is HMAC-SHA256 over
 * `id.timestamp.body`; the key is what follows `whsec_` decoded from base64, or a secret of any other form as it stands.
 */
export function signatureHeaders({ scheme, secret, id, timestampSeconds, body }: Signed) {
  const told = { "webhook-id": id, "webhook-timestamp": String(timestampSeconds) };
  if (scheme === "body") {
    const signature = createHmac("sha256", secret).update(body).digest("base64");
    return { ...told, "webhook-signature": signature };
  }
  const key = secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), "base64")
    : Buffer.from(secret);
  const signature = createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64");
  return { ...told, "webhook-signature": `v1,${signature}` };
}
