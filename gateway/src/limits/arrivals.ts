import type { IncomingMessage } from "node:http";
import { exhausted } from "@tidings/rpc/fault";
import { rateLimited } from "./rate-limit.ts";

/** Counts the bodies that are on their way. One that came with its request is none of them. */
export interface Arrivals {
  /** Counts a body in. Throws RATE_LIMITED when its address, EXHAUSTED when everybody together has too many. */
  begin(address: string): void;
  end(address: string): void;
  /** Bytes that were received and belong to no complete body yet. Throws EXHAUSTED when they are too many. */
  hold(bytes: number): void;
  release(bytes: number): void;
}

export interface ArrivalLimits {
  perAddress: number;
  inAll: number;
  bytesMax: number;
}

export const ARRIVAL_LIMITS: ArrivalLimits = { perAddress: 200, inAll: 2_000, bytesMax: 256 * 1024 * 1024 };

export function bodyArrivals({ perAddress, inAll, bytesMax }: ArrivalLimits = ARRIVAL_LIMITS): Arrivals {
  const byAddress = new Map<string, number>();
  let bodies = 0;
  let bytesHeld = 0;
  return {
    begin(address) {
      const ofAddress = byAddress.get(address) ?? 0;
      if (ofAddress >= perAddress) throw rateLimited(1_000, "Too many of your requests are still arriving.");
      if (bodies >= inAll) throw exhausted("The service is busy.");
      byAddress.set(address, ofAddress + 1);
      bodies += 1;
    },
    end(address) {
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left > 0) byAddress.set(address, left);
      else byAddress.delete(address);
      bodies -= 1;
    },
    hold(bytes) {
      if (bytesHeld + bytes > bytesMax) throw exhausted("The service is busy.");
      bytesHeld += bytes;
    },
    release(bytes) {
      bytesHeld -= bytes;
    },
  };
}

/** What happens to a request while its body is on its way. */
export interface Waiting {
  arrivals: Arrivals;
  address: string;
  /** It is no work meanwhile. */
  pause(): void;
  /** It is work again. Throws EXHAUSTED when there is too much of it. */
  resume(): void;
}

const waits = new WeakMap<IncomingMessage, Waiting>();

/** Bodies are read in many places, and each of them waits in the same way: the request itself knows how. */
export function waitAs(request: IncomingMessage, waiting: Waiting): void {
  waits.set(request, waiting);
}

export function waitingOf(request: IncomingMessage): Waiting | undefined {
  return waits.get(request);
}
