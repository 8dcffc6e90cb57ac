import type { Transaction } from "@tidings/database/transaction";
import { eventKey, takeNew } from "./event-keys.ts";

/** Events of one callback. */
export interface Sent<E> {
  provider: string;
  events: E[];
  /** Good for one callback. */
  nonce?: string | undefined;
}

/** Takes the events that came for the first time, in the order of their times. Answers how many came before, too. */
export async function takeEvents<E extends { at: number }>(
  transaction: Transaction,
  { provider, events, nonce }: Sent<E>,
  keyOf: (event: E) => string,
): Promise<{ fresh: E[]; known: number }> {
  const isUsed =
    nonce !== undefined && (await takeNew(transaction, [eventKey(provider, "nonce", nonce)])).length === 0;
  if (isUsed) return { fresh: [], known: events.length };
  const keyed = new Map(events.map((event) => [keyOf(event), event]));
  const fresh = (await takeNew(transaction, [...keyed.keys()])).flatMap((key) => keyed.get(key) ?? []);
  fresh.sort((a, b) => a.at - b.at);
  return { fresh, known: events.length - fresh.length };
}
