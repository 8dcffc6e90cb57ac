import { create } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import {
  type Answer,
  type Call,
  CallSchema,
  type CarryCallsRequest,
  CarryCallsRequestSchema,
  type CarryCallsResponse,
  LineService,
} from "@tidings/proto/tidings/api/v1/line";
import { channelOptions, type Security } from "../channel.ts";
import { methodDefinition } from "../definition.ts";
import type { Expected } from "../expected.ts";
import { answerTooLong, deadlineExceeded, exhausted, type Fault, unavailable, unreached } from "../fault.ts";
import { statusToFault } from "../fault-status.ts";
import type { IdempotencyKey } from "../idempotency.ts";
import { inlet, MESSAGE_BYTES_MAX, outlet } from "./parts.ts";

/** A call as it goes out. */
export interface OutgoingCall {
  /** `tidings.contact.v1.TagService/GetTag` */
  method: string;
  actor: string;
  requestId: string;
  traceparent: string;
  message: Uint8Array;
  /** Milliseconds since the epoch. */
  deadlineMs: number;
  idempotencyKey?: IdempotencyKey | undefined;
  expected?: Expected | undefined;
}

/**
 * A connection to one replica with one stream that carries all calls to it. It is `opening` until the replica says that
 * it stands, and `closed` once it takes no more calls: because it was asked to, by us or by the replica, which leaves nothing
 * unanswered, or because it broke.
 */
export interface CallStream {
  readonly address: string;
  readonly state: "opening" | "open" | "closed";
  /** Calls that wait for their answer. */
  readonly waiting: number;
  call(call: OutgoingCall): Promise<CallAnswer>;
  close(): void;
}

/** An answer as it comes in; its message is still encoded. */
export type CallAnswer = Pick<Answer, "message" | "version" | "next" | "replayed">;

type OnChange = (callStream: CallStream) => void;

interface Waiting {
  resolve(answer: Answer): void;
  reject(fault: Fault): void;
  timer: NodeJS.Timeout;
}

const { path, requestSerialize, responseDeserialize } = methodDefinition(LineService.method.carryCalls);

/** Opens a stream to `address` (`host:port`, no name that stands for several). `onChange` hears of each new state. */
export function openCallStream(address: string, security: Security, onChange: OnChange): CallStream {
  const { client, stream } = dial(address, security);
  const calls = heldCalls(stream);
  const waiting = waitingCalls();
  let state: CallStream["state"] = "opening";
  let isBroken = false;
  let lastId = 0;
  const turn = (next: CallStream["state"]) => {
    state = next;
    onChange(callStream);
  };
  const giveUp = (id: number) => {
    waiting.giveUp(id);
    if (state !== "closed") calls.send(create(CallSchema, { id, givenUp: true }));
    // The stream would wait for an answer that nobody waits for.
    else if (waiting.size === 0) stream.cancel();
  };
  const broken = (error?: ServiceError) => {
    if (isBroken) return;
    isBroken = true;
    waiting.failAll(calls.stands ? unavailable(error) : unreached(error));
    client.close();
    if (state !== "closed") turn("closed");
  };

  const callStream: CallStream = {
    address,
    get state() {
      return state;
    },
    get waiting() {
      return waiting.size;
    },
    call(call) {
      return new Promise((resolve, reject) => {
        const timeoutMs = call.deadlineMs - Date.now();
        const fault = refusalOf(call, timeoutMs);
        if (fault) return reject(fault);
        const id = ++lastId;
        waiting.add(id, { resolve, reject, timer: setTimeout(giveUp, timeoutMs, id) });
        calls.send(messageOf(call, id, timeoutMs));
      });
    },
    close() {
      if (state === "closed") return;
      turn("closed");
      calls.end();
    },
  };
  stream.on("metadata", () => {
    if (state === "opening") turn("open");
    calls.stand();
  });
  stream.on("data", ({ answers }: CarryCallsResponse) => {
    for (const answer of answers) answer.closing ? callStream.close() : waiting.take(answer);
  });
  stream.on("error", broken);
  stream.on("end", () => broken());
  return callStream;
}

function refusalOf({ message }: OutgoingCall, timeoutMs: number): Fault | undefined {
  if (timeoutMs <= 0) return deadlineExceeded();
  return message.length > MESSAGE_BYTES_MAX ? exhausted("The request is too long.") : undefined;
}

function messageOf(
  { deadlineMs: _asTimeout, idempotencyKey, expected, ...rest }: OutgoingCall,
  id: number,
  timeoutMs: number,
): Call {
  const parts = { ...(idempotencyKey && { idempotencyKey }), ...(expected && { expected }) };
  return create(CallSchema, { ...rest, ...parts, id, timeoutMs: Math.ceil(timeoutMs) });
}

function dial(address: string, security: Security) {
  // A connection of its own: behind one address of a balancer a new stream may find another replica.
  const options = { ...channelOptions, ...security.options, "grpc.use_local_subchannel_pool": 1 };
  const client = new Client(address, security.credentials, options);
  const stream = client.makeBidiStreamRequest<CarryCallsRequest, CarryCallsResponse>(
    path,
    requestSerialize,
    (bytes) => responseDeserialize(bytes) as CarryCallsResponse,
  );
  return { client, stream };
}

/** The calls of a stream. Those from before it stands are held back: they were certainly not handled if the stream fails. */
function heldCalls(stream: ClientDuplexStream<CarryCallsRequest, CarryCallsResponse>) {
  let stands = false;
  let first: () => void = () => undefined;
  const { send, end } = outlet<Call>(
    {
      write: (calls, done) => {
        const send = () => stream.write(create(CarryCallsRequestSchema, { calls }), done);
        if (stands) send();
        else first = send;
      },
      end: () => stream.end(),
    },
    (id, message, more) => create(CallSchema, { id, message, more }),
  );
  return {
    get stands() {
      return stands;
    },
    stand() {
      stands = true;
      first();
    },
    send,
    end,
  };
}

/** The calls that wait for their answers, which come in parts. */
function waitingCalls() {
  const waiting = new Map<number, Waiting>();
  const answers = inlet<Answer>();
  /** Takes a call off the stream; undefined when it had its answer. */
  const settled = (id: number): Waiting | undefined => {
    const call = waiting.get(id);
    if (call) clearTimeout(call.timer);
    waiting.delete(id);
    return call;
  };
  return {
    get size() {
      return waiting.size;
    },
    add: (id: number, call: Waiting) => void waiting.set(id, call),
    take(part: Answer) {
      const { id } = part;
      // Given up: nobody waits for what is left of it.
      if (!waiting.has(id)) return;
      try {
        const answer = answers.take(part);
        if (answer?.error) settled(id)?.reject(statusToFault(answer.error));
        else if (answer) settled(id)?.resolve(answer);
      } catch {
        settled(id)?.reject(answerTooLong());
      }
    },
    giveUp(id: number) {
      settled(id)?.reject(deadlineExceeded());
      answers.forget(id);
    },
    failAll(fault: Fault) {
      for (const id of [...waiting.keys()]) settled(id)?.reject(fault);
    },
  };
}
