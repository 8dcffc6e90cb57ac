/** The time of a server, as a process knows it whose own clock may be wrong, or be set. */
export interface Clock {
  /** Milliseconds since the epoch. The time of this machine until the server was asked. */
  now(): number;
  /** Notes an answer of the server: its time in milliseconds, and when it was asked, by `performance.now()`. */
  note(serverMs: number, askedAtMs: number): void;
}

/** Clocks that drift apart by more were set. */
const JUMP_MS = 1_000;

/**
 * A clock that is set by the answers of a server, each taken as from the middle of its round trip (Cristian, "Probabilistic clock
 * synchronization", 1989), and goes on by the monotonic clock in between. An answer that says nothing new changes nothing, so that time
 * does not jitter. `ask` is called when this machine's clock was set, or stood still, since the last answer.
 */
export function serverClock(ask: () => Promise<unknown>): Clock {
  let offsetMs = Date.now() - performance.now();
  let skewMs = 0;
  let isAsking = false;
  const now = () => Math.round(offsetMs + performance.now());

  const askAgain = () => {
    isAsking = true;
    const end = () => {
      isAsking = false;
    };
    void ask().then(end, end);
  };
  return {
    now() {
      const time = now();
      if (Math.abs(Date.now() - time - skewMs) > JUMP_MS && !isAsking) askAgain();
      return time;
    },
    note(serverMs, askedAtMs) {
      const halfMs = (performance.now() - askedAtMs) / 2;
      const offset = serverMs - (askedAtMs + halfMs);
      if (Math.abs(offset - offsetMs) > halfMs) offsetMs = offset;
      skewMs = Date.now() - now();
    },
  };
}
