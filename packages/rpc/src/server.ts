import { create, type DescMethod, type DescService, type Message } from "@bufbuild/protobuf";
import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { SpanKind } from "@opentelemetry/api";
import type { Log } from "@tidings/runtime/log";
import { inSpan } from "@tidings/runtime/telemetry";
import { Counter, Histogram } from "prom-client";
import type { ActorVerifier } from "./actor.ts";
import type { Call } from "./call.ts";
import { channelOptions } from "./channel.ts";
import { actingAs } from "./current-actor.ts";
import { type Handlers, methodDefinition } from "./definition.ts";
import { Code, deadlineExceeded, exhausted, type Fault, toFault } from "./fault.ts";
import { faultToTrailers } from "./fault-status.ts";
import { healthService } from "./health.ts";
import { permittedCall, type Requirement, requirementOf } from "./permission.ts";

/** Handlers of one service, ready to be served next to others. */
export interface Implementation {
  service: DescService;
  handlers: Record<string, Handler>;
}

type Handler = (request: never, call: Call) => unknown;

export interface RpcServer {
  port: number;
  /** Stops taking calls and waits for those in flight. */
  drain(): Promise<void>;
}

interface ServeOptions {
  port: number;
  /** The address of this machine it is reached by; all when absent. */
  host?: string;
  log: Log;
  verifyActor: ActorVerifier;
  /** Calls worked on at once; those above are refused at once instead of queued. */
  inFlightMax: number;
  /** After which clients are asked to connect again; two minutes when absent. */
  connectionAgeMs?: number;
}

/** A hop keeps this much of the deadline for the way back. */
const HOP_MS = 50;
const DRAIN_LIMIT_MS = 20_000;
const DEFAULT_DEADLINE_MS = 30_000;

const duration = new Histogram({
  name: "tidings_rpc_duration_seconds",
  help: "Time from a call's arrival to its answer",
  labelNames: ["method", "code"],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
});

const clockDisagreements = new Counter({
  name: "tidings_rpc_clock_disagreements_total",
  help: "Calls refused because the clock of the caller and ours differ by a minute or more",
});

const CONNECTION_AGE_MS = 120_000;

export function implement<S extends DescService>(service: S, handlers: Handlers<S>): Implementation {
  return { service, handlers: handlers as Implementation["handlers"] };
}

/** Serves the implementations with health checking, deadlines, permissions and draining. */
export async function serve(implementations: Implementation[], options: ServeOptions): Promise<RpcServer> {
  const server = new Server({
    ...channelOptions,
    // Makes clients resolve the name again, so that new replicas get their share of the calls.
    "grpc.max_connection_age_ms": options.connectionAgeMs ?? CONNECTION_AGE_MS,
    "grpc.max_connection_age_grace_ms": 30_000,
  });
  const health = healthService();
  server.addService(health.definition, health.implementation);
  const admission = { inFlight: 0, max: options.inFlightMax };
  for (const { service, handlers } of implementations) {
    const definitions: Record<string, MethodDefinition<Message, Message>> = {};
    const functions: UntypedServiceImplementation = {};
    for (const method of service.methods) {
      const handler = handlers[method.localName] as (request: Message, call: Call) => unknown;
      definitions[method.localName] = methodDefinition(method);
      functions[method.localName] = unaryHandler(
        method,
        handler,
        requirementOf(service, method),
        admission,
        options,
      );
    }
    server.addService(definitions, functions);
  }
  const port = await bind(server, options.host ?? "0.0.0.0", options.port);
  health.setServing(true);
  return {
    port,
    drain: () => {
      health.setServing(false);
      return drain(server);
    },
  };
}

function unaryHandler(
  method: DescMethod,
  handler: (request: Message, call: Call) => unknown,
  requirement: Requirement,
  admission: { inFlight: number; max: number },
  options: ServeOptions,
): handleUnaryCall<Message, Message> {
  const name = `${method.parent.typeName}/${method.name}`;
  return (incoming, respond) => {
    const startedAt = performance.now();
    const finish = (code: Code) =>
      duration.observe({ method: name, code }, (performance.now() - startedAt) / 1000);
    admission.inFlight += 1;
    const work = async (): Promise<Message> => {
      if (admission.inFlight > admission.max) throw exhausted("The service is busy.");
      const call = readCall(incoming, requirement, options.verifyActor);
      const answer = await actingAs(call.actor, () => handler(incoming.request, call));
      return create(method.output, answer as Message);
    };
    const traceparent = header(incoming, "traceparent");
    inSpan(name, { kind: SpanKind.SERVER, traceparent }, work)
      .then(
        (response) => {
          finish(Code.OK);
          respond(null, response);
        },
        (error) => {
          const fault = toFault(error);
          finish(fault.code);
          logFault(options.log, name, header(incoming, "tidings-request-id"), fault);
          respond(faultToTrailers(fault));
        },
      )
      .finally(() => {
        admission.inFlight -= 1;
      });
  };
}

function readCall(
  incoming: ServerUnaryCall<Message, Message>,
  requirement: Requirement,
  verifyActor: ActorVerifier,
): Call {
  const actor = verifyActor(header(incoming, "tidings-actor") ?? "");
  const deadline = Number(incoming.getDeadline());
  const now = Date.now();
  const deadlineMs = Number.isFinite(deadline) ? deadline - HOP_MS : now + DEFAULT_DEADLINE_MS;
  if (deadlineMs - now < HOP_MS / 2) throw deadlineExceeded();
  const requestId = header(incoming, "tidings-request-id") ?? "";
  return permittedCall(requirement, { actor, deadlineMs, requestId });
}

function header(incoming: ServerUnaryCall<Message, Message>, name: string): string | undefined {
  return incoming.metadata.get(name)[0]?.toString();
}

/** A caller's mistake is the caller's business; only what went wrong on our side is logged. */
function logFault(log: Log, method: string, requestId: string | undefined, fault: Fault): void {
  const fields = { method, request_id: requestId, err: fault.cause ?? fault };
  if (fault.reason === "ACTOR_EXPIRED") noteClocks(log, fields);
  if (fault.code === Code.INTERNAL) log.error(fields, "call failed");
  else if (fault.code === Code.UNAVAILABLE || fault.code === Code.DEADLINE_EXCEEDED)
    log.warn(fields, "call failed");
}

const CLOCK_NOTE_EVERY_MS = 60_000;
let clocksNotedAt = Number.NEGATIVE_INFINITY;

/** Every call fails while two clocks differ: said once a minute, counted always. */
function noteClocks(log: Log, fields: object): void {
  clockDisagreements.inc();
  if (performance.now() - clocksNotedAt < CLOCK_NOTE_EVERY_MS) return;
  clocksNotedAt = performance.now();
  log.error(
    fields,
    "calls are refused: the clock of this process and that of its caller differ by a minute or more",
  );
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(
      `${host.includes(":") ? `[${host}]` : host}:${port}`,
      ServerCredentials.createInsecure(),
      (error, bound) => (error ? reject(error) : resolve(bound)),
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
