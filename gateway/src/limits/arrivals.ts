import type { IncomingMessage } from "node:http";
import { exhausted } from "@tidings/rpc/fault";
import type { ShareLimits } from "@tidings/runtime/shares";
import { type Shares, sharesOfCallers } from "./shares.ts";

/** Counts the bodies that are on their way. One that came with its request is none of them. */
export interface Arrivals extends Shares {
  /** Bytes that were received and belong to no complete body yet. Throws EXHAUSTED when they are too many. */
  hold(bytes: number): void;
  release(bytes: number): void;
}

export interface ArrivalLimits extends ShareLimits {
  bytesMax: number;
}

export const ARRIVAL_LIMITS: ArrivalLimits = { perAddress: 200, inAll: 2_000, bytesMax: 256 * 1024 * 1024 };

export function bodyArrivals({ bytesMax, ...limits }: ArrivalLimits = ARRIVAL_LIMITS): Arrivals {
  let bytesHeld = 0;
  return {
    ...sharesOfCallers(limits, "Too many of your requests are still arriving."),
    hold(bytes) {
      if (bytesHeld + bytes > bytesMax) throw exhausted("The service is busy.");
      bytesHeld += bytes;
    },
    release(bytes) {
      bytesHeld -= bytes;
    },
  };
}

/** Callbacks for a request while its body arrives. */
export interface Waiting {
  arrivals: Arrivals;
  address(): string;
  /** It is no work meanwhile. */
  pause(): void;
  /** It is work again. Throws EXHAUSTED when there is too much of it. */
  resume(): void;
}

/** A member of the request, and no WeakMap beside it: that would keep each request until the old generation is collected (ADR 37). */
const WAITING = Symbol("waiting");

type Arriving = IncomingMessage & { [WAITING]?: Waiting };

/** Bodies are read in many places, and each of them waits in the same way: the request itself knows how. */
export function waitAs(request: Arriving, waiting: Waiting): void {
  request[WAITING] = waiting;
}

export function waitingOf(request: Arriving): Waiting | undefined {
  return request[WAITING];
}
