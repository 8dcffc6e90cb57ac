import { z } from "zod";

/** So many at once, and so many seconds until that many are free again. */
export interface Rate {
  points: number;
  windowSeconds: number;
}

const RATE = /^(\d{1,7})\/(s|min)(?: burst (\d{1,7}))?$/;
const UNIT_SECONDS = new Map([
  ["s", 1],
  ["min", 60],
]);

/** A variable with a rate: `30/s burst 60`, `10/min`; `0` is no limit. Without a burst, the count of one unit may come at once. */
export const rateSetting = z
  .string()
  .refine((text) => text === "0" || RATE.test(text), "must be like 30/s, 10/min burst 20, or 0")
  .transform(readRate);

function readRate(text: string): Rate | undefined {
  const [, count = "0", unit = "s", burst] = RATE.exec(text) ?? [];
  if (Number(count) === 0) return undefined;
  const points = Math.max(1, Number(burst ?? count));
  return {
    points,
    windowSeconds: Math.max(1, Math.round((points / Number(count)) * (UNIT_SECONDS.get(unit) ?? 1))),
  };
}
