import { hash, randomBytes } from "node:crypto";
import type { Actor } from "@tidings/rpc/actor";
import { unauthenticated } from "@tidings/rpc/fault";
import type { Database } from "@tidings/store/database";
import { LRUCache } from "lru-cache";
import { passwordVerifier } from "../identity/password.ts";
import { findUserByLogin } from "../identity/user.ts";
import type { LoginThrottle } from "../limits/login-throttle.ts";

export interface Credentials {
  /** The user of an `Authorization: Basic` value (RFC 7617) that was verified within the last minute. */
  recallBasic(encoded: string): Actor | undefined;
  /** Verifies the value. Throws UNAUTHENTICATED, the same for every cause. */
  verifyBasic(encoded: string, attempt: Attempt): Promise<Actor>;
}

/** A request of somebody who was not recognised. */
export interface Attempt {
  clientIp: string;
  /** Counts it against its address. Throws RATE_LIMITED when there were too many. */
  count(): Promise<void>;
}

const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 1_000;
const LOOKUP_MS = 5_000;

/**
 * Verifies passwords and remembers what was verified for a minute: argon2 is made to be slow, and clients of an API
 * send the same credentials with every request. Kept is a salted hash; the salt dies with the process.
 */
export async function openCredentials(database: Database, throttle: LoginThrottle): Promise<Credentials> {
  const verifier = await passwordVerifier();
  const salt = randomBytes(32).toString("base64");
  const keyOf = (encoded: string) => hash("sha256", salt + encoded, "base64");
  const remembered = new LRUCache<string, Actor>({ max: REMEMBERED_MAX, ttl: REMEMBERED_MS });
  const running = new Map<string, Promise<Actor>>();

  const verify = async (encoded: string, { clientIp, count }: Attempt): Promise<Actor> => {
    await count();
    const { login, password } = decodeBasic(encoded);
    await throttle.countAttempt(login, clientIp);
    const user = await findUserByLogin(database, login, Date.now() + LOOKUP_MS);
    if (!(await verifier.matches(user?.passwordHash, password)) || !user) {
      throw unauthenticated("CREDENTIALS_INVALID", "Authorization denied, invalid credentials.");
    }
    await throttle.forgetAttempts(login, clientIp);
    return user.actor;
  };

  return {
    recallBasic: (encoded) => remembered.get(keyOf(encoded)),
    // A client that opens many connections at once signs in once, and is counted once.
    async verifyBasic(encoded, attempt) {
      const key = keyOf(encoded + attempt.clientIp);
      const known = running.get(key);
      if (known) return known;
      const verification = verify(encoded, attempt).finally(() => running.delete(key));
      running.set(key, verification);
      const actor = await verification;
      remembered.set(keyOf(encoded), actor);
      return actor;
    },
  };
}

/** Characters no user name has make the look-up fail like any unknown name. */
function decodeBasic(encoded: string): { login: string; password: string } {
  const text = Buffer.from(encoded, "base64").toString("utf8").replaceAll("\0", "");
  const colon = text.indexOf(":");
  return colon < 0
    ? { login: text, password: "" }
    : { login: text.slice(0, colon), password: text.slice(colon + 1) };
}
