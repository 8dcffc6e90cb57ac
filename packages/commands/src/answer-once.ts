import { hash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { sqlState } from "@tidings/database/failure";
import type { Transaction } from "@tidings/database/transaction";
import { currentActor } from "@tidings/rpc/current-actor";
import { Code, Fault } from "@tidings/rpc/fault";
import { type AnswerOnce, claiming, type IdempotencyKey } from "@tidings/rpc/idempotency";
import { amongThemselves } from "@tidings/runtime/coalesce/alone";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Log } from "@tidings/runtime/log";
import { keptTraceparent } from "@tidings/runtime/telemetry";
import { atEachTick } from "@tidings/runtime/tick";
import { openBytes, sealBytes } from "@tidings/secrets/aes-gcm";
import { Counter } from "prom-client";

/** Fails with `KEY_TAKEN` when one of the keys is at work or has an answer. */
const claimStatement = prepared("kept_answers_claim", "select claim_keys($1::bigint[], $2::bytea[])");
const KEY_TAKEN = "TDK01";
const findStatement = prepared(
  "kept_answers_find",
  `select sealed from kept_answers, (select extract(epoch from now())::bigint / 86400 as today) as clock
   where id = $1::bytea and slot in (mod(today, 3), mod(today + 2, 3))`,
);
/** An answer lies in the partition of its day (UTC), one of three in turn: it is found on that day and the next. */
const keepStatement = prepared(
  "kept_answers_keep",
  `insert into kept_answers (slot, id, sealed)
   select mod(extract(epoch from now())::bigint / 86400, 3)::smallint, id, sealed
   from unnest($1::bytea[], $2::bytea[]) as answered (id, sealed)`,
);

const keyedCalls = new Counter({
  name: "tidings_idempotency_keys_total",
  help: "Calls with an idempotency key: done, replayed, at work already, or with a key of another request",
  labelNames: ["outcome"],
});

const BUSY_SECONDS = 1;

interface KeyedCall {
  id: string;
  lock: string;
  seal: Buffer;
  fingerprint: Uint8Array;
  deadlineMs: number;
  work(): Promise<Uint8Array>;
}

interface Answer {
  answer: Uint8Array;
  isReplayed: boolean;
}

/**
 * Answers each call that has a key once: key, effect and answer are one transaction, so that neither a crash nor a deadline parts
 * them. An answer is kept for 24 hours at least. What fails has no effect, and is not kept. Calls of `shared` methods that come at the
 * same time from one caller are one transaction.
 */
export function answerOnceIn(database: Database, shared: ReadonlySet<string> = new Set()): AnswerOnce {
  const share = coalesce((calls: KeyedCall[]) => answerTogether(database, calls), {
    atOnce: AT_ONCE,
    itemsMax: ITEMS_MAX,
  });
  return async ({ secret, fingerprint, method, deadlineMs }, work) => {
    const call = { ...derive({ secret, method }), fingerprint, deadlineMs, work };
    const answer = shared.has(method) ? (await share(callerOf(method), call)).get(call) : undefined;
    return answer ?? answerAlone(database, call);
  };
}

/** A group has one caller: it is done as the caller of its first call. A call whose trace is recorded has a group of its own. */
function callerOf(method: string): string {
  const { kind, id, clientId, name } = currentActor() ?? {};
  return [method, keptTraceparent(), kind, id, clientId, name].join(" ");
}

async function answerAlone(database: Database, call: KeyedCall): Promise<Answer> {
  let claim: Promise<unknown> = Promise.resolve();
  try {
    return await database.enclose(call.deadlineMs, async (transaction) => {
      claim = claimKeys(transaction, [call]);
      const answer = await claiming(claim, call.work);
      keepAnswers(transaction, [call], [answer]);
      return { answer, isReplayed: false };
    });
  } catch (error) {
    // The work may have noticed before the claim did.
    if (await claim.then(() => false, isKeyTaken)) return keptAnswer(database, call);
    throw error;
  }
}

/**
 * Claims keys until the transaction ends. Nobody waits for that: work is begun at once, and where a key is taken, all that it asks of the
 * database behind the claim fails.
 */
function claimKeys(transaction: Transaction, calls: KeyedCall[]): Promise<unknown> {
  const claim = transaction.query(claimStatement, [calls.map(({ lock }) => lock), calls.map(({ id }) => id)]);
  claim.catch(() => undefined); // seen again with what failed behind it
  return claim;
}

function isKeyTaken(error: unknown): boolean {
  return sqlState(error) === KEY_TAKEN;
}

/** The answer to an earlier call with the key. Throws when that call is at work, or was another request. */
async function keptAnswer(
  database: Database,
  { id, seal, fingerprint, deadlineMs }: KeyedCall,
): Promise<Answer> {
  const [row] = await database.query(findStatement, [id], deadlineMs);
  if (!row?.sealed) throw busy();
  const answer = open(seal, Buffer.from(row.sealed.slice(2), "hex"), fingerprint);
  keyedCalls.inc({ outcome: "replayed" });
  return { answer, isReplayed: true };
}

