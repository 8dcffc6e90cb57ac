import { type AnyValue, type Logger, SeverityNumber } from "@opentelemetry/api";

const SEVERITIES: Record<string, SeverityNumber> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL,
};

/** Emits a line of the log as a record, within the span in which it was written. */
export function emitLine(logger: Logger, line: string): void {
  const {
    level,
    time,
    msg,
    service: _service,
    trace_id: _traceId,
    span_id: _spanId,
    ...attributes
  } = JSON.parse(line) as Record<string, AnyValue>;
  const severityText = String(level);
  logger.emit({
    timestamp: Date.parse(String(time)),
    severityText,
    severityNumber: SEVERITIES[severityText] ?? SeverityNumber.UNSPECIFIED,
    body: msg,
    attributes,
  });
}
