import {
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

/** The span of work while tracing is off. It costs nothing. */
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
let tracing: { tracer: Tracer; flush(): Promise<void> } | undefined;

/** Traces from now on under the name of the process, if an OTLP endpoint is configured: else the SDK is not even loaded. */
export async function startTracing(service: string): Promise<void> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = process.env;
  if (!OTEL_EXPORTER_OTLP_ENDPOINT && !OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return;
  const { registerTracing } = await import("./tracing.ts");
  tracing = registerTracing(service);
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

/** Runs `work` in a span. `traceparent` makes it a child of a span of another process. Errors end the span as failed. */
export async function inSpan<T>(
  name: string,
  options: {
    kind?: SpanKind;
    traceparent?: string | undefined;
    attributes?: Record<string, string | number>;
  },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  if (!tracing) return work(noSpan);
  const parent = options.traceparent
    ? propagation.extract(context.active(), { traceparent: options.traceparent })
    : context.active();
  const spanOptions = { kind: options.kind ?? SpanKind.INTERNAL, attributes: options.attributes ?? {} };
  return tracing.tracer.startActiveSpan(name, spanOptions, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Sends the spans still in memory, as the last step of a process. */
export async function flushSpans(): Promise<void> {
  await tracing?.flush();
}
