import {
  type Attributes,
  context,
  INVALID_SPAN_CONTEXT,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { register } from "prom-client";
import { forwardLines, type Log } from "./log.ts";
import { refresh } from "./scrape.ts";

/** The span of work while tracing is off. It costs nothing. */
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
let tracing: { tracer: Tracer; statementsMs: number } | undefined;
let stopExporting: (() => Promise<void>) | undefined;

type Signal = "TRACES" | "METRICS" | "LOGS";

/**
 * The exporters of a signal, by the variables of the OpenTelemetry specification (Environment Variable Specification). An endpoint for all
 * signals means traces: metrics are scraped and logs are collected from the standard output, unless their variables say otherwise.
 */
function exportersOf(signal: Signal): string[] {
  const { env } = process;
  const endpoint =
    env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] || (signal === "TRACES" && env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const names = (env[`OTEL_${signal}_EXPORTER`] || (endpoint ? "otlp" : "none")).split(",");
  return names.map((name) => name.trim()).filter((name) => name !== "none" && name !== "");
}

const MESSAGE_LENGTH_MAX = 500;

interface TelemetryOptions {
  /** The name of the process. */
  service: string;
  log: Log;
  /** A statement of a traced request that takes longer has a span of its own. */
  statementsMs: number;
}

/** Exports from now on what the variables `OTEL_*` ask for. Where that is nothing, the SDK is not even loaded. */
export async function startTelemetry({ service, log, statementsMs }: TelemetryOptions): Promise<void> {
  const isDisabled = process.env.OTEL_SDK_DISABLED?.toLowerCase() === "true";
  const [TRACES, METRICS, LOGS] = [exportersOf("TRACES"), exportersOf("METRICS"), exportersOf("LOGS")];
  if (isDisabled || [...TRACES, ...METRICS, ...LOGS].length === 0) return;
  const { startSdk } = await import("@tidings/telemetry");
  stopExporting = await startSdk({
    service,
    exporters: { TRACES, METRICS, LOGS },
    metrics: { registry: register, refresh: () => refresh(log) },
    forwardLines,
    // A collector that is away is worth a line, and nothing else.
    warn: (message) => log.warn({ telemetry: message.slice(0, MESSAGE_LENGTH_MAX) }, "telemetry"),
  });
  if (TRACES.length > 0) tracing = { tracer: trace.getTracer("tidings"), statementsMs };
}

/** Sends what is still in memory, as the last step of a process. */
export async function stopTelemetry(): Promise<void> {
  await stopExporting?.();
}

/** The W3C trace context of the current span, to be sent to who works for us now; undefined when tracing is off. */
export function currentTraceparent(): string | undefined {
  if (!tracing) return undefined;
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/**
 * Likewise, to be stored with what is to be done later; undefined, too, when nobody records the trace. Who is called must know
 * that, but nobody else has a use for it, and what is traced travels and is handled by itself.
 */
export function keptTraceparent(): string | undefined {
  const flags = tracing ? (trace.getSpanContext(context.active())?.traceFlags ?? 0) : 0;
  return flags & TraceFlags.SAMPLED ? currentTraceparent() : undefined;
}

export interface SpanDefinition {
  kind?: SpanKind;
  /** Makes the span a child of a span of another process. */
  traceparent?: string | undefined;
  /** By the semantic conventions. A function is called only where there is a span. */
  attributes?: Attributes | (() => Attributes);
  /** Is this error a failure of the span? Every error is when absent. */
  isFailure?(error: unknown): boolean;
}

/** Runs `work` in a span. Errors end the span as failed. */
export async function inSpan<T>(
  name: string,
  { kind = SpanKind.INTERNAL, traceparent, attributes = {}, isFailure }: SpanDefinition,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  if (!tracing) return work(noSpan);
  const parent = traceparent ? propagation.extract(context.active(), { traceparent }) : context.active();
  const known = typeof attributes === "function" ? attributes() : attributes;
  return tracing.tracer.startActiveSpan(name, { kind, attributes: known }, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      if (isFailure?.(error) ?? true) span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The most characters of a statement that a span has. */
const QUERY_LENGTH_MAX = 2_000;

/**
 * Begins to watch a statement for the database. The function that is returned ends that: a statement that took too long gets a span within
 * the present one. Undefined where nobody records the present span.
 */
export function watchStatement({
  name,
  text,
}: {
  name?: string;
  text: string;
}): ((error: Error | null) => void) | undefined {
  if (!tracing) return undefined;
  const { tracer, statementsMs } = tracing;
  const parent = context.active();
  if (!trace.getSpan(parent)?.isRecording()) return undefined;
  const startTime = performance.timeOrigin + performance.now();
  return (error) => {
    const endTime = performance.timeOrigin + performance.now();
    if (endTime - startTime < statementsMs) return;
    const summary = name ?? text.trimStart().split(/\s/, 1)[0] ?? "";
    const attributes = {
      "db.system.name": "postgresql",
      "db.query.summary": summary,
      // Values are in no text: they travel as parameters.
      "db.query.text": text.slice(0, QUERY_LENGTH_MAX),
      ...(error && { "error.type": error.name }),
    };
    const span = tracer.startSpan(summary, { kind: SpanKind.CLIENT, startTime, attributes }, parent);
    if (error) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
  };
}
