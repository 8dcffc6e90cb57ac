import { mayBeCommitted } from "@tidings/database/failure";
import type { Actor } from "@tidings/rpc/actor";
import type { Call } from "@tidings/rpc/call";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { keptTraceparent } from "@tidings/runtime/telemetry";

/** Two, so that one may wait for the disk while the other works. */
const AT_ONCE = 2;
const ITEMS_MAX = 32;
/** How long a transaction that several writes share waits for a row that somebody else has, while those that do not want that row wait with it. */
export const SHARED_LOCK_WAIT_MS = 100;

/** Does writes in one transaction, for the caller of all of them. */
type Write<W, R> = (writes: [W, ...W[]], call: Call) => Promise<(R | undefined)[]>;

/**
 * Does single writes of one caller that come at the same time in one transaction: under load a write costs a fraction of what it costs
 * alone (ADR 58). `write` answers undefined for one that wants a row which another one changes. The answer is undefined for what has to be
 * done alone: that one, and all where the transaction failed, perhaps for one of the others. Writes of different `kindOf` share nothing.
 */
export function sharedWrites<W extends { call: Call }, R>(
  write: Write<W, R>,
  kindOf: (write: W) => string = () => "",
): (own: W) => Promise<R | undefined> {
  const ask = coalesce((writes: W[]) => writeShared(write, writes), {
    atOnce: AT_ONCE,
    itemsMax: ITEMS_MAX,
  });
  return async (own) => (await ask(`${callerOf(own.call)} ${kindOf(own)}`, own)).get(own);
}

async function writeShared<W extends { call: Call }, R>(
  write: Write<W, R>,
  writes: W[],
): Promise<ReadonlyMap<W, R | undefined>> {
  const [first, ...others] = writes;
  if (!first) return new Map();
  const deadlineMs = Math.max(...writes.map(({ call }) => call.deadlineMs));
  try {
    const outcomes = await write([first, ...others], { ...first.call, deadlineMs });
    return new Map(writes.map((own, index) => [own, outcomes[index]]));
  } catch (error) {
    if (writes.length === 1 || mayBeCommitted(error)) throw error;
    return new Map();
  }
}

const numbers = new WeakMap<Actor, number>();
let count = 0;

/** The same for calls with the same token, which have the same rights therefore. Calls whose trace is recorded share with none of another trace. */
function callerOf({ actor }: Call): string {
  const number = numbers.get(actor) ?? ++count;
  numbers.set(actor, number);
  return `${number} ${keptTraceparent()}`;
}
