import type { Security } from "../channel.ts";
import { type CallStream, openCallStream } from "./call-stream.ts";

/** One replica of a service, with a stream to it as long as there are calls. */
export interface Replica {
  /** Open and opening streams by age: a young one, and the old one until the young one is open. */
  readonly streams: readonly CallStream[];
  /** When `tend` may open the next stream, by `performance.now()`: a clock that is set back makes nobody wait. */
  readonly nextAttemptAtMs: number;
  /** Opens a stream when there is no young one; does nothing while the last attempt is recent. */
  tend(): void;
  close(): void;
}

/** A call without a stream waits for the next attempt: the pause between two attempts is short, however long a replica was away. */
const FIRST_BACKOFF_MS = 50;
const BACKOFF_MAX_MS = 200;

export interface ReplicaOptions {
  /** The credentials of a stream that is opened now. */
  security(): Security;
  /** When a stream is old. */
  streamAgeMs: number;
  /** Hears that there are other streams than before. */
  onChange(): void;
}

export function replicaAt(address: string, { security, streamAgeMs, onChange }: ReplicaOptions): Replica {
  let streams: CallStream[] = [];
  /** When the youngest stream is old, and when the next may be opened. */
  let oldAtMs = 0;
  let openAtMs = 0;
  let backoffMs = FIRST_BACKOFF_MS;

  const changed = (stream: CallStream) => {
    const others = streams.filter((other) => other !== stream);
    if (stream.state === "open") {
      openAtMs = 0;
      backoffMs = FIRST_BACKOFF_MS;
      for (const old of others) old.close();
    } else {
      if (streams.at(-1) === stream) oldAtMs = 0;
      streams = others;
    }
    onChange();
  };
  return {
    get streams() {
      return streams;
    },
    get nextAttemptAtMs() {
      return openAtMs;
    },
    tend() {
      const now = performance.now();
      if (now < oldAtMs || now < openAtMs) return;
      // All streams would otherwise grow old together.
      oldAtMs = now + streamAgeMs * (0.9 + Math.random() / 5);
      openAtMs = now + backoffMs * Math.random();
      backoffMs = Math.min(BACKOFF_MAX_MS, 2 * backoffMs);
      streams.push(openCallStream(address, security(), changed));
      onChange();
    },
    close() {
      oldAtMs = Number.POSITIVE_INFINITY;
      for (const stream of [...streams]) stream.close();
    },
  };
}
