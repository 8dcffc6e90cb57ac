export interface ShareLimits {
  perAddress: number;
  inAll: number;
}

/** Counts what is in flight, by address and in all: senders that are slow on purpose take no share of the others. */
export interface Shares {
  /** Takes a share. Answers which limit is reached where there is none left: then none was taken. */
  take(address: string): keyof ShareLimits | undefined;
  giveBack(address: string): void;
}

export function sharesByAddress({ perAddress, inAll }: ShareLimits): Shares {
  const byAddress = new Map<string, number>();
  let taken = 0;
  return {
    take(address) {
      const ofAddress = byAddress.get(address) ?? 0;
      if (ofAddress >= perAddress) return "perAddress";
      if (taken >= inAll) return "inAll";
      byAddress.set(address, ofAddress + 1);
      taken += 1;
      return undefined;
    },
    giveBack(address) {
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left > 0) byAddress.set(address, left);
      else byAddress.delete(address);
      taken -= 1;
    },
  };
}
