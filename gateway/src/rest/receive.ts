import type { IncomingMessage } from "node:http";
import { badRequest, Code, Fault } from "@tidings/rpc/fault";
import { waitingOf } from "../limits/arrivals.ts";

/** A body that came with its request is complete by then. */
const PROMPT_MS = 250;
const CHECK_EVERY_MS = 1_000;
const ARRIVAL_MAX_MS = 15_000;
/** Bytes a second, on average, once a body has had the time to begin. */
const RATE_MIN = 1_024;
const BEGINNING_MS = 3_000;

/** Looks at the bytes of a body while they arrive, and throws a Fault when it has seen enough. */
export interface Inspector {
  take(chunk: Buffer): void;
}

/**
 * The bytes of a body. While they arrive the request counts as no work, but as one of the bodies of its address; one that
 * comes too slowly is given up (408), and so is one too many.
 */
export async function receive(
  request: IncomingMessage,
  bytesMax: number,
  inspector?: Inspector,
): Promise<Buffer> {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined)
    return Buffer.alloc(0);
  if (Number(headers["content-length"] ?? 0) > bytesMax) throw new BodyTooLarge(bytesMax);
  const waiting = waitingOf(request);
  waiting?.pause();
  const bytes = await arrival(request, bytesMax, inspector);
  waiting?.resume();
  return bytes;
}

export class BodyTooLarge extends Fault {
  constructor(bytesMax: number) {
    const message = `The body may have at most ${bytesMax} bytes.`;
    super({ code: Code.INVALID_ARGUMENT, reason: "BODY_TOO_LARGE", message });
  }
}

function arrival(request: IncomingMessage, bytesMax: number, inspector?: Inspector): Promise<Buffer> {
  const waiting = waitingOf(request);
  const beganAt = performance.now();
  const chunks: Buffer[] = [];
  let received = 0;
  let held = 0;
  let isLate = false;
  /** Why the body is refused: the rest of it is read away, so that its sender gets to the answer. */
  let refusal: unknown;
  let timer: NodeJS.Timeout | undefined;
  const arrived = new Promise<Buffer>((resolve, reject) => {
    const attempt = (work: () => void) => {
      try {
        work();
      } catch (error) {
        request.pause();
        reject(error);
      }
    };
    const check = () =>
      attempt(() => {
        if (!isLate) waiting?.arrivals.begin(waiting.address());
        isLate = true;
        checkSpeed(received, performance.now() - beganAt);
        timer = setTimeout(check, CHECK_EVERY_MS);
      });
    timer = setTimeout(check, PROMPT_MS);
    request.on("data", (chunk: Buffer) =>
      attempt(() => {
        received += chunk.length;
        if (received > bytesMax) throw new BodyTooLarge(bytesMax);
        if (refusal) return;
        try {
          inspector?.take(chunk);
        } catch (error) {
          refusal = error;
          chunks.length = 0;
          waiting?.arrivals.release(held);
          held = 0;
          return;
        }
        waiting?.arrivals.hold(chunk.length);
        held += chunk.length;
        chunks.push(chunk);
      }),
    );
    request.on("end", () => {
      if (refusal) reject(refusal);
      else resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    for (const event of ["error", "aborted"])
      request.on(event, () => reject(badRequest("The body ended early.")));
  });
  return arrived.finally(() => {
    clearTimeout(timer);
    request.removeAllListeners("data");
    waiting?.arrivals.release(held);
    if (isLate) waiting?.arrivals.end(waiting.address());
  });
}

const DISCARDED_BYTES_MAX = 8 * 1024 * 1024;
const DISCARDING_MS = 1_000;

/**
 * Reads a body away that nobody wants, for a moment: a connection that is closed on a sender in the middle of its body is reset,
 * and the sender does not get to the answer.
 */
export async function discard(request: IncomingMessage): Promise<void> {
  const { headers } = request;
  const isSent = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  if (!isSent || request.complete || headers.expect !== undefined) return;
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARDED_BYTES_MAX) end();
  };
  waitingOf(request)?.pause();
  const timer = setTimeout(end, DISCARDING_MS);
  request.on("data", count).once("end", end).once("close", end);
  await isOver;
  clearTimeout(timer);
  request.off("data", count).pause();
}

function checkSpeed(bytes: number, elapsedMs: number): void {
  const expected = (RATE_MIN * (elapsedMs - BEGINNING_MS)) / 1_000;
  if (elapsedMs < ARRIVAL_MAX_MS && bytes >= expected) return;
  throw tooSlow();
}

export function tooSlow(): Fault {
  const message = "The body took too long to arrive.";
  return new Fault({ code: Code.DEADLINE_EXCEEDED, reason: "BODY_TOO_SLOW", message });
}
