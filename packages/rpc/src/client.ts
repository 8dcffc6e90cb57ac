import {
  create,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { currentTraceparent } from "@tidings/runtime/telemetry";
import type { Actor, ActorSigner } from "./actor.ts";
import { methodDefinition, methodName } from "./definition.ts";
import type { Expected } from "./expected.ts";
import { type Answered, type IdempotencyKey, isRead, untilClaimed } from "./idempotency.ts";
import { isUnanswered, isUnreached, type RetryBudget, retryBudget } from "./retry.ts";
import type { Connection } from "./stream/connection.ts";

/** The context that a caller sends with each request. */
export interface Outgoing {
  actor: Actor;
  /** Milliseconds since the epoch; the server receives the time that is left. */
  deadlineMs: number;
  requestId: string;
  idempotencyKey?: IdempotencyKey | undefined;
  /** Versions that entities must have to be changed. */
  expected?: Expected | undefined;
  /** Hears of an answer what its message does not say. */
  onAnswer?(answer: Pick<Answered, "version" | "next" | "isReplayed">): void;
}

export type RpcClient<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, outgoing: Outgoing) => Promise<MessageShape<O>>
    : never;
};

/** Every method of a service as a promise-returning function. Failures are thrown as Fault. */
export function rpcClient<S extends DescService>(
  service: S,
  connection: Connection,
  sign: ActorSigner,
): RpcClient<S> {
  const retries = retryBudget();
  const methods = service.methods.map((method) => [
    method.localName,
    unary(method, connection, sign, retries),
  ]);
  // The descriptor gives both the functions and, through RpcClient, their types; the compiler cannot see the link.
  return Object.fromEntries(methods) as RpcClient<S>;
}

function unary(method: DescMethod, connection: Connection, sign: ActorSigner, retries: RetryBudget) {
  const { requestSerialize, responseDeserialize } = methodDefinition(method);
  const name = methodName(method);
  const mayRepeat = isRead(method) ? isUnanswered : isUnreached;
  return async (request: MessageInitShape<typeof method.input>, outgoing: Outgoing): Promise<Message> => {
    if (!isRead(method)) await untilClaimed();
    const message = requestSerialize(create(method.input, request));
    const { actor, requestId, deadlineMs, idempotencyKey, expected } = outgoing;
    const call = () =>
      connection.call({
        method: name,
        actor: sign(actor),
        requestId,
        traceparent: currentTraceparent() ?? "",
        message,
        deadlineMs,
        idempotencyKey,
        expected,
      });
    const { message: answer, version, next, replayed } = await retries.run(call, mayRepeat);
    outgoing.onAnswer?.({ version, next, isReplayed: replayed });
    return responseDeserialize(answer as Buffer);
  };
}
