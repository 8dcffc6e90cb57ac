import { exhausted } from "@tidings/rpc/fault";
import { type ShareLimits, sharesByAddress } from "@tidings/runtime/shares";
import { rateLimited } from "./rate-limit.ts";

/** Counts what callers have in flight, by address and in all. */
export interface Shares {
  /** Throws RATE_LIMITED with `message` when the address has its share, EXHAUSTED when all shares are taken. */
  begin(address: string): void;
  end(address: string): void;
}

export function sharesOfCallers(limits: ShareLimits, message: string): Shares {
  const shares = sharesByAddress(limits);
  return {
    begin(address) {
      const reached = shares.take(address);
      if (reached === "perAddress") throw rateLimited(1_000, message);
      if (reached === "inAll") throw exhausted("The service is busy.");
    },
    end: shares.giveBack,
  };
}
