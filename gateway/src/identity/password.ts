import { hash, verify } from "@node-rs/argon2";
import { exhausted } from "@tidings/rpc/fault";

/** OWASP's minimum for argon2id, which is the package's default variant; about 9 ms of one core. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const LENGTH_MAX = 256;
const AT_ONCE = 2;
const WAITING_MAX = 32;

export function hashPassword(password: string): Promise<string> {
  return hash(password.normalize("NFC"), PARAMETERS);
}

export interface PasswordVerifier {
  /** Against a hash, or for an unknown user against one that never matches: both take the same time. */
  matches(hash: string | undefined, password: string): Promise<boolean>;
}

/** Verifies few passwords at once: hashing is made to be expensive, and the event loop's threads are shared. */
export async function passwordVerifier(): Promise<PasswordVerifier> {
  const dummyHash = await hashPassword("nobody has this password");
  const waiting: (() => void)[] = [];
  let running = 0;
  const enter = async () => {
    if (running < AT_ONCE) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  // Whoever waits takes over the place of the one that leaves.
  const leave = () => {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  };
  return {
    async matches(known, password) {
      if (waiting.length >= WAITING_MAX) throw exhausted("Too many sign-ins at the moment.");
      await enter();
      try {
        const isRight = await verify(known ?? dummyHash, password.slice(0, LENGTH_MAX).normalize("NFC"));
        return isRight && known !== undefined;
      } finally {
        leave();
      }
    },
  };
}
