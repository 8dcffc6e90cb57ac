import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";
import { badRequest } from "@tidings/rpc/fault";

/** Cursors as clients hold them: a position in a list, sealed, that only the same query of the same caller can open. */
export interface Cursors {
  /** `bound` is all that the cursor belongs to. */
  seal(position: string, bound: string): string;
  /** Throws INVALID_ARGUMENT for a cursor that was made up, belongs to something else or is older than a day. */
  open(cursor: string, bound: string): string;
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TIME_BYTES = 6;
const LIFETIME_MS = 86_400_000;
const LENGTH_MAX = 8_000;

/** Seals with AES-256-GCM (NIST SP 800-38D), under a key derived from `secret` (HKDF, RFC 5869): nonce, time and position, tag. */
export function cursorsOf(secret: string): Cursors {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "cursors of lists", 32));
  const boundTo = (bound: string) => hash("sha256", bound, "buffer");
  return {
    seal(position, bound) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(boundTo(bound));
      const time = Buffer.alloc(TIME_BYTES);
      time.writeUIntBE(Date.now(), 0, TIME_BYTES);
      const parts = [nonce, cipher.update(time), cipher.update(position, "utf8"), cipher.final()];
      return Buffer.concat([...parts, cipher.getAuthTag()]).toString("base64url");
    },
    open(cursor, bound) {
      const bytes = Buffer.from(cursor.length > LENGTH_MAX ? "" : cursor, "base64url");
      if (bytes.length < NONCE_BYTES + TIME_BYTES + TAG_BYTES) throw notOurs();
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
          .setAAD(boundTo(bound))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const sealed = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
        const body = Buffer.concat([decipher.update(sealed), decipher.final()]);
        if (Date.now() - body.readUIntBE(0, TIME_BYTES) > LIFETIME_MS) throw notOurs();
        return body.subarray(TIME_BYTES).toString("utf8");
      } catch {
        throw notOurs();
      }
    },
  };
}

function notOurs() {
  return badRequest(
    "The cursor is none of this query, or older than a day. Begin with an empty one: cursor=.",
  );
}
