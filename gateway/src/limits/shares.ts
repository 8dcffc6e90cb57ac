import { exhausted } from "@tidings/rpc/fault";
import { rateLimited } from "./rate-limit.ts";

export interface ShareLimits {
  perAddress: number;
  inAll: number;
}

/** Counts what is in flight, by address and in all. */
export interface Shares {
  /** Throws RATE_LIMITED with `message` when the address has its share, EXHAUSTED when all shares are taken. */
  begin(address: string): void;
  end(address: string): void;
}

export function sharesByAddress({ perAddress, inAll }: ShareLimits, message: string): Shares {
  const byAddress = new Map<string, number>();
  let taken = 0;
  return {
    begin(address) {
      const ofAddress = byAddress.get(address) ?? 0;
      if (ofAddress >= perAddress) throw rateLimited(1_000, message);
      if (taken >= inAll) throw exhausted("The service is busy.");
      byAddress.set(address, ofAddress + 1);
      taken += 1;
    },
    end(address) {
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left > 0) byAddress.set(address, left);
      else byAddress.delete(address);
      taken -= 1;
    },
  };
}
