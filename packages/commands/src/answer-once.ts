import { hash } from "node:crypto";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { Code, Fault } from "@tidings/rpc/fault";
import type { AnswerOnce, IdempotencyKey } from "@tidings/rpc/idempotency";
import type { Log } from "@tidings/runtime/log";
import { openBytes, sealBytes } from "@tidings/secrets/aes-gcm";
import { Counter } from "prom-client";

const claimStatement = prepared(
  "kept_answers_claim",
  "select sealed from claim_kept_answer($1::bigint, $2::bytea) as claimed (sealed)",
);
/** An answer lies in the partition of its day (UTC), one of three in turn: it is found on that day and the next. */
const keepStatement = prepared(
  "kept_answers_keep",
  `insert into kept_answers (slot, id, sealed)
   values (mod(extract(epoch from now())::bigint / 86400, 3)::smallint, $1::bytea, $2::bytea)`,
);

const keyedCalls = new Counter({
  name: "tidings_idempotency_keys_total",
  help: "Calls with an idempotency key: done, replayed, at work already, or with a key of another request",
  labelNames: ["outcome"],
});

const BUSY_SECONDS = 1;

/**
 * Answers each call that has a key once: key, effect and answer are one transaction, so that neither a crash nor a deadline parts
 * them. An answer is kept for 24 hours at least. What fails has no effect, and is not kept.
 */
export function answerOnceIn(database: Database): AnswerOnce {
  return ({ deadlineMs, ...call }, work) => {
    const { id, lock, seal } = derive(call);
    return database.enclose(deadlineMs, async (transaction) => {
      const kept = await claim(transaction, lock, id);
      if (kept) {
        const answer = open(seal, kept, call.fingerprint);
        keyedCalls.inc({ outcome: "replayed" });
        return { answer, isReplayed: true };
      }
      const answer = await work();
      transaction.execute(keepStatement, [id, bytea(sealBytes(seal, [call.fingerprint, answer]))]);
      transaction.afterCommit(() => keyedCalls.inc({ outcome: "done" }));
      return { answer, isReplayed: false };
    });
  };
}

/** The answer that is kept under the key, sealed. Holds the key until the transaction ends. */
async function claim(transaction: Transaction, lock: string, id: string): Promise<Buffer | undefined> {
  const [row] = await transaction.query(claimStatement, [lock, id]);
  if (!row) {
    keyedCalls.inc({ outcome: "busy" });
    throw atWork();
  }
  return row.sealed ? Buffer.from(row.sealed.slice(2), "hex") : undefined;
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
function derive({ secret, method }: IdempotencyKey & { method: string }) {
  // One-step key derivation (NIST SP 800-56C, 4.1): a hash of counter, secret and purpose.
  const derived = (counter: number) =>
    hash("sha256", Buffer.concat([Buffer.from([0, 0, 0, counter]), secret, Buffer.from(method)]), "buffer");
  const id = derived(1);
  return { id: bytea(id), lock: id.readBigInt64BE().toString(), seal: derived(2) };
}

const FINGERPRINT_BYTES = 32;

/** The answer; throws when it is to another request. */
function open(key: Buffer, kept: Buffer, fingerprint: Uint8Array): Uint8Array {
  const text = openBytes(key, kept);
  if (!text.subarray(0, FINGERPRINT_BYTES).equals(fingerprint)) {
    keyedCalls.inc({ outcome: "reused" });
    throw keyReused();
  }
  return text.subarray(FINGERPRINT_BYTES);
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
