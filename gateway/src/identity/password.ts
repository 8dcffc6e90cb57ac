import { hash, verify } from "@node-rs/argon2";
import { exhausted } from "@tidings/rpc/fault";

/** OWASP's minimum for argon2id, which is the package's default variant; about 9 ms of one core. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const LENGTH_MAX = 256;
const AT_ONCE = 2;
const WAITING_MAX = 64;
const WAITING_PER_ADDRESS = 8;

export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize("NFC"), PARAMETERS);
}

/** Is this the password that was hashed? */
export function isPassword(known: string, password: string): Promise<boolean> {
  return verify(known, password.slice(0, LENGTH_MAX).normalize("NFC"));
}

export interface PasswordVerifier {
  /** Against a hash, or for an unknown user against one that never matches: both take the same time. */
  matches(hash: string | undefined, password: string, address: string): Promise<boolean>;
}

/**
 * Verifies few passwords at once: hashing is made to be expensive, and the event loop's threads are shared. Addresses take
 * turns, so that one that tries many passwords keeps nobody else waiting for long.
 */
export async function passwordVerifier(): Promise<PasswordVerifier> {
  const dummyHash = await hashPassword("nobody has this password");
  const waiting = new Map<string, (() => void)[]>();
  let waitingCount = 0;
  let running = 0;
  const enter = async (address: string) => {
    if (running < AT_ONCE) {
      running += 1;
      return;
    }
    const own = waiting.get(address) ?? [];
    if (own.length >= WAITING_PER_ADDRESS || waitingCount >= WAITING_MAX)
      throw exhausted("Too many sign-ins at the moment.");
    waitingCount += 1;
    waiting.set(address, own);
    await new Promise<void>((resolve) => own.push(resolve));
  };
  // The next one in the queue takes the place of the one that leaves; its address goes to the end of the queue.
  const leave = () => {
    const [address, own] = waiting.entries().next().value ?? [];
    const next = own?.shift();
    if (address === undefined || !own || !next) {
      running -= 1;
      return;
    }
    waitingCount -= 1;
    waiting.delete(address);
    if (own.length > 0) waiting.set(address, own);
    next();
  };
  return {
    async matches(known, password, address) {
      await enter(address);
      try {
        return (await isPassword(known ?? dummyHash, password)) && known !== undefined;
      } finally {
        leave();
      }
    },
  };
}
