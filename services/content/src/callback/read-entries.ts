import { type Check, SECRET_LENGTH_MIN } from "./check.ts";

/** A kind of provider: how its callbacks are proven and read. `E` is an event of one. */
export interface ProviderOf<E> {
  /** The events of one item: undefined where it is malformed; empty where it says nothing that changes a send. */
  read(item: unknown): E[] | undefined;
  /** The check of a callback by the secret that an operator sets. */
  checkOf(secret: string): Check | { problem: string };
  /** The answer to a callback that was taken, where the provider takes no JSON. */
  answer?: { type: string; body: string };
}

/** A provider whose callbacks are taken. While a secret is replaced there are two checks: one of them has to pass. */
export interface CallbackOf<N extends string, E> extends Pick<ProviderOf<E>, "read" | "answer"> {
  name: N;
  checks: Check[];
}

/**
 * Reads entries written as `name:secret`; several of one name hold side by side. The text that says what is wrong names nothing of a
 * secret.
 */
export function readEntries<N extends string, E>(
  providers: Record<N, ProviderOf<E>>,
  items: string[],
): CallbackOf<N, E>[] | { problem: string } {
  const isProvider = (name: string): name is N => Object.hasOwn(providers, name);
  const callbacks = new Map<N, CallbackOf<N, E>>();
  for (const [index, item] of items.entries()) {
    const colon = item.indexOf(":");
    const name = item.slice(0, Math.max(colon, 0));
    if (!isProvider(name)) {
      const names = Object.keys(providers).join(", ");
      return { problem: `entry ${index + 1} is not written as name:secret with a name of ${names}` };
    }
    const { read, checkOf, answer } = providers[name];
    const check = checkOf(item.slice(colon + 1));
    if ("problem" in check) return { problem: `entry ${index + 1} (${name}) ${check.problem}` };
    const callback = callbacks.get(name) ?? { name, read, checks: [], ...(answer && { answer }) };
    callback.checks.push(check);
    callbacks.set(name, callback);
  }
  return [...callbacks.values()];
}

/** The check by a secret that nobody guesses. */
export function longSecret(secret: string, check: (secret: string) => Check): Check | { problem: string } {
  return secret.length < SECRET_LENGTH_MIN
    ? { problem: `needs a secret of at least ${SECRET_LENGTH_MIN} characters` }
    : check(secret);
}
