import type { DescService, Message } from "@bufbuild/protobuf";
import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Log } from "@tidings/runtime/log";
import type { Tls } from "@tidings/runtime/tls";
import type { ActorVerifier } from "./actor.ts";
import { type Answering, answering, type Handler } from "./answer.ts";
import type { Call } from "./call.ts";
import { channelOptions } from "./channel.ts";
import { type Handlers, methodDefinition, methodName } from "./definition.ts";
import { toFault } from "./fault.ts";
import { faultToTrailers } from "./fault-status.ts";
import { healthService } from "./health.ts";
import type { AnswerOnce } from "./idempotency.ts";
import { requirementOf } from "./permission.ts";
import { serverCredentials } from "./server-credentials.ts";
import { callStreamServer, type Served } from "./stream/call-stream-server.ts";

/** Handlers of one service, ready to be served next to others. */
export interface Implementation {
  service: DescService;
  handlers: Record<string, (request: never, call: Call) => unknown>;
}

export interface RpcServer {
  port: number;
  /** Stops taking calls and waits for those in flight. */
  drain(): Promise<void>;
}

interface ServeOptions {
  port: number;
  /** The address of this machine it is reached by; all when absent. */
  host?: string;
  /** The certificates of both ends; no TLS when absent. */
  tls?: Tls | undefined;
  log: Log;
  verifyActor: ActorVerifier;
  /** Keeps answers under idempotency keys, which mean nothing when it is absent. */
  answerOnce?: AnswerOnce;
  /** Calls worked on at once; those above are refused at once instead of queued. */
  inFlightMax: number;
}

const DRAIN_LIMIT_MS = 20_000;

export function implement<S extends DescService>(service: S, handlers: Handlers<S>): Implementation {
  return { service, handlers: handlers as Implementation["handlers"] };
}

/** Serves the implementations with health checking, deadlines, permissions and draining. */
export async function serve(implementations: Implementation[], options: ServeOptions): Promise<RpcServer> {
  const server = new Server(channelOptions);
  const health = healthService();
  server.addService(health.definition, health.implementation);
  const { log, verifyActor, inFlightMax, answerOnce } = options;
  const admission = { inFlight: 0, max: inFlightMax };
  const carried = new Map<string, Served>();
  for (const { service, handlers } of implementations) {
    const definitions: Record<string, MethodDefinition<Message, Message>> = {};
    const functions: UntypedServiceImplementation = {};
    for (const method of service.methods) {
      const definition = methodDefinition(method);
      const requirement = requirementOf(service, method);
      const handler = handlers[method.localName] as Handler;
      const answers = answering(method, handler, requirement, { log, verifyActor, admission, answerOnce });
      definitions[method.localName] = definition;
      functions[method.localName] = unaryHandler(answers);
      carried.set(methodName(method), { definition, answering: answers });
    }
    server.addService(definitions, functions);
  }
  const streams = callStreamServer(carried);
  server.addService(streams.definition, streams.implementation);
  const port = await bind(server, options);
  health.setServing(true);
  return {
    port,
    drain: () => {
      health.setServing(false);
      streams.close();
      return drain(server);
    },
  };
}

/** A method as a unary call: for tools and other clients without multiplexed streams. */
function unaryHandler(answering: Answering): handleUnaryCall<Message, Message> {
  return (incoming, respond) => {
    const header = (name: string) => incoming.metadata.get(name)[0]?.toString();
    answering({
      request: () => incoming.request,
      actor: header("tidings-actor") ?? "",
      requestId: header("tidings-request-id") ?? "",
      traceparent: header("traceparent"),
      deadlineMs: Number(incoming.getDeadline()),
    }).then(
      ({ message }) => respond(null, message),
      (error) => respond(faultToTrailers(toFault(error))),
    );
  };
}

function bind(server: Server, { host = "0.0.0.0", port, tls }: ServeOptions): Promise<number> {
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, serverCredentials(tls), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
}

function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => server.forceShutdown(), DRAIN_LIMIT_MS);
    server.tryShutdown(() => {
      clearTimeout(limit);
      resolve();
    });
  });
}
