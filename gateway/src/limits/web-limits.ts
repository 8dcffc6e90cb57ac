import type { PublicKind } from "@tidings/rpc/public-paths";
import { Counter } from "prom-client";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import type { ClientIp } from "../client-ip.ts";
import { type Redis, rateLimiter } from "./rate-limit.ts";
import type { Rate } from "./rate-setting.ts";
import { type Shares, sharesOfCallers } from "./shares.ts";
import { loadShedding, type Shedding } from "./shedding.ts";

/** Limits of the public web. The API has a budget of its own: neither can use up the other's. */
export interface WebLimits {
  clientIp: ClientIp;
  /** Requests of all kinds by address. */
  rate: RateLimiterAbstract | undefined;
  /** Requests of one kind by address; of forms, by form and address. */
  byKind: ReadonlyMap<PublicKind, RateLimiterAbstract>;
  /** Submissions of one form from everywhere. */
  ofForm: RateLimiterAbstract | undefined;
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

/** Refusals of the public web, by reason: a limit of its kind, or `busy`. */
export const publicRefusals = new Counter({
  name: "tidings_public_refusals_total",
  help: "Requests to the public web that were refused, by the kind of path and the reason: rate, open, busy",
  labelNames: ["kind", "reason"],
});

/** Rates by kind; undefined is no limit. */
export interface PublicRates extends Partial<Record<Exclude<PublicKind, "page">, Rate | undefined>> {
  /** Submissions of one form from everywhere. */
  ofForm?: Rate | undefined;
}

export interface WebLimitOptions extends Pick<WebLimits, "clientIp"> {
  /** Requests a second and address; 0 is no limit. */
  ratePerSecond: number;
  rates?: PublicRates;
  inFlightMax: number;
  redis: Redis | undefined;
}

export function webLimits({
  clientIp,
  ratePerSecond,
  rates = {},
  inFlightMax,
  redis,
}: WebLimitOptions): WebLimits {
  const shares = { perAddress: OPEN_OF_AN_ADDRESS_MAX, inAll: OPEN_MAX };
  const limiterOf = (name: string, rate: Rate | undefined) => rate && rateLimiter({ name, ...rate, redis });
  const kinds = ["tracking", "form", "download", "preview"] as const;
  const byKind = kinds.flatMap((kind) => {
    const limiter = limiterOf(`public-${kind}`, rates[kind]);
    return limiter ? [[kind, limiter] as const] : [];
  });
  const all =
    ratePerSecond > 0 ? { points: ratePerSecond * WINDOW_SECONDS, windowSeconds: WINDOW_SECONDS } : undefined;
  return {
    clientIp,
    rate: limiterOf("public", all),
    byKind: new Map(byKind),
    ofForm: limiterOf("public-form-all", rates.ofForm),
    open: sharesOfCallers(shares, "Too many of your requests are still being answered."),
    shedding: loadShedding(inFlightMax),
  };
}
