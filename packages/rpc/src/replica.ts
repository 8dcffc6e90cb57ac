import type { Security } from "./channel.ts";
import { type Line, openLine } from "./line.ts";

/** One replica of a service, with a line to it as long as there are calls. */
export interface Replica {
  /** Open and opening lines by age: a young one, and the old one until the young one is open. */
  readonly lines: readonly Line[];
  /** When `tend` may open the next line, in milliseconds since the epoch. */
  readonly nextAttemptAtMs: number;
  /** Opens a line when there is no young one; does nothing while the last attempt is recent. */
  tend(): void;
  close(): void;
}

/** A call without a line waits for the next attempt: the pause between two attempts is short, however long a replica was away. */
const FIRST_BACKOFF_MS = 50;
const BACKOFF_MAX_MS = 200;

export interface ReplicaOptions {
  /** The credentials of a line that is opened now. */
  security(): Security;
  /** When a line is old. */
  lineAgeMs: number;
  /** Hears that there are other lines than before. */
  onChange(): void;
}

export function replicaAt(address: string, { security, lineAgeMs, onChange }: ReplicaOptions): Replica {
  let lines: Line[] = [];
  /** When the youngest line is old, and when the next may be opened. */
  let oldAtMs = 0;
  let openAtMs = 0;
  let backoffMs = FIRST_BACKOFF_MS;

  const changed = (line: Line) => {
    const others = lines.filter((other) => other !== line);
    if (line.state === "open") {
      openAtMs = 0;
      backoffMs = FIRST_BACKOFF_MS;
      for (const old of others) old.close();
    } else {
      if (lines.at(-1) === line) oldAtMs = 0;
      lines = others;
    }
    onChange();
  };
  return {
    get lines() {
      return lines;
    },
    get nextAttemptAtMs() {
      return openAtMs;
    },
    tend() {
      const now = Date.now();
      if (now < oldAtMs || now < openAtMs) return;
      // All lines would otherwise grow old together.
      oldAtMs = now + lineAgeMs * (0.9 + Math.random() / 5);
      openAtMs = now + backoffMs * Math.random();
      backoffMs = Math.min(BACKOFF_MAX_MS, 2 * backoffMs);
      lines.push(openLine(address, security(), changed));
      onChange();
    },
    close() {
      oldAtMs = Number.POSITIVE_INFINITY;
      for (const line of [...lines]) line.close();
    },
  };
}
