import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { methodName } from "./definition.ts";

/** The key under which a caller may send the same request again (IETF draft httpapi-idempotency-key-header). */
export interface IdempotencyKey {
  /** 32 bytes made of the principal, the route and the key. The database keeps nothing that leads back to them. */
  secret: Uint8Array;
  /** A digest of the request: the key with another one is refused. */
  fingerprint: Uint8Array;
}

/** The key as it goes out with calls. */
export interface OutgoingIdempotencyKey extends IdempotencyKey {
  /** Called when the answer is that of an earlier call. */
  onReplay(): void;
}

/**
 * Answers a call that has a key: `work` is done once, and its answer is kept with its effect. Throws ABORTED while another call with
 * the key is at work, and IDEMPOTENCY_KEY_REUSED for a key that another request used.
 */
export type AnswerOnce = (
  call: IdempotencyKey & { method: string; deadlineMs: number },
  work: () => Promise<Uint8Array>,
) => Promise<{ answer: Uint8Array; isReplayed: boolean }>;

/** Does the method change nothing? */
export function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === Idempotency.NO_SIDE_EFFECTS;
}

export interface Answered {
  message: Message;
  /** Is it the answer of an earlier call? */
  isReplayed: boolean;
}

/** Answers a call of a method: once, where it has a key and changes something. */
export async function answered(
  method: DescMethod,
  {
    key,
    answerOnce,
    deadlineMs,
  }: { key: IdempotencyKey | undefined; answerOnce: AnswerOnce | undefined; deadlineMs: number },
  handle: () => Promise<Message>,
): Promise<Answered> {
  if (!key || !answerOnce || isRead(method)) return { message: await handle(), isReplayed: false };
  const { output } = method;
  let message: Message | undefined;
  const { answer, isReplayed } = await answerOnce(
    { ...key, method: methodName(method), deadlineMs },
    async () => {
      message = await handle();
      return toBinary(output, message);
    },
  );
  return { message: isReplayed || !message ? fromBinary(output, answer) : message, isReplayed };
}
