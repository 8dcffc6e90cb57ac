import {
  context,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

const tracer = trace.getTracer("tidings");

/** The W3C trace context of the current span, to be stored or sent; undefined when tracing is off. */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
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
  const parent = options.traceparent
    ? propagation.extract(context.active(), { traceparent: options.traceparent })
    : context.active();
  const spanOptions = { kind: options.kind ?? SpanKind.INTERNAL, attributes: options.attributes ?? {} };
  return tracer.startActiveSpan(name, spanOptions, parent, async (span) => {
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

/** Sends the spans still in memory; the last thing a process does. */
export async function flushSpans(): Promise<void> {
  const provider = trace.getTracerProvider();
  const delegate = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if ("forceFlush" in delegate) await (delegate as { forceFlush(): Promise<void> }).forceFlush();
}
