interface Places {
  inAll: number;
  perAddress: number;
}

/** Places for requests that are worked on, in all and for each address: senders that are slow on purpose take no place of the others. */
export function limitedPlaces({ inAll, perAddress }: Places) {
  const taken = new Map<string, number>();
  let count = 0;
  return {
    /** False where there is none left. */
    take(address: string): boolean {
      const own = taken.get(address) ?? 0;
      if (count >= inAll || own >= perAddress) return false;
      taken.set(address, own + 1);
      count += 1;
      return true;
    },
    leave(address: string): void {
      const own = taken.get(address) ?? 0;
      if (own > 1) taken.set(address, own - 1);
      else taken.delete(address);
      count -= 1;
    },
  };
}
