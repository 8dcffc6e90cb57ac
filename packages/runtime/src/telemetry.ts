import {
  context,
  INVALID_SPAN_CONTEXT,
  type ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import "./tracing.ts";

const tracer = trace.getTracer("tidings");
/** What work gets instead of a span when tracing is off: it costs nothing. */
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
/** What was imported has registered a provider by now, or there is no tracing. */
const isTracing = "forceFlush" in provider();

/** The W3C trace context of the current span, to be stored or sent; undefined when tracing is off. */
export function currentTraceparent(): string | undefined {
  if (!isTracing) return undefined;
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
  if (!isTracing) return work(noSpan);
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
  if (isTracing) await (provider() as unknown as { forceFlush(): Promise<void> }).forceFlush();
}

/** The provider that was registered. Asked for by shape: the SDK and we may have loaded the API twice. */
function provider(): object {
  const registered = trace.getTracerProvider();
  return "getDelegate" in registered ? (registered as ProxyTracerProvider).getDelegate() : registered;
}
