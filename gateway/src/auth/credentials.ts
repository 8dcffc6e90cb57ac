import { hash, randomBytes } from "node:crypto";
import type { Actor } from "@tidings/rpc/actor";
import { unauthenticated } from "@tidings/rpc/fault";
import type { Database } from "@tidings/store/database";
import { LRUCache } from "lru-cache";
import { findLogin, noteLogin } from "../identity/login.ts";
import { passwordVerifier } from "../identity/password.ts";
import type { Principals } from "../identity/principals.ts";
import type { LoginThrottle } from "../limits/login-throttle.ts";

export interface Credentials {
  /** The user of an `Authorization: Basic` value (RFC 7617) as of the last two seconds. */
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

/** A user who was disabled, or lost a right, may go on for so long on each gateway. */
const FRESH_MS = 2_000;
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 1_000;
const LOOKUP_MS = 5_000;

interface Known {
  userId: number;
  actor: Actor;
  freshUntil: number;
}

/**
 * Verifies passwords and remembers what was verified for a minute: argon2 is made to be slow, and clients of an API
 * send the same credentials with every request. Kept is a salted hash; the salt dies with the process. What the user may
 * do is asked anew every two seconds.
 */
export async function openCredentials(
  database: Database,
  principals: Principals,
  throttle: LoginThrottle,
): Promise<Credentials> {
  const verifier = await passwordVerifier();
  const salt = randomBytes(32).toString("base64");
  const keyOf = (encoded: string) => hash("sha256", salt + encoded, "base64");
  const remembered = new LRUCache<string, Known>({ max: REMEMBERED_MAX, ttl: REMEMBERED_MS });
  const running = new Map<string, Promise<Actor>>();

  const verify = async (encoded: string, { clientIp, count }: Attempt): Promise<number> => {
    await count();
    const { login, password } = decodeBasic(encoded);
    await throttle.countAttempt(login, clientIp);
    const deadlineMs = Date.now() + LOOKUP_MS;
    const found = await findLogin(database, login, deadlineMs);
    const isRight = await verifier.matches(found?.passwordHash, password);
    const userId = isRight ? found?.userId : undefined;
    await noteLogin(database, { login, clientIp, userId }, deadlineMs);
    if (userId === undefined) throw refused();
    await throttle.forgetAttempts(login, clientIp);
    return userId;
  };

  /** Whoever was verified within the last minute is neither counted nor verified again. */
  const authenticate = async (encoded: string, attempt: Attempt): Promise<Actor> => {
    const key = keyOf(encoded);
    const known = remembered.get(key);
    const userId = known?.userId ?? (await verify(encoded, attempt));
    const actor = await principals.user(userId);
    if (!actor) {
      remembered.delete(key);
      throw refused();
    }
    const seen = { userId, actor, freshUntil: Date.now() + FRESH_MS };
    // The minute goes on: it began with the password.
    if (known) Object.assign(known, seen);
    else remembered.set(key, seen);
    return actor;
  };

  return {
    recallBasic(encoded) {
      const known = remembered.get(keyOf(encoded));
      return known && known.freshUntil > Date.now() ? known.actor : undefined;
    },
    // A client that opens many connections at once signs in once, and is counted once.
    async verifyBasic(encoded, attempt) {
      const key = keyOf(encoded + attempt.clientIp);
      const underWay = running.get(key);
      if (underWay) return underWay;
      const authentication = authenticate(encoded, attempt).finally(() => running.delete(key));
      running.set(key, authentication);
      return authentication;
    },
  };
}

function refused() {
  return unauthenticated("CREDENTIALS_INVALID", "Authorization denied, invalid credentials.");
}

/** Characters no user name has make the look-up fail like any unknown name. */
function decodeBasic(encoded: string): { login: string; password: string } {
  const text = Buffer.from(encoded, "base64").toString("utf8").replaceAll("\0", "");
  const colon = text.indexOf(":");
  return colon < 0
    ? { login: text, password: "" }
    : { login: text.slice(0, colon), password: text.slice(colon + 1) };
}
