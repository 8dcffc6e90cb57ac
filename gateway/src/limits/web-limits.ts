import type { RateLimiterAbstract } from "rate-limiter-flexible";
import type { ClientIp } from "../client-ip.ts";
import { type Redis, rateLimiter } from "./rate-limit.ts";
import { type Shares, sharesByAddress } from "./shares.ts";
import { loadShedding, type Shedding } from "./shedding.ts";

/** Limits of the public web. The API has a budget of its own: neither can use up the other's. */
export interface WebLimits {
  clientIp: ClientIp;
  /** Requests by address. */
  rate: RateLimiterAbstract | undefined;
  /** Requests whose answer is not over, those of slow readers too. */
  open: Shares;
  /** Requests that the content service has not begun to answer. */
  shedding: Shedding;
}

/** Each of them has a connection to the content service. */
export const OPEN_MAX = 1_000;
const OPEN_OF_AN_ADDRESS_MAX = 100;
/** A page asks for its pictures all at once: the limit of a second may be used up within it. */
const WINDOW_SECONDS = 2;

export interface WebLimitOptions extends Pick<WebLimits, "clientIp"> {
  /** Requests a second and address; 0 is no limit. */
  ratePerSecond: number;
  inFlightMax: number;
  redis: Redis | undefined;
}

export function webLimits({ clientIp, ratePerSecond, inFlightMax, redis }: WebLimitOptions): WebLimits {
  const shares = { perAddress: OPEN_OF_AN_ADDRESS_MAX, inAll: OPEN_MAX };
  const rate = {
    name: "public",
    points: ratePerSecond * WINDOW_SECONDS,
    windowSeconds: WINDOW_SECONDS,
    redis,
  };
  return {
    clientIp,
    rate: ratePerSecond > 0 ? rateLimiter(rate) : undefined,
    open: sharesByAddress(shares, "Too many of your requests are still being answered."),
    shedding: loadShedding(inFlightMax),
  };
}
