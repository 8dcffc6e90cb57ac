import { profile } from "./profiles.ts";

/** A run is looked at in this many parts of the same length: what gets slower with time shows. */
export const WINDOWS = 10;

/** The part of the run that it is now, of a scenario that began with it. */
export function windowOf({ startTime }: { startTime: number }): string {
  const share = (Date.now() - startTime) / (profile.seconds * 1_000);
  return String(Math.min(WINDOWS - 1, Math.floor(share * WINDOWS)));
}
