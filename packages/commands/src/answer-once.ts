import { hash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { currentActor } from "@tidings/rpc/current-actor";
import { Code, Fault } from "@tidings/rpc/fault";
import type { AnswerOnce, IdempotencyKey } from "@tidings/rpc/idempotency";
import { amongThemselves } from "@tidings/runtime/alone";
import { coalesce } from "@tidings/runtime/coalesce";
import type { Log } from "@tidings/runtime/log";
import { keptTraceparent } from "@tidings/runtime/telemetry";
import { openBytes, sealBytes } from "@tidings/secrets/aes-gcm";
import { Counter } from "prom-client";

const claimStatement = prepared(
  "kept_answers_claim",
  "select sealed from claim_kept_answer($1::bigint, $2::bytea) as claimed (sealed)",
);
/** The keys of many calls; no row for one that another transaction has. */
const claimAllStatement = prepared(
  "kept_answers_claim_all",
  `select asked.id, claimed.sealed from unnest($1::bigint[], $2::bytea[]) as asked (lock, id),
     lateral claim_kept_answer(asked.lock, asked.id) as claimed (sealed)`,
);
/** An answer lies in the partition of its day (UTC), one of three in turn: it is found on that day and the next. */
const keepStatement = prepared(
  "kept_answers_keep",
  `insert into kept_answers (slot, id, sealed)
   values (mod(extract(epoch from now())::bigint / 86400, 3)::smallint, $1::bytea, $2::bytea)`,
);
const keepAllStatement = prepared(
  "kept_answers_keep_all",
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
    const outcome = shared.has(method) ? (await share(callerOf(method), call)).get(call) : undefined;
    if (outcome instanceof Fault) throw outcome;
    return outcome ?? answerAlone(database, call);
  };
}

/** A group has one caller: it is done as the caller of its first call. A call whose trace is recorded has a group of its own. */
function callerOf(method: string): string {
  const { kind, id, clientId, name } = currentActor() ?? {};
  return [method, keptTraceparent(), kind, id, clientId, name].join(" ");
}

function answerAlone(database: Database, call: KeyedCall): Promise<Answer> {
  return database.enclose(call.deadlineMs, async (transaction) => {
    const [row] = await transaction.query(claimStatement, [call.lock, call.id]);
    const known = knownAnswer(call, row);
    if (known instanceof Fault) throw known;
    if (known) return known;
    const answer = await call.work();
    transaction.execute(keepStatement, keptRow(call, answer));
    transaction.afterCommit(() => keyedCalls.inc({ outcome: "done" }));
    return { answer, isReplayed: false };
  });
}

/** Two, so that one may wait for the disk while the other works. */
const AT_ONCE = 2;
const ITEMS_MAX = 32;
/** A group waits no longer for a row that somebody else has. */
const LOCK_WAIT_MS = 100;

/** The answers of calls that share a transaction; none where that fails, perhaps for one of them: each goes alone then. */
async function answerTogether(
  database: Database,
  calls: KeyedCall[],
): Promise<ReadonlyMap<KeyedCall, Answer | Fault>> {
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
): Promise<ReadonlyMap<KeyedCall, Answer | Fault>> {
  transaction.execute({ text: `set local lock_timeout = ${LOCK_WAIT_MS}` });
  const own = [...new Map(calls.map((call) => [call.id, call])).values()];
  const rows = await transaction.query(claimAllStatement, [
    own.map(({ lock }) => lock),
    own.map(({ id }) => id),
  ]);
  const claimed = new Map(rows.map((row) => [row.id, row]));
  const outcomes = new Map<KeyedCall, Answer | Fault>();
  for (const call of calls) {
    // A second call with the key of another one in the group comes while that is at work.
    const known = own.includes(call) ? knownAnswer(call, claimed.get(call.id)) : busy();
    if (known) outcomes.set(call, known);
  }
  const begun = calls.filter((call) => !outcomes.has(call));
  const answers = await amongThemselves(() => allDone(begun.map((call) => call.work())));
  const kept = begun.map((call, index) => keptRow(call, answers[index] ?? new Uint8Array()));
  transaction.execute(keepAllStatement, [kept.map(([id]) => id), kept.map(([, sealed]) => sealed)]);
  transaction.afterCommit(() => keyedCalls.inc({ outcome: "done" }, begun.length));
  for (const [index, call] of begun.entries())
    outcomes.set(call, { answer: answers[index] ?? new Uint8Array(), isReplayed: false });
  return outcomes;
}

/** Their results. Throws when one of them failed, and not before all have ended: what goes on would be no part of the transaction. */
async function allDone<T>(work: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** The answer or refusal of a call whose key is taken; undefined for one that may begin. Without a row another transaction has the key. */
function knownAnswer(call: KeyedCall, row: Row | undefined): Answer | Fault | undefined {
  if (!row) return busy();
  if (!row.sealed) return undefined;
  const answer = open(call.seal, Buffer.from(row.sealed.slice(2), "hex"), call.fingerprint);
  if (answer instanceof Fault) return answer;
  keyedCalls.inc({ outcome: "replayed" });
  return { answer, isReplayed: true };
}

function keptRow({ id, seal, fingerprint }: KeyedCall, answer: Uint8Array): [id: string, sealed: string] {
  return [id, bytea(sealBytes(seal, [fingerprint, packed(answer)]))];
}

function busy(): Fault {
  keyedCalls.inc({ outcome: "busy" });
  return atWork();
}

function atWork(): Fault {
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

/** The answer, or the refusal of a key that has the answer to another request. */
function open(key: Buffer, kept: Buffer, fingerprint: Uint8Array): Uint8Array | Fault {
  const text = openBytes(key, kept);
  if (!text.subarray(0, FINGERPRINT_BYTES).equals(fingerprint)) {
    keyedCalls.inc({ outcome: "reused" });
    return keyReused();
  }
  return unpacked(text.subarray(FINGERPRINT_BYTES));
}

/** The answer of a contact shrinks to about a fifth, so that it stays in its row. */
function packed(answer: Uint8Array): Buffer {
  return gzipSync(answer, { level: FASTEST });
}

const FASTEST = 1;

/** Answers of earlier versions were kept as they are: no message begins like gzip (RFC 1952, 2.3.1), whose first octet names a wire type that protobuf does not have. */
function unpacked(kept: Buffer): Uint8Array {
  return kept[0] === 0x1f && kept[1] === 0x8b ? gunzipSync(kept) : kept;
}

function bytea(bytes: Buffer): string {
  return `\\x${bytes.toString("hex")}`;
}

const FORGET_EVERY_MS = 3_600_000;
const forgetStatement = prepared("kept_answers_forget", "select forget_kept_answers()");

/** Empties the partition of tomorrow, which has the answers of two days ago: each hour, in each process. */
export function startForgettingAnswers(database: Database, log: Log): { stop(): void } {
  const forget = () =>
    void database
      .query(forgetStatement, [], backgroundDeadline())
      .catch((error) => log.warn({ err: error }, "old answers could not be forgotten, later"));
  forget();
  const timer = setInterval(forget, FORGET_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}
