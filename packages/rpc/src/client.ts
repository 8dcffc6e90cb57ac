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
import { Client, type ClientUnaryCall, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { currentTraceparent } from "@tidings/runtime/telemetry";
import type { Actor, ActorSigner } from "./actor.ts";
import { channelOptions } from "./channel.ts";
import { methodDefinition } from "./definition.ts";
import { trailersToFault } from "./fault-status.ts";

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

/** A connection to the replicas behind an address; several services may share it. */
export function connect(address: string, services: DescService[]): Client {
  return new Client(`dns:///${address}`, credentials.createInsecure(), {
    ...channelOptions,
    "grpc.service_config": JSON.stringify(serviceConfig(services)),
  });
}

/** Every method of a service as a promise-returning function. Failures are thrown as Fault. */
export function rpcClient<S extends DescService>(
  service: S,
  connection: Client,
  sign: ActorSigner,
): RpcClient<S> {
  const methods = service.methods.map((method) => [method.localName, unary(method, connection, sign)]);
  // The descriptor gives both the functions and, through RpcClient, their types; the compiler cannot see the link.
  return Object.fromEntries(methods) as RpcClient<S>;
}

function unary(method: DescMethod, connection: Client, sign: ActorSigner) {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
  return (request: MessageInitShape<typeof method.input>, outgoing: Outgoing): Promise<Message> => {
    const metadata = new Metadata();
    metadata.set("tidings-actor", sign(outgoing.actor));
    metadata.set("tidings-request-id", outgoing.requestId);
    const traceparent = currentTraceparent();
    if (traceparent) metadata.set("traceparent", traceparent);
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: Message) =>
        error ? reject(trailersToFault(error)) : resolve(response as Message);
      const message: Message = create(method.input, request);
      const options = { deadline: outgoing.deadlineMs };
      const call: ClientUnaryCall = connection.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        message,
        metadata,
        options,
        done,
      );
      return call;
    });
  };
}

/**
 * gRPC service config: spread calls over all replicas; retry reads, and only them, when a replica is not reachable,
 * within a budget of one retry to ten calls (gRPC proposal A6).
 */
function serviceConfig(services: DescService[]) {
  const reads = services.flatMap((service) =>
    service.methods
      .filter((method) => method.idempotency === Idempotency.NO_SIDE_EFFECTS)
      .map((method) => ({ service: service.typeName, method: method.name })),
  );
  const retryPolicy = {
    maxAttempts: 3,
    initialBackoff: "0.025s",
    maxBackoff: "0.25s",
    backoffMultiplier: 3,
    retryableStatusCodes: ["UNAVAILABLE"],
  };
  return {
    loadBalancingConfig: [{ round_robin: {} }],
    methodConfig: [{ name: reads, retryPolicy }],
    retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
  };
}
