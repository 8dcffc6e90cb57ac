import { startBenchProcess } from "../start-bench-process.ts";
import type { SinkReport, SinkRequest } from "./lean-sink.ts";

/** A mail server in a process of its own. Times are in milliseconds since 1970. */
export interface Sink {
  port: number;
  /** Resolves once so many mails were taken, counted from now on. */
  taken(count: number): Promise<Taken>;
  /** Calls with each mail to one of the addresses, and with none to others. */
  watch(addresses: string[], onTaken: (address: string, takenAt: number) => void): void;
  /** Answers no sender until `release`. */
  hold(): void;
  release(): void;
  stop(): Promise<void>;
}

export interface Taken {
  /** The time of the last of them. */
  at: number;
  /** Octets that came with them, envelopes included. */
  octets: number;
}

export async function startSink(): Promise<Sink> {
  const { child, started, stop } = await startBenchProcess<{ port: number }>("sending/lean-sink.ts", {});
  const ask = (request: SinkRequest) => void child.send(request);
  let counted: ((taken: Taken) => void) | undefined;
  let watching: (address: string, takenAt: number) => void = () => undefined;
  child.on("message", (report: SinkReport) => {
    if ("countedAt" in report) counted?.({ at: report.countedAt, octets: report.octets });
    else watching(report.address, report.takenAt);
  });
  return {
    port: started.port,
    taken(count) {
      const { promise, resolve } = Promise.withResolvers<Taken>();
      counted = resolve;
      ask({ count });
      return promise;
    },
    watch(addresses, onTaken) {
      watching = onTaken;
      ask({ addresses });
    },
    hold: () => ask({ isHolding: true }),
    release: () => ask({ isHolding: false }),
    stop,
  };
}

/** The time as the sink reads it. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