/** Keeps the answers of calls in the transaction of their effects. */
function keepAnswers(transaction: Transaction, calls: KeyedCall[], answers: Uint8Array[]): void {
  const sealed = calls.map(({ seal, fingerprint }, index) => {
    const answer = answers[index] ?? new Uint8Array();
    return bytea(sealBytes(seal, [fingerprint, packed(answer)]));
  });
  transaction.execute(keepStatement, [calls.map(({ id }) => id), sealed]);
  transaction.afterCommit(() => keyedCalls.inc({ outcome: "done" }, calls.length));
}

/** Two, so that one may wait for the disk while the other works. */
const AT_ONCE = 2;
const ITEMS_MAX = 32;
/** A group waits no longer for a row that somebody else has. */
const LOCK_WAIT_MS = 100;

/** The answers of calls that share a transaction. There are none where that fails, perhaps for one of the calls: each goes alone then. */
async function answerTogether(
  database: Database,
  calls: KeyedCall[],
): Promise<ReadonlyMap<KeyedCall, Answer>> {
  if (calls.length === 1) return new Map();
  const deadlineMs = Math.max(...calls.map((call) => call.deadlineMs));
  let isTried = false;
  try {
    return await database.enclose(deadlineMs, (transaction) => {
      if (isTried) throw new Error("a group is tried once");
      isTried = true;
      return answerAll(transaction, calls);
    });
  } catch {
    // The failure shows again where it is one call's own. If the commit was done nevertheless, the answers are kept.
    return new Map();
  }
}

async function answerAll(
  transaction: Transaction,
  calls: KeyedCall[],
): Promise<ReadonlyMap<KeyedCall, Answer>> {
  transaction.execute({ text: `set local lock_timeout = ${LOCK_WAIT_MS}` });
  // A second call with the key of another one goes alone, and finds the key taken.
  const own = [...new Map(calls.map((call) => [call.id, call])).values()];
  const claim = claimKeys(transaction, own);
  const answers = await claiming(claim, () => amongThemselves(() => allDone(own.map((call) => call.work()))));
  keepAnswers(transaction, own, answers);
  return new Map(
    own.map((call, index) => [call, { answer: answers[index] ?? new Uint8Array(), isReplayed: false }]),
  );
}

/** Their results. Throws when one of them failed, and not before all have ended: what goes on would be no part of the transaction. */
async function allDone<T>(work: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

function busy(): Fault {
  keyedCalls.inc({ outcome: "busy" });
  const message = "A request with this Idempotency-Key is still at work. Send it again to get its answer.";
  const code = Code.ABORTED;
  return new Fault({ code, reason: "IDEMPOTENCY_KEY_BUSY", message, retryAfterSeconds: BUSY_SECONDS });
}

function keyReused(): Fault {
  const message = "The Idempotency-Key was used for another request.";
  return new Fault({ code: Code.ALREADY_EXISTS, reason: "IDEMPOTENCY_KEY_REUSED", message });
}

/** The names of a key in the database, and the key that seals its answer: neither leads to the other. */
function derive({ secret, method }: Pick<IdempotencyKey, "secret"> & { method: string }) {
  // One-step key derivation (NIST SP 800-56C, 4.1): a hash of counter, secret and purpose.
  const derived = (counter: number) =>
    hash("sha256", Buffer.concat([Buffer.from([0, 0, 0, counter]), secret, Buffer.from(method)]), "buffer");
  const id = derived(1);
  return { id: bytea(id), lock: id.readBigInt64BE().toString(), seal: derived(2) };
}

const FINGERPRINT_BYTES = 32;

/** Throws for a key that has the answer to another request. */
function open(key: Buffer, kept: Buffer, fingerprint: Uint8Array): Uint8Array {
  const text = openBytes(key, kept);
  if (!text.subarray(0, FINGERPRINT_BYTES).equals(fingerprint)) {
    keyedCalls.inc({ outcome: "reused" });
    throw keyReused();
  }
  return unpacked(text.subarray(FINGERPRINT_BYTES));
}

/** A shorter answer stays in its row as it is. */
const PACKED_FROM_BYTES = 1_024;
/** Fast, and with 32 kB of memory for each instead of 268. */
const PACKING = { level: 1, windowBits: 12, memLevel: 5 };

/** The answer of a contact shrinks to about a fifth, so that it stays in its row. */
function packed(answer: Uint8Array): Uint8Array {
  return answer.length < PACKED_FROM_BYTES ? answer : gzipSync(answer, PACKING);
}

/** No message begins like gzip (RFC 1952, 2.3.1), whose first octet names a wire type that protobuf does not have. */
function unpacked(kept: Buffer): Uint8Array {
  return kept[0] === 0x1f && kept[1] === 0x8b ? gunzipSync(kept) : kept;
}

function bytea(bytes: Buffer): string {
  return `\\x${bytes.toString("hex")}`;
}

const FORGET_EVERY_MS = 3_600_000;
const forgetStatement = prepared("kept_answers_forget", "select forget_kept_answers()");

/** Empties the partition of tomorrow, which has the answers of two days ago: each hour, in each process. */
export function startForgettingAnswers(database: Database, log: Log): { stop(): Promise<void> } {
  const forget = () =>
    database
      .query(forgetStatement, [], backgroundDeadline())
      .catch((error) => log.warn({ err: error }, "old answers could not be forgotten, later"));
  return atEachTick(FORGET_EVERY_MS, forget, { atOnce: true });
}
