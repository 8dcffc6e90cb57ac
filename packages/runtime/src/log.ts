import { trace } from "@opentelemetry/api";
import { type DestinationStream, type Logger, pino } from "pino";
import { Counter } from "prom-client";

export type Log = Logger;

const SECRETS = [
  "password",
  "secret",
  "authorization",
  "token",
  "access_token",
  "refresh_token",
  "databaseUrl",
];

/** JSON lines on standard output. Each carries the ids of the span it was written in, when there is one. */
export function createLog(service: string, level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`]), censor: "[redacted]" },
    mixin: spanIds,
    hooks: { streamWrite },
  };
  // Written at once: a buffer that cannot be emptied, because its reader is gone, would keep the process alive.
  return pino(options, destination ?? standardOutput());
}

const droppedLines = new Counter({
  name: "tidings_log_lines_dropped_total",
  help: "Log lines that could not be written, as when the disk is full",
});
/** Bytes that wait while nothing can be written. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** Lines that cannot be written are dropped: without a listener the error would end the process. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: WAITING_BYTES_MAX });
  output.on("error", () => droppedLines.inc());
  output.on("drop", () => droppedLines.inc());
  return output;
}

let forward: ((line: string) => void) | undefined;

/** Hands each line that is written from now on to `listener`, too. */
export function forwardLines(listener: (line: string) => void): void {
  forward = listener;
}

function streamWrite(line: string): string {
  forward?.(line);
  return line;
}

function spanIds(): object {
  const span = trace.getActiveSpan()?.spanContext();
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
}
