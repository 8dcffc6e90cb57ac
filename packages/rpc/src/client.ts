import {
  create,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { currentTraceparent } from "@tidings/runtime/telemetry";
import type { Actor, ActorSigner } from "./actor.ts";
import { channelOptions } from "./channel.ts";
import { methodDefinition } from "./definition.ts";
import { trailersToFault } from "./fault-status.ts";
import { isRefused, isUnanswered, type RetryBudget, retryBudget } from "./retry.ts";

/** What a caller says with each request. */
export interface Outgoing {
  actor: Actor;
  /** Milliseconds since the epoch; on the way it becomes the gRPC deadline. */
  deadlineMs: number;
  requestId: string;
}

export type RpcClient<S extends DescService> = {
  [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, outgoing: Outgoing) => Promise<MessageShape<O>>
    : never;
};

/** A connection to the replicas behind an address (`host:port`); several services may share it. */
export function connect(address: string): Client {
  return new Client(`dns:///${address}`, credentials.createInsecure(), {
    ...channelOptions,
    // Over all replicas that the name stands for.
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  });
}

/** Every method of a service as a promise-returning function. Failures are thrown as Fault. */
export function rpcClient<S extends DescService>(
  service: S,
  connection: Client,
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

function unary(method: DescMethod, connection: Client, sign: ActorSigner, retries: RetryBudget) {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
  const attempt = (message: Message, outgoing: Outgoing): Promise<Message> => {
    const metadata = new Metadata();
    metadata.set("tidings-actor", sign(outgoing.actor));
    metadata.set("tidings-request-id", outgoing.requestId);
    const traceparent = currentTraceparent();
    if (traceparent) metadata.set("traceparent", traceparent);
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: Message) =>
        error ? reject(trailersToFault(error)) : resolve(response as Message);
      const options = { deadline: outgoing.deadlineMs };
      connection.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        message,
        metadata,
        options,
        done,
      );
    });
  };
  const mayRepeat = method.idempotency === Idempotency.NO_SIDE_EFFECTS ? isUnanswered : isRefused;
  return (request: MessageInitShape<typeof method.input>, outgoing: Outgoing): Promise<Message> => {
    const message: Message = create(method.input, request);
    return retries.run(() => attempt(message, outgoing), mayRepeat);
  };
}
