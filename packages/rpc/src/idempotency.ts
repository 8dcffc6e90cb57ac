import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { create, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { AnswerSchema } from "@tidings/proto/tidings/api/v1/line";
import { methodName } from "./definition.ts";

/** The key under which a caller may send the same request again (IETF draft httpapi-idempotency-key-header). */
export interface IdempotencyKey {
  /** 32 bytes made of the principal, the route and the key. The database keeps nothing that leads back to them. */
  secret: Uint8Array;
  /** A digest of the request: the key with another one is refused. */
  fingerprint: Uint8Array;
}

/** A name of the requests with a key, which may be kept in the open. */
export function repeatNameOf(key: IdempotencyKey | undefined): string | undefined {
  return (
    key &&
    createHash("sha256").update("repeat name").update(key.secret).digest("hex").slice(0, REPEAT_NAME_LENGTH)
  );
}
const REPEAT_NAME_LENGTH = 32;

/**
 * Answers a call that has a key: `work` takes effect once, and its answer is kept with its effect. It may be begun for a key that is taken:
 * what it asks of its own database fails then, and so does what it asks others to change. Throws ABORTED while another call with the key is at
 * work, and IDEMPOTENCY_KEY_REUSED for a key that another request used.
 */
export type AnswerOnce = (
  call: IdempotencyKey & { method: string; deadlineMs: number },
  work: () => Promise<Uint8Array>,
) => Promise<{ answer: Uint8Array; isReplayed: boolean }>;

const claims = new AsyncLocalStorage<Promise<unknown>>();

/** Begins work while the key of its call is being claimed. */
export function claiming<T>(claim: Promise<unknown>, work: () => T): T {
  return claims.run(claim, work);
}

/** Waits until the present call has its key, if it came with one. Throws when the key is taken. */
export async function untilClaimed(): Promise<void> {
  await claims.getStore();
}

/** Does the method change nothing? */
export function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === Idempotency.NO_SIDE_EFFECTS;
}

/** The answer of a handler. */
export interface Shown {
  message: Message;
  /** The version of the entity that the message shows; 0 where it shows none. */
  version: number;
  /** The position behind the page that it shows; empty where there is none. */
  next: string;
}

export interface Answered extends Shown {
  /** The message, encoded, where it had to be kept. */
  bytes?: Uint8Array;
  /** Is it the answer of an earlier call? */
  isReplayed: boolean;
}

interface Answering {
  key: IdempotencyKey | undefined;
  answerOnce: AnswerOnce | undefined;
  deadlineMs: number;
}

/** Answers a call of a method: once, where it has a key and changes something. */
export async function answered(
  method: DescMethod,
  { key, answerOnce, deadlineMs }: Answering,
  handle: () => Promise<Shown>,
): Promise<Answered> {
  if (!key || !answerOnce || isRead(method)) return { ...(await handle()), isReplayed: false };
  const { output } = method;
  let shown: (Shown & { bytes: Uint8Array }) | undefined;
  const { answer, isReplayed } = await answerOnce(
    { ...key, method: methodName(method), deadlineMs },
    async () => {
      const handled = await handle();
      const bytes = toBinary(output, handled.message);
      shown = { ...handled, bytes };
      return toBinary(AnswerSchema, create(AnswerSchema, { message: bytes, version: handled.version }));
    },
  );
  if (shown && !isReplayed) return { ...shown, isReplayed };
  const { message, version } = fromBinary(AnswerSchema, answer);
  return { message: fromBinary(output, message), version, next: "", isReplayed };
}
