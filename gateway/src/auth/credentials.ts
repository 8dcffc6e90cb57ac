import { hash, randomBytes } from "node:crypto";
import { type Database, prepared } from "@tidings/database/database";
import type { Actor } from "@tidings/rpc/actor";
import { Fault, unauthenticated } from "@tidings/rpc/fault";
import { LRUCache } from "lru-cache";
import { findLogin, noteLogin } from "../identity/login.ts";
import { passwordVerifier } from "../identity/password.ts";
import type { Principals } from "../identity/principals.ts";
import { addressKey } from "../limits/address-key.ts";
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
  /** By when it has to be known who asks, in milliseconds since the epoch. */
  deadlineMs: number;
  /** Counts it against its address. Throws RATE_LIMITED when there were too many. */
  count(): Promise<void>;
}

/** A user who was disabled, or lost a right, may go on for so long on each gateway. */
const FRESH_MS = 2_000;
const REMEMBERED_MAX = 10_000;
interface Known {
  userId: number;
  /** The hash of the password that was verified. */
  passwordHash: string;
  actor: Actor;
  freshUntil: number;
}

const currentHash = prepared("user_password_hash", "select password_hash from users where id = $1");

/**
 * Verifies passwords and remembers what was verified for as long as the password stays the same: argon2 is made to be slow,
 * and clients of an API send the same credentials with every request. Kept is a salted hash; the salt dies with the process.
 * The rights of the user, and that the password is still the same, are looked up anew every two seconds.
 */
export async function openCredentials(
  database: Database,
  principals: Principals,
  throttle: LoginThrottle,
): Promise<Credentials> {
  const verify = await passwordCheck(database, throttle);
  const salt = randomBytes(32).toString("base64");
  const keyOf = (encoded: string) => hash("sha256", salt + encoded, "base64");
  const remembered = new LRUCache<string, Known>({ max: REMEMBERED_MAX });
  const running = new Map<string, Promise<Actor>>();

  /** Verified credentials are neither counted nor verified again, unless the password has changed. */
  const recheck = async (known: Known, deadlineMs: number): Promise<Verified | undefined> => {
    const [row] = await database.query(currentHash, [known.userId], deadlineMs);
    return row?.password_hash === known.passwordHash ? known : undefined;
  };

  const authenticate = async (encoded: string, attempt: Attempt): Promise<Actor> => {
    const key = keyOf(encoded);
    const known = remembered.get(key);
    const { userId, passwordHash } =
      (known && (await recheck(known, attempt.deadlineMs))) ?? (await verify(encoded, attempt));
    const actor = await principals.user(userId, attempt.deadlineMs);
    if (!actor) {
      remembered.delete(key);
      throw refused();
    }
    remembered.set(key, { userId, passwordHash, actor, freshUntil: Date.now() + FRESH_MS });
    return actor;
  };

  const authenticateOnce = (key: string, encoded: string, attempt: Attempt): Promise<Actor> => {
    const authentication = authenticate(encoded, attempt).finally(() => running.delete(key));
    running.set(key, authentication);
    return authentication;
  };

  return {
    recallBasic(encoded) {
      const known = remembered.get(keyOf(encoded));
      return known && known.freshUntil > Date.now() ? known.actor : undefined;
    },
    // A client that opens many connections at once signs in once, and is counted once. A verdict is one for all of them;
    // a look-up that failed is not: a request that waited for it tries for itself, as long as it has time.
    async verifyBasic(encoded, attempt) {
      const key = keyOf(encoded + attempt.clientIp);
      const underWay = running.get(key);
      if (!underWay) return authenticateOnce(key, encoded, attempt);
      return underWay.catch((error) => {
        if (isVerdict(error) || Date.now() >= attempt.deadlineMs) throw error;
        return running.get(key) ?? authenticateOnce(key, encoded, attempt);
      });
    },
  };
}

/** Verifies passwords; each attempt is counted. */
async function passwordCheck(database: Database, throttle: LoginThrottle) {
  const verifier = await passwordVerifier();
  return async (encoded: string, { clientIp, count, deadlineMs }: Attempt): Promise<Verified> => {
    await count();
    const { login, password } = decodeBasic(encoded);
    const counted = await throttle.countAttempt(login, clientIp);
    let isJudged = false;
    try {
      const found = await findLogin(database, login, deadlineMs);
      const isRight = await verifier.matches(found?.passwordHash, password, addressKey(clientIp));
      const userId = isRight ? found?.userId : undefined;
      isJudged = true;
      await noteLogin(database, { login, clientIp, userId }, deadlineMs);
      if (userId === undefined || found?.passwordHash === undefined) throw refused();
      await counted.forgive();
      return { userId, passwordHash: found.passwordHash };
    } catch (error) {
      // The database was away, or too much to do: nobody said that the password is wrong.
      if (!isJudged) await counted.giveBack();
      throw error;
    }
  };
}

type Verified = Pick<Known, "userId" | "passwordHash">;

function isVerdict(error: unknown): boolean {
  return error instanceof Fault && ["CREDENTIALS_INVALID", "RATE_LIMITED"].includes(error.reason);
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
