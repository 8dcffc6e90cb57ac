import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { SpanKind } from "@opentelemetry/api";
import type { Log } from "@tidings/runtime/log";
import { inSpan } from "@tidings/runtime/telemetry";
import { Counter, Histogram } from "prom-client";
import type { ActorVerifier } from "./actor.ts";
import type { Call } from "./call.ts";
import { actingAs } from "./current-actor.ts";
import { methodName } from "./definition.ts";
import type { Expected } from "./expected.ts";
import { Code, deadlineExceeded, exhausted, type Fault, toFault } from "./fault.ts";
import {
  type Answered,
  type AnswerOnce,
  answered,
  type IdempotencyKey,
  repeatNameOf,
  type Shown,
} from "./idempotency.ts";
import { permittedCall, type Requirement } from "./permission.ts";

/** A call as it comes in, on a line or alone. */
export interface Incoming {
  /** Reads the request; may throw. */
  request(): Message;
  /** The signed actor; empty when none was sent. */
  actor: string;
  requestId: string;
  traceparent: string | undefined;
  /** When the caller gives up, in milliseconds since the epoch; not finite when it does not say. */
  deadlineMs: number;
  idempotencyKey?: IdempotencyKey | undefined;
  expected?: Expected | undefined;
}

/** Answers a call. Whatever goes wrong is thrown as a Fault, counted and, where it is ours, logged. */
export type Answering = (incoming: Incoming) => Promise<Answered>;

export type Handler = (request: Message, call: Call) => unknown;

export interface AnsweringOptions {
  log: Log;
  verifyActor: ActorVerifier;
  /** All calls being worked on, whatever their method. Those above `max` are refused at once instead of queued. */
  admission: { inFlight: number; max: number };
  answerOnce: AnswerOnce | undefined;
}

/** A hop keeps this much of the deadline for the way back. */
const HOP_MS = 50;
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

/** The steps of every call: admission, identity, deadline, permission, then the handler. */
export function answering(
  method: DescMethod,
  handler: Handler,
  requirement: Requirement,
  { log, verifyActor, admission, answerOnce }: AnsweringOptions,
): Answering {
  const name = methodName(method);
  const attributes = { "rpc.system.name": "grpc", "rpc.method": name };
  return (incoming) => {
    const { traceparent, requestId } = incoming;
    const work = async (): Promise<Answered> => {
      if (admission.inFlight > admission.max) throw exhausted("The service is busy.");
      const call = readCall(incoming, requirement, verifyActor);
      const { deadlineMs } = call;
      return answered(method, { key: incoming.idempotencyKey, answerOnce, deadlineMs }, () =>
        shown(method, handler, { call, request: incoming.request() }),
      );
    };
    return inSpan(name, { kind: SpanKind.SERVER, traceparent, attributes, isFailure }, async (span) => {
      const startedAt = performance.now();
      const finish = (code: Code) => {
        duration.observe({ method: name, code: Code[code] }, (performance.now() - startedAt) / 1000);
        span.setAttribute("rpc.response.status_code", Code[code]);
      };
      admission.inFlight += 1;
      try {
        const answer = await work();
        finish(Code.OK);
        return answer;
      } catch (error) {
        const fault = toFault(error);
        finish(fault.code);
        logFault(log, name, requestId, fault);
        throw fault;
      } finally {
        admission.inFlight -= 1;
      }
    });
  };
}

/** Codes that are the fault of the one who answers ("Semantic conventions for gRPC"). */
const FAILURES = new Set([
  Code.UNKNOWN,
  Code.DEADLINE_EXCEEDED,
  Code.UNIMPLEMENTED,
  Code.INTERNAL,
  Code.UNAVAILABLE,
  Code.DATA_LOSS,
]);

function isFailure(error: unknown): boolean {
  return FAILURES.has(toFault(error).code);
}

/** The answer of a handler to a call, together with what the handler says of it. */
export async function shown(
  { output }: DescMethod,
  handler: Handler,
  { call, request }: { call: Call; request: Message },
): Promise<Shown> {
  let version = 0;
  let next = "";
  const heard: Call = {
    ...call,
    showsVersion(shown) {
      version = shown;
    },
    showsNext(position) {
      next = position;
    },
  };
  const answer = await actingAs(call.actor, () => handler(request, heard));
  return { message: create(output, answer as Message), version, next };
}

function readCall(incoming: Incoming, requirement: Requirement, verifyActor: ActorVerifier): Call {
  const actor = verifyActor(incoming.actor);
  const now = Date.now();
  const { requestId, expected, deadlineMs: givenUpMs } = incoming;
  const deadlineMs = Number.isFinite(givenUpMs) ? givenUpMs - HOP_MS : now + DEFAULT_DEADLINE_MS;
  if (deadlineMs - now < HOP_MS / 2) throw deadlineExceeded();
  const repeatName = repeatNameOf(incoming.idempotencyKey);
  return permittedCall(requirement, { actor, deadlineMs, requestId, expected, repeatName });
}

/** A caller's mistake is the caller's business; only what went wrong on our side is logged. */
function logFault(log: Log, method: string, requestId: string, fault: Fault): void {
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
