import { check, sleep } from "k6";

const LOOK_EVERY_SECONDS = 0.05;
const LIMIT_MS = 15_000;

/** Looks again and again. Gives the milliseconds since `startedAt` once it is so; undefined, and a check that failed, if it never was. */
export function until(what: string, startedAt: number, look: () => boolean): number | undefined {
  let isSo = look();
  while (!isSo && Date.now() - startedAt < LIMIT_MS) {
    sleep(LOOK_EVERY_SECONDS);
    isSo = look();
  }
  const tookMs = Date.now() - startedAt;
  return check(isSo, { [what]: Boolean }) ? tookMs : undefined;
}
