import type { IncomingMessage } from "node:http";
import type { Fault } from "@tidings/rpc/fault";
import { takesLong } from "@tidings/runtime/http-server";
import { waitingOf } from "../limits/arrivals.ts";
import { tooSlow } from "./receive.ts";

const CHECK_EVERY_MS = 1_000;
/** Bytes a second, on average, once an upload has had the time to begin: what the slowest lines carry. */
const RATE_MIN = 4_096;
const BEGINNING_MS = 10_000;

/**
 * A body that is passed on while it arrives. Meanwhile it counts as one of the bodies of its address and as no work; it may
 * take as long as it comes at a fair rate. `giveUp` is called when it does not.
 */
export function watchUpload(request: IncomingMessage, giveUp: (fault: Fault) => void): { end(): void } {
  takesLong(request);
  const waiting = waitingOf(request);
  waiting?.arrivals.begin(waiting.address());
  waiting?.pause();
  const beganAt = performance.now();
  let bytes = 0;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
  };
  request.on("data", count);
  const timer = setInterval(() => {
    const expected = (RATE_MIN * (performance.now() - beganAt - BEGINNING_MS)) / 1_000;
    if (!request.complete && bytes < expected) giveUp(tooSlow());
  }, CHECK_EVERY_MS);
  return {
    end() {
      clearInterval(timer);
      request.off("data", count);
      waiting?.arrivals.end(waiting.address());
    },
  };
}
