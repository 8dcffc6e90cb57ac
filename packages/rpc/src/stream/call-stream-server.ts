import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import {
  type handleBidiStreamingCall,
  Metadata,
  type MethodDefinition,
  type ServerDuplexStream,
} from "@grpc/grpc-js";
import {
  type Answer,
  AnswerSchema,
  type Call,
  type CarryCallsRequest,
  type CarryCallsResponse,
  CarryCallsResponseSchema,
  LineService,
} from "@tidings/proto/tidings/api/v1/line";
import type { Answering } from "../answer.ts";
import { methodDefinition } from "../definition.ts";
import { answerTooLong, Code, exhausted, Fault, toFault } from "../fault.ts";
import { faultToStatus } from "../fault-status.ts";
import type { CallAnswer } from "./call-stream.ts";
import { inlet, MESSAGE_BYTES_MAX, outlet } from "./parts.ts";

/** The handler of a method, and the codecs of its messages. */
export interface Served {
  definition: MethodDefinition<Message, Message>;
  answering: Answering;
}

type Stream = ServerDuplexStream<CarryCallsRequest, CarryCallsResponse>;

export interface CallStreamServer {
  definition: Record<"carryCalls", MethodDefinition<Message, Message>>;
  implementation: { carryCalls: handleBidiStreamingCall<CarryCallsRequest, CarryCallsResponse> };
  /** Asks the callers for no more calls: each stream ends when its calls are answered. */
  close(): void;
}

/** Answers the calls that come on streams; `served` has the methods by their names, `tidings.contact.v1.TagService/GetTag`. */
export function callStreamServer(served: ReadonlyMap<string, Served>): CallStreamServer {
  const open = new Set<{ close(): void }>();
  let isClosing = false;
  const carryCalls = (stream: Stream) => {
    const callStream = serveStream(stream, served);
    open.add(callStream);
    stream.on("close", () => open.delete(callStream));
    if (isClosing) callStream.close();
  };
  const definition = {
    ...methodDefinition(LineService.method.carryCalls),
    requestStream: true,
    responseStream: true,
  };
  return {
    definition: { carryCalls: definition },
    implementation: { carryCalls },
    close() {
      isClosing = true;
      for (const callStream of open) callStream.close();
    },
  };
}

function serveStream(stream: Stream, served: ReadonlyMap<string, Served>) {
  const waiting = new Set<number>();
  const calls = inlet<Call>();
  let isAsking = true;
  const answers = outlet<Answer>(
    {
      write: (answers, done) => stream.write(create(CarryCallsResponseSchema, { answers }), done),
      end: () => stream.end(),
    },
    (id, message, more) => create(AnswerSchema, { id, message, more }),
  );
  const settle = (answer: Answer) => {
    // A caller that gave up, or is gone, gets no answer.
    if (!waiting.delete(answer.id)) return;
    answers.send(answer);
    endWhenDone();
  };
  const endWhenDone = () => {
    if (!isAsking && waiting.size === 0) answers.end();
  };
  const take = (part: Call) => {
    const { id } = part;
    if (part.givenUp) {
      calls.forget(id);
      waiting.delete(id);
      return;
    }
    waiting.add(id);
    const answered = (answer: CallAnswer) => settle(create(AnswerSchema, { id, ...answer }));
    const failed = (error: unknown) =>
      settle(create(AnswerSchema, { id, error: faultToStatus(toFault(error)) }));
    try {
      const call = calls.take(part);
      if (call) answer(call, served).then(answered, failed);
    } catch {
      failed(exhausted("The request is too long."));
    }
  };
  // The caller learns that the stream stands.
  stream.sendMetadata(new Metadata());
  stream.on("data", ({ calls }: CarryCallsRequest) => {
    for (const call of calls) take(call);
  });
  stream.on("end", () => {
    isAsking = false;
    endWhenDone();
  });
  stream.on("error", () => waiting.clear());
  stream.on("cancelled", () => waiting.clear());
  return { close: () => answers.send(create(AnswerSchema, { closing: true })) };
}

async function answer(call: Call, served: ReadonlyMap<string, Served>): Promise<CallAnswer> {
  const found = served.get(call.method);
  if (!found) throw unimplemented(call.method);
  const { definition, answering } = found;
  const answer = await answering({
    request: () => definition.requestDeserialize(call.message as Buffer),
    actor: call.actor,
    requestId: call.requestId,
    traceparent: call.traceparent || undefined,
    deadlineMs: Date.now() + call.timeoutMs,
    idempotencyKey: call.idempotencyKey,
    expected: call.expected,
  });
  const message = answer.bytes ?? definition.responseSerialize(answer.message);
  if (message.length > MESSAGE_BYTES_MAX) throw answerTooLong();
  const { isReplayed: replayed, version, next } = answer;
  return { message, replayed, version, next };
}

function unimplemented(method: string): Fault {
  const message = `There is no method ${method}.`;
  return new Fault({ code: Code.UNIMPLEMENTED, reason: "UNIMPLEMENTED", message });
}
