import { hash, hkdfSync } from "node:crypto";
import { badRequest } from "@tidings/rpc/fault";
import { openBytes, sealBytes } from "@tidings/secrets/aes-gcm";

/** Cursors as clients hold them: a position in a list, sealed, that only the same query of the same caller can open. */
export interface Cursors {
  /** `bound` is all that the cursor belongs to. */
  seal(position: string, bound: string): string;
  /** Throws INVALID_ARGUMENT for a cursor that was made up, belongs to something else or is older than a day. */
  open(cursor: string, bound: string): string;
}

const TIME_BYTES = 6;
const LIFETIME_MS = 86_400_000;
const LENGTH_MAX = 8_000;

/** Seals time and position under a key derived from `secret` (HKDF, RFC 5869). */
export function cursorsOf(secret: string): Cursors {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "cursors of lists", 32));
  const boundTo = (bound: string) => hash("sha256", bound, "buffer");
  return {
    seal(position, bound) {
      const time = Buffer.alloc(TIME_BYTES);
      time.writeUIntBE(Date.now(), 0, TIME_BYTES);
      return sealBytes(key, [time, Buffer.from(position)], boundTo(bound)).toString("base64url");
    },
    open(cursor, bound) {
      if (cursor.length > LENGTH_MAX) throw notOurs();
      try {
        const body = openBytes(key, Buffer.from(cursor, "base64url"), boundTo(bound));
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
