import { readFileSync } from "node:fs";

/**
 * Loaded by a process before its program (`--import`): its clock is off by the milliseconds in the file CLOCK_SHIFT_FILE, also when that
 * changes. Timers and the monotonic clock are as they were, as when an operator sets a clock.
 */

const LOOK_MS = 2;
const file = process.env.CLOCK_SHIFT_FILE ?? "";
const OwnDate = Date;
let shiftMs = 0;
let readAt = Number.NEGATIVE_INFINITY;

function now(): number {
  if (performance.now() - readAt > LOOK_MS) {
    readAt = performance.now();
    shiftMs = Number(readFileSync(file, "utf8")) || 0;
  }
  return OwnDate.now() + shiftMs;
}

globalThis.Date = class extends OwnDate {
  constructor(...parts: unknown[]) {
    super(...((parts.length === 0 ? [now()] : parts) as [number]));
  }

  static override now = now;
} as DateConstructor;
