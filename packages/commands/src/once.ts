import type { Database } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { Code, Fault, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { claimKeys, readKeys, recordOutcomes, releaseKeys } from "./keys.ts";

/** A command that takes effect once, however often it is sent. */
export interface Command {
  /** Names the occasion, with the kind of the caller in front: `form:7c9e…:2`. */
  key: string;
  /** A digest of what the command does. */
  fingerprint: string;
}

/** The result of a command. The value is JSON, so that it can be answered again. */
export type Outcome<V> = { value: V } | { fault: Fault };

/** A command that is to have a transaction of its own: what it locks is not locked beside what others lock. */
export const ALONE = "alone";

/** Carries out commands in a transaction. Returns an outcome for each, in their order, or ALONE where it did nothing: of a single command never. */
export type CarryOut<C extends Command, V> = (
  transaction: Transaction,
  commands: C[],
) => Promise<(Outcome<V> | typeof ALONE)[]>;

export interface Limits<C extends Command> {
  deadlineMs: number;
  /** Errors that the caller handles: no command is to blame. */
  isForCaller?(error: unknown): boolean;
  /** Removes a cause of a failure that is not in the commands. True when there was one: they are carried out again. */
  mend?(commands: C[]): Promise<boolean>;
}

/**
 * Carries out each command whose key is new, and answers the outcome of the first time for each other one. Keys, effects and outcomes
 * are one transaction, behind which those of single commands follow in their order. When a transaction fails, its halves are tried, so that a command that cannot be carried out fails alone. Throws
 * when the database is away or too slow: then nothing is known, and the caller sends the same commands again.
 */
export async function carryOutOnce<C extends Command, V>(
  database: Database,
  commands: C[],
  carryOut: CarryOut<C, V>,
  limits: Limits<C>,
): Promise<Outcome<V>[]> {
  const outcomes = await carryOutTogether(database, commands, carryOut, limits);
  const done: Outcome<V>[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const command = commands[index];
    if (outcome !== ALONE) done.push(outcome);
    else if (command) done.push(...(await carryOutOnce(database, [command], carryOut, limits)));
  }
  return done;
}

async function carryOutTogether<C extends Command, V>(
  database: Database,
  commands: C[],
  carryOut: CarryOut<C, V>,
  limits: Limits<C>,
): Promise<(Outcome<V> | typeof ALONE)[]> {
  const { deadlineMs, isForCaller } = limits;
  try {
    return await database.transaction(deadlineMs, (transaction) => onceIn(transaction, commands, carryOut));
  } catch (error) {
    const isTimeOut = error instanceof Fault && error.code === Code.DEADLINE_EXCEEDED;
    if (isOutage(error) || isTimeOut || isForCaller?.(error)) throw error;
    if (await limits.mend?.(commands)) return carryOutTogether(database, commands, carryOut, limits);
    const [command, ...others] = commands;
    if (!command) return [];
    if (others.length === 0) {
      const fault = toFault(error);
      return database.transaction(deadlineMs, (transaction) =>
        onceIn<C, V>(transaction, commands, async () => [{ fault }]),
      );
    }
    const middle = Math.ceil(commands.length / 2);
    const first = await carryOutOnce(database, commands.slice(0, middle), carryOut, limits);
    const second = await carryOutOnce(database, commands.slice(middle), carryOut, limits);
    return [...first, ...second];
  }
}

async function onceIn<C extends Command, V>(
  transaction: Transaction,
  commands: C[],
  carryOut: CarryOut<C, V>,
): Promise<(Outcome<V> | typeof ALONE)[]> {
  // A key that is named twice in a call is used once.
  const distinct = [
    ...new Map(commands.toReversed().map((command) => [command.key, command])).values(),
  ].reverse();
  const claimed = await claimKeys(transaction, distinct);
  const fresh = distinct.filter(({ key }) => claimed.has(key));
  const known = await readKeys(
    transaction,
    distinct.flatMap(({ key }) => (claimed.has(key) ? [] : [key])),
  );
  const outcomes = fresh.length > 0 ? await carryOut(transaction, fresh) : [];
  const kept = fresh.flatMap(({ key, fingerprint }, index) => {
    const outcome = outcomes[index];
    if (!outcome || (outcome === ALONE && commands.length === 1))
      throw new Error("each command has an outcome");
    return outcome === ALONE ? [] : [{ key, fingerprint, outcome }];
  });
  const alone = new Set(fresh.flatMap(({ key }, index) => (outcomes[index] === ALONE ? [key] : [])));
  releaseKeys(transaction, [...alone]);
  recordOutcomes(
    transaction,
    kept.map(({ key, outcome }) => ({ key, outcome: toStored(outcome) })),
  );
  const made = new Map(kept.map((one) => [one.key, one]));
  return commands.map(({ key, fingerprint }): Outcome<V> | typeof ALONE => {
    if (alone.has(key)) return ALONE;
    const before = made.get(key) ?? known.get(key);
    if (!before) throw new Error("a key that was not claimed is known");
    if (before.fingerprint !== fingerprint) return { fault: keyReused() };
    return typeof before.outcome === "string" ? fromStored<V>(before.outcome) : before.outcome;
  });
}

function keyReused(): Fault {
  const message = "The key was used for another command.";
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "KEY_REUSED", message });
}

function toStored<V>(outcome: Outcome<V>): unknown {
  if ("value" in outcome) return { value: outcome.value ?? null };
  const { code, reason, message, violations } = outcome.fault;
  return { fault: { code, reason, message, violations } };
}

function fromStored<V>(json: string): Outcome<V> {
  const { value, fault } = JSON.parse(json);
  return fault ? { fault: new Fault(fault) } : { value };
}
